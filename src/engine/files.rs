//! Source files for front ends. Whole text only: what is too large or binary is refused by name.

use daptree_model::{Answer, EngineError};
use std::fs::File;
use std::io::Read;

/// The largest file that is given whole, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Reads a source file. Blocks.
pub(crate) fn read(path: &str) -> Result<Answer, EngineError> {
    let failed = |what: String| EngineError::Failed(format!("{path}: {what}"));
    let file = File::open(path).map_err(|error| failed(format!("cannot be read: {error}")))?;
    let meta = file
        .metadata()
        .map_err(|error| failed(format!("cannot be read: {error}")))?;
    if meta.is_dir() {
        return Err(failed("is a folder".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(failed(format!(
            "is larger than {} MB and is not shown",
            LARGEST >> 20
        )));
    }
    let head = bytes.get(..bytes.len().min(8_192)).unwrap_or_default();
    if head.contains(&0) {
        return Err(failed("is a binary file and is not shown".to_owned()));
    }
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(Answer::Source {
        path: path.to_owned(),
        text: text.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn sources_are_read_and_the_rest_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        fs::write(at("good.py"), "x = 1\n").unwrap();
        fs::write(at("latin.py"), b"x = '\xe9'\n").unwrap();
        fs::write(at("binary"), b"\x7fELF\0\0").unwrap();
        let text = |name: &str| match read(&at(name)) {
            Ok(Answer::Source { text, .. }) => text.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(text("good.py"), "x = 1\n");
        assert_eq!(text("latin.py"), "x = '\u{fffd}'\n");
        for (name, why) in [
            ("binary", "binary"),
            ("missing", "cannot be read"),
            ("", "folder"),
        ] {
            let error = read(&at(name)).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains(&at(name)), "{error}");
        }
    }
}
