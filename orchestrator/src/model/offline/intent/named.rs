//! A file that is looked for by its name.

use crate::model::offline::{clause::Clause, goals::Files};

/// A file by its path, as a pattern in its folder.
pub(super) fn by_path(path: &str, clause: &Clause<'_>) -> Files {
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (Some(folder.to_owned()), name),
        None => (clause.files().folder, path),
    };
    // `the README` is a file, whatever its ending.
    let is_stem = name.len() > 3 && name.bytes().all(|byte| byte.is_ascii_uppercase());
    let name = if is_stem { format!("{name}*") } else { name.to_owned() };
    Files { pattern: Some(name), folder, ..Files::default() }
}
