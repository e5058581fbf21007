//! What goals share: `how many .a files and how many .b files are under x` names the folder once, and
//! a question may be asked of several files. What a clause asks for is decided in `intent.rs`.

use std::mem::discriminant;

use super::super::{
    clause::Clause,
    goals::{FileRef, Files, Goal, Quantity},
    phrases as p,
    words::has_any,
};

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

/// Whether what more words made of a question is another question: `how many files, and how large`.
pub(super) fn are_two(before: &[Goal], after: &[Goal]) -> bool {
    match (before, after) {
        ([Goal::Tell(one)], [Goal::Tell(other)]) => discriminant(one) != discriminant(other),
        _ => false,
    }
}

/// Whether a clause asks for a number, and the one before it did not.
pub(super) fn asks_more(clause: &str, before: &str) -> bool {
    has_any(clause, p::COUNT) && !has_any(before, p::COUNT)
}

fn files(goal: &mut Goal) -> Option<&mut Files> {
    match goal {
        Goal::Tell(Quantity::Files(files)) | Goal::Find(files) => Some(files),
        _ => None,
    }
}

/// A question about one file is asked of every file that is named.
pub(super) fn for_each_file(goal: Goal, clause: &Clause<'_>) -> Vec<Goal> {
    let paths: Vec<&String> = clause.places.files.iter().map(|(_, path)| path).collect();
    if paths.len() < 2 {
        return vec![goal];
    }
    let of = |path: &String| FileRef::Path(path.clone());
    let each = |make: &dyn Fn(FileRef) -> Goal| paths.iter().map(|path| make(of(path))).collect();
    match &goal {
        Goal::Read { part, .. } => each(&|file| Goal::Read { file, part: part.clone() }),
        Goal::Headings(_) => each(&Goal::Headings),
        Goal::Changed(_) => each(&Goal::Changed),
        Goal::Tell(Quantity::Lines(_)) if clause.says(p::TOGETHER) => {
            let lines = paths.iter().map(|path| Quantity::Lines(of(path)));
            vec![Goal::Tell(Quantity::Total(lines.collect()))]
        }
        Goal::Tell(Quantity::Bytes(_)) if clause.says(p::TOGETHER) => {
            let bytes = paths.iter().map(|path| Quantity::Bytes(of(path)));
            vec![Goal::Tell(Quantity::Total(bytes.collect()))]
        }
        Goal::Tell(Quantity::Lines(_)) => each(&|file| Goal::Tell(Quantity::Lines(file))),
        Goal::Tell(Quantity::Bytes(_)) => each(&|file| Goal::Tell(Quantity::Bytes(file))),
        _ => vec![goal],
    }
}
