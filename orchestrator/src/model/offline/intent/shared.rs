//! What neighbouring goals lend to one another: `how many .a files and how many .b files are under x`
//! names the folder once.

use super::super::goals::{Files, Goal, Quantity};

/// Gives a goal the folder that the next one of its kind names, if it names none itself.
pub(super) fn lend_folders(goals: &mut [Goal]) {
    for at in (1..goals.len()).rev() {
        let (before, after) = goals.split_at_mut(at);
        let (Some(goal), Some(next)) = (before.last_mut(), after.first()) else { continue };
        let lent = match next {
            Goal::Tell(Quantity::Files(files)) | Goal::Find(files) => files.clone(),
            _ => Files::default(),
        };
        if let Some(files) = files(goal).filter(|files| files.folder.is_none()) {
            (files.folder, files.is_flat) = (lent.folder, lent.is_flat);
        }
    }
}

fn files(goal: &mut Goal) -> Option<&mut Files> {
    match goal {
        Goal::Tell(Quantity::Files(files)) | Goal::Find(files) => Some(files),
        _ => None,
    }
}
