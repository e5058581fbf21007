//! One change of a file at a time: of two that were meant to be done together, at most one can be
//! right. Shared by the tools that put content in the place of a file (`write_file.rs`,
//! `edit_file.rs`); what a file was before the preview is guarded in `replace.rs`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use callboard_tool::Failure;

use crate::{meta::Identity, relative::RelativePath, replace::Plan, workspace::Walls};

/// The changes that are being done right now, one for each file.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay(Arc<Mutex<HashMap<Place, Vec<u8>>>>);

/// A file: the folder that is its workspace, and its path there.
type Place = (Identity, RelativePath);

impl UnderWay {
    /// Begins a write unless another one is under way that says something else. Two that say the
    /// same do not hurt each other.
    ///
    /// # Errors
    /// `conflict` if another one is under way.
    pub(crate) fn begin(&self, walls: &Walls, plan: &Plan) -> Result<Turn, Failure> {
        let root = walls.root().node(&RelativePath::root());
        let root = root.map_err(|error| walls.refuse_change(&plan.written, &error))?;
        let place = (root.meta.identity, plan.path.clone());
        let mut writes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match writes.get(&place) {
            Some(content) if *content != plan.content => Err(Failure::conflict(format!(
                "Another change of `{}` to other content is under way. Only one of the two can \
                 be meant: this call changed nothing. Read the file, then decide.",
                plan.path
            ))),
            Some(_) => Ok(Turn { under_way: self.clone(), place: None }),
            None => {
                writes.insert(place.clone(), plan.content.clone());
                Ok(Turn { under_way: self.clone(), place: Some(place) })
            }
        }
    }
}

/// One write or edit that is being done.
pub(crate) struct Turn {
    under_way: UnderWay,
    place: Option<Place>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.under_way.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use callboard_tool::FailureKind;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn of_two_different_changes_of_one_file_the_second_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let walls = Walls::around(folder.path(), &CancellationToken::new()).unwrap();
        let plan = |path: &str, content: &str| {
            Plan::new(&walls, path.to_owned(), content.to_owned(), 0).unwrap()
        };
        let under_way = UnderWay::default();
        let first = under_way.begin(&walls, &plan("a.md", "one")).unwrap();
        let same = under_way.begin(&walls, &plan("./a.md", "one")).unwrap();
        under_way.begin(&walls, &plan("b.md", "two")).map(drop).unwrap();
        drop(same);
        let refused = under_way.begin(&walls, &plan("a.md", "two")).map(drop).unwrap_err();
        assert_eq!(refused.kind, FailureKind::Conflict);
        drop(first);
        under_way.begin(&walls, &plan("a.md", "two")).map(drop).unwrap();
    }
}
