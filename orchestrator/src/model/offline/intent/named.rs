//! A file that is looked for by its name.

use crate::model::offline::{
    clause::Clause,
    goals::{Files, Goal},
};

/// `find FOLDER -name GLOB`, as it would be typed.
pub(super) fn by_command(clause: &Clause<'_>) -> Option<Goal> {
    let mut words = clause.tokens.iter().skip_while(|token| !token.is("find")).skip(1).peekable();
    let is_option = |text: &str| text.starts_with('-');
    let folder = words.next_if(|token| !is_option(&token.text)).map(|token| token.text.as_str());
    let folder = folder.map(|folder| folder.trim_end_matches('/')).filter(|folder| *folder != ".");
    let mut pattern = None;
    while let Some(option) = words.next() {
        match (option.text.as_str(), words.next()?) {
            ("-name", glob) => pattern = Some(glob.text.clone()),
            ("-type", kind) if kind.text == "f" => {}
            _ => return None,
        }
    }
    let files = Files { pattern, folder: folder.map(str::to_owned), ..Files::default() };
    files.pattern.is_some().then_some(Goal::Find(files))
}

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
