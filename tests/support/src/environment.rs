//! The Python environment of the tests: made once under the target folder. It must not know what
//! runs in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The interpreter of the environment, with debugpy, pytest and pytest-xdist. Makes the
/// environment when there is none yet; `binary` is that of daptree, beside which it lies.
pub fn python(binary: &Path) -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let target = binary
            .ancestors()
            .nth(2)
            .expect("the binary lies in the target folder");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("environment.py");
        let host = std::env::var_os("DAPTREE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let made = Command::new(&host)
            .arg(&script)
            .arg(target.join("python"))
            .output();
        let failed = |why: &str| -> ! {
            panic!(
                "there is no Python environment for the tests. Run\n\n    {} {} {}\n\n\
                 and see what it says. It ended so: {why}",
                host.display(),
                script.display(),
                target.join("python").display(),
            )
        };
        match made {
            Ok(made) if made.status.success() => {
                let path = String::from_utf8(made.stdout).expect("a path in UTF-8");
                PathBuf::from(path.trim_end())
            }
            Ok(made) => failed(&String::from_utf8_lossy(&made.stderr)),
            Err(error) => failed(&error.to_string()),
        }
    })
}
