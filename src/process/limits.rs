//! How many descriptors this process may have open: a tree of hundreds of processes takes more
//! than the usual thousand. Programs that are started get the limit that daptree was given.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::OnceLock;

static GIVEN: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit of open files to the hard one, once. A system that refuses costs
/// nothing until the limit is met.
pub fn raise_open_files() {
    let given = GIVEN.get_or_init(|| getrlimit(Resource::Nofile));
    let raised = Rlimit {
        current: given.maximum,
        maximum: given.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!("the limit of open files stays as it was: {error}");
    }
}

/// Gives a child the limit that this process was given. Makes system calls only.
pub(super) fn restore_open_files() {
    if let Some(given) = GIVEN.get() {
        // A soft limit can always be lowered.
        let _ = setrlimit(Resource::Nofile, *given);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn programs_get_the_limit_that_was_given() {
        let before = getrlimit(Resource::Nofile).current;
        raise_open_files();
        raise_open_files();
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.current, now.maximum);
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -Sn"]);
        super::super::kernel::before_exec(&mut command, super::super::kernel::ChildSetup::Same);
        let output = command.output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        let wanted = before.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
        assert_eq!(shown.trim(), wanted);
    }
}
