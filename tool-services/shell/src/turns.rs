//! One command at a time in a workspace: where a command could move files while the walls of another
//! are built, those walls would stand in the wrong places. A workspace inside of another is the
//! same in this.
//!
//! Other services' processes are not kept away. Next: `reach.rs`.

use std::path::{Path, PathBuf};

use tokio::sync::watch;

/// The workspaces in which a command runs now.
#[derive(Debug, Default)]
pub(crate) struct Turns(watch::Sender<Vec<PathBuf>>);

/// The right to run a command in a workspace; the next one gets it when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    workspace: &'a Path,
}

impl Turns {
    /// Waits until no command runs in `workspace`, which is absolute and without links. Dropping
    /// the future gives up.
    pub(crate) async fn take<'a>(&'a self, workspace: &'a Path) -> Turn<'a> {
        let mut changes = self.0.subscribe();
        loop {
            changes.mark_unchanged();
            let is_taken = !self.0.send_if_modified(|busy| {
                let is_free = !busy
                    .iter()
                    .any(|other| other.starts_with(workspace) || workspace.starts_with(other));
                if is_free {
                    busy.push(workspace.to_owned());
                }
                is_free
            });
            if !is_taken {
                return Turn { turns: self, workspace };
            }
            // The sender is ours, so this only ends with a change.
            let _ = changes.changed().await;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.0.send_modify(|busy| busy.retain(|path| path != self.workspace));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_workspace_is_given_to_one_after_the_other() {
        let turns = Turns::default();
        let first = turns.take(Path::new("/a/b")).now_or_never().unwrap();
        let other = turns.take(Path::new("/a/bc")).now_or_never();
        assert!(other.is_some(), "another workspace is free");
        for path in ["/a/b", "/a", "/a/b/c"] {
            let mut waiting = Box::pin(turns.take(Path::new(path)));
            assert!(waiting.as_mut().now_or_never().is_none(), "{path}");
        }
        let mut next = Box::pin(turns.take(Path::new("/a/b/c")));
        assert!(next.as_mut().now_or_never().is_none());
        drop(first);
        assert!(next.as_mut().now_or_never().is_some());
    }
}
