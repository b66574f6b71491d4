//! The leaders of the roots' terminals: which there are, and when one is no longer needed. It must
//! not know of rows, nor of what runs on a terminal but whether anything does.

use crate::process::keeper::KeeperHandle;
use crate::process::pidfd::{self, Signal};
use crate::process::{ProcessKey, table};
use crate::tree::Run;
use std::collections::BTreeSet;

#[derive(Debug)]
struct Leader {
    run: Run,
    root: ProcessKey,
    key: ProcessKey,
}

/// The leaders that were started and not ended.
#[derive(Debug, Default)]
pub(super) struct Leaders {
    known: Vec<Leader>,
}

impl Leaders {
    /// Run `run` has started `root` under the leader `key`.
    pub(super) fn add(
        &mut self,
        run: Run,
        root: ProcessKey,
        key: ProcessKey,
        keeper: Option<&KeeperHandle>,
    ) {
        self.known.retain(|leader| table::is_alive(leader.key));
        self.known.push(Leader { run, root, key });
        if let Some(keeper) = keeper {
            keeper.add(key, true);
        }
    }

    /// All of them.
    pub(super) fn keys(&self) -> BTreeSet<ProcessKey> {
        self.known.iter().map(|leader| leader.key).collect()
    }

    /// `process` lives on without us: when it is a root, so does its leader.
    pub(super) fn let_go(&self, process: ProcessKey, keeper: &KeeperHandle) {
        for leader in self.known.iter().filter(|leader| leader.root == process) {
            keeper.remove(leader.key);
        }
    }

    /// Kills the leader of `run`, or every one: its run is over. One whose terminal is still used
    /// stays, since its end would take the terminal from those processes; it ends when we close
    /// the terminal. Returns those that were killed.
    pub(super) fn end(
        &mut self,
        run: Option<Run>,
        keeper: Option<&KeeperHandle>,
    ) -> Vec<ProcessKey> {
        let over = |leader: &mut Leader| {
            run.is_none_or(|run| leader.run == run) && table::led_by(leader.key).is_empty()
        };
        let ended: Vec<ProcessKey> = self.known.extract_if(.., over).map(|it| it.key).collect();
        for key in &ended {
            // Somebody else may have ended it before.
            let _ = pidfd::signal(*key, Signal::KILL);
            if let Some(keeper) = keeper {
                keeper.remove(*key);
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::super::members::{Members, with_ancestors};
    use super::*;
    use crate::process::EndStatus;
    use crate::process::exit::end_of;
    use crate::process::spawn::{SpawnPlan, Stdio, spawn};
    use daptree_model::RowId;
    use std::time::Duration;
    use tokio::time::timeout;

    async fn ended(key: ProcessKey) -> EndStatus {
        let limit = Duration::from_secs(20);
        timeout(limit, end_of(key)).await.unwrap()
    }

    #[tokio::test]
    async fn a_leader_is_no_member_and_ends_with_its_run_not_before_its_terminal_is_free() {
        let plan = SpawnPlan {
            argv: ["sh", "-c", "read x; exit 3"].map(Into::into).to_vec(),
            cwd: "/".into(),
            env: std::env::vars_os().collect(),
            stdio: Stdio::Pty {
                columns: 80,
                rows: 24,
            },
            own_session: true,
        };
        let program = spawn(&plan).unwrap();
        let (root, leader) = (program.key, program.leader.unwrap());
        let run = |number| Run {
            root: RowId(1),
            number,
        };
        let mut leaders = Leaders::default();
        leaders.add(run(1), root, leader, None);

        let members = Members {
            processes: vec![leader],
            mark: None,
            orphans: false,
            spared: BTreeSet::new(),
            leaders: leaders.keys(),
        };
        assert_eq!(members.find(), [root]);
        let rows = with_ancestors(root.pid, &leaders.keys());
        let rows: Vec<ProcessKey> = rows.iter().map(|seen| seen.process).collect();
        assert_eq!(rows, [root]);

        assert_eq!(leaders.end(Some(run(1)), None), []);
        let terminal = program.terminal.unwrap();
        terminal.write(b"\n").unwrap();
        assert_eq!(ended(root).await, EndStatus::Exited(3));
        assert_eq!(leaders.end(Some(run(2)), None), []);
        assert_eq!(leaders.end(Some(run(1)), None), [leader]);
        assert_eq!(ended(leader).await, EndStatus::Signaled(9));
        assert!(leaders.keys().is_empty());
    }
}
