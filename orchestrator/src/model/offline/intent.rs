//! From a person's words to goals.
//!
//! A request is cut into clauses; each clause is held against the wishes below, in their order, and
//! the first that fits makes a goal. A clause that fits none belongs to its neighbour. The words are
//! in `phrases.rs`, what a search is for in `queries.rs`, contents and commands in `orders.rs`,
//! numbers that are to be combined in `quantity.rs`.

use super::{
    clause::{Clause, part},
    clauses,
    goals::{FileRef, Files, Goal, Part, Quantity, Search, Shows},
    orders, phrases as p, quantity, queries,
    quotes::Masked,
    tokens,
    words::{self, Language, has_any, is_han},
};

/// What was understood of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Understood {
    pub(super) goals: Vec<Goal>,
    /// Clauses that mean nothing to us, as they were written.
    pub(super) unclear: Vec<String>,
}

/// Whether a clause only asks to be told what was asked for.
fn is_filler(clause: &str) -> bool {
    clause.chars().count() < 40 && has_any(clause, p::FILLERS)
}

/// The goals of a request.
pub(super) fn understand(text: &str) -> Understood {
    let masked = Masked::new(&words::plain(text));
    if let Some(goal) = calculation(&masked) {
        return Understood { goals: vec![goal], unclear: Vec::new() };
    }
    let mut goals: Vec<Goal> = Vec::new();
    let mut unclear: Vec<String> = Vec::new();
    let mut last = String::new();
    for clause in clauses::split(&masked.text) {
        let with_unclear = match unclear.last() {
            Some(before) if goals.is_empty() => format!("{before} , {clause}"),
            _ => clause.clone(),
        };
        if let Some(goal) = goal(&Clause::new(&with_unclear, &masked)) {
            if goals.is_empty() {
                unclear.clear();
            }
            goals.push(goal);
            last = with_unclear;
            continue;
        }
        if is_filler(&clause) {
            continue;
        }
        // What says nothing alone may say more about what was asked before it.
        let with_last = format!("{last} , {clause}");
        match goals.last_mut() {
            Some(Goal::Run(_) | Goal::Write { .. }) => unclear.push(clause),
            Some(known) => match goal(&Clause::new(&with_last, &masked)) {
                Some(better) if better != *known => {
                    *known = better;
                    last = with_last;
                }
                _ => unclear.push(clause),
            },
            None => unclear.push(with_unclear),
        }
    }
    let unclear = unclear.iter().map(|clause| masked.unmask(clause)).collect();
    Understood { goals, unclear }
}

/// The language that a request is in: that of its words, not of its names and quotes.
pub(super) fn language(text: &str) -> Language {
    let masked = Masked::new(text);
    let clause = Clause::new(&masked.text, &masked);
    if clause.bare.chars().any(is_han) { Language::Chinese } else { Language::English }
}

/// A request that is a calculation as a whole is never cut into clauses.
fn calculation(masked: &Masked) -> Option<Goal> {
    let clause = Clause::new(&masked.text, masked);
    let is_about_files = has_any(masked.text.as_str(), p::FILES)
        || has_any(&clause.bare, p::FOLDERS)
        || has_any(&clause.bare, p::LINES)
        || has_any(&clause.bare, p::RUN)
        || !clause.places.files.is_empty()
        || has_any(&clause.bare, "folder, directory, search, grep, 目录, 文件夹, 搜索");
    let has_orders = has_any(&clause.bare, p::WRITE) && has_any(&clause.bare, "file, 文件");
    if is_about_files || has_orders {
        return None;
    }
    let sums = clause.sums();
    (!sums.is_empty()).then_some(Goal::Calculate(sums))
}

/// The goal of one clause. The order of the wishes is what tells similar words apart.
fn goal(clause: &Clause<'_>) -> Option<Goal> {
    orders::write(clause)
        .or_else(|| orders::run(clause))
        .or_else(|| quantity::combination(clause))
        .or_else(|| search(clause))
        .or_else(|| beyond(clause))
        .or_else(|| about_a_file(clause))
        .or_else(|| about_files(clause))
        .or_else(|| show(clause))
        .or_else(|| sum(clause))
        .or_else(|| introduce(clause))
}

fn search(clause: &Clause<'_>) -> Option<Goal> {
    let is_mention = clause.says(p::MENTION) && (clause.says(p::FILES) || clause.says(p::LINES));
    let is_where = (clause.says(p::WHERE) || clause.says(p::STANDS)) && clause.says(p::STANDS);
    let is_search = clause.says(p::SEARCH) || is_where || is_mention;
    let speaks_of_names = clause.says(p::NAMED) || clause.says(p::NAME_HOLDS);
    // `查找所有 .py 文件`: the verb alone does not tell words from names.
    let is_quoted = clause.tokens.iter().any(|token| token.kind == tokens::Kind::Quote);
    let has_kind = clause.places.pattern.is_some() && clause.says(p::FILES);
    if !is_search || speaks_of_names || (has_kind && !is_quoted && !is_mention && !is_where) {
        return None;
    }
    let query = queries::query(clause)?;
    let speaks_of_a_file = clause.places.file().is_some_and(|path| query.contains(path));
    if speaks_of_a_file && !clause.says(p::USED) && !clause.says(p::MENTION) {
        return None;
    }
    let files = Files { is_flat: false, ..clause.files() };
    let names_files =
        clause.says(p::FILES) && !clause.says("in the files, all files for, files for");
    let shows = if names_files { Shows::Files } else { Shows::Places };
    let search = Search { query, files, shows };
    if clause.says(p::TIMES) {
        return Some(Goal::Tell(Quantity::Matches(search)));
    }
    if clause.says(p::COUNT) && clause.says(p::FILES) {
        return Some(Goal::Tell(Quantity::MatchingFiles(search)));
    }
    Some(Goal::Search(search))
}

fn beyond(clause: &Clause<'_>) -> Option<Goal> {
    clause.says(p::BEYOND).then_some(Goal::Beyond)
}

/// Questions about one file.
fn about_a_file(clause: &Clause<'_>) -> Option<Goal> {
    let counts = clause.says(p::COUNT);
    if clause.says(p::HEADINGS) && (clause.has_file() || !clause.says(p::FILES)) {
        let file = clause.file();
        return Some(if counts {
            Goal::Tell(Quantity::Headings(file))
        } else {
            Goal::Headings(file)
        });
    }
    if let Some(part) = part(clause) {
        return Some(Goal::Read { file: clause.file(), part });
    }
    if clause.says(p::CHARACTERS) && clause.has_file() {
        return Some(Goal::Tell(Quantity::Characters(clause.file())));
    }
    if clause.says(p::LINES) {
        return Some(Goal::Tell(Quantity::Lines(clause.file())));
    }
    if clause.says(p::BYTES) && clause.says(p::ALL_BYTES) && clause.says(p::FILES) {
        return Some(Goal::Tell(Quantity::AllBytes(clause.files())));
    }
    if clause.says(p::BYTES) && clause.has_file() {
        return Some(Goal::Tell(Quantity::Bytes(clause.file())));
    }
    let is_named = clause.places.file().is_some();
    let asks_when = clause.says("when, time, date, 什么时候, 何时, 时间, 日期");
    if clause.says(p::CHANGED) && (is_named || (asks_when && clause.has_file())) {
        return Some(Goal::Changed(clause.file()));
    }
    None
}

/// Questions about many files.
fn about_files(clause: &Clause<'_>) -> Option<Goal> {
    if clause.places.file().is_none()
        && !clause.says(p::READ)
        && let Some(pick) = clause.pick()
    {
        return Some(Goal::Pick(pick));
    }
    let folder = || clause.files().folder;
    if clause.says(p::COUNT) && clause.says(p::FOLDERS) {
        return Some(Goal::Tell(Quantity::Folders(folder())));
    }
    let has_pattern = clause.places.pattern.is_some();
    if clause.says(p::COUNT) && (clause.says(p::FILES) || has_pattern) {
        return Some(Goal::Tell(Quantity::Files(clause.files())));
    }
    if let Some(name) = queries::name(clause).filter(|_| !clause.says(p::FOLDERS)) {
        let files = Files { pattern: Some(name), is_flat: false, ..clause.files() };
        return Some(Goal::Find(files));
    }
    let asks_for_a_file = clause.says(p::FIND)
        && !clause.says(p::READ)
        && !clause.says("show, what is in, what's in");
    if let Some(path) = clause.places.file().filter(|_| asks_for_a_file) {
        return Some(Goal::Find(by_path(path, clause)));
    }
    if has_pattern && clause.places.file().is_none() && !clause.says(p::READ) {
        return Some(Goal::Find(clause.files()));
    }
    None
}

/// A file by its path, as a pattern in its folder.
fn by_path(path: &str, clause: &Clause<'_>) -> Files {
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (Some(folder.to_owned()), name),
        None => (clause.files().folder, path),
    };
    Files { pattern: Some(name.to_owned()), folder, ..Files::default() }
}

fn show(clause: &Clause<'_>) -> Option<Goal> {
    let is_read = clause.says(p::READ);
    let has_folder = clause.places.folder.is_some();
    let is_file = clause.places.file().is_some();
    if is_file && (is_read || clause.says(p::SHOW) || clause.tokens.len() == 1) {
        return Some(Goal::Read { file: clause.file(), part: Part::All });
    }
    if is_read && clause.pick().is_some() {
        return Some(Goal::Read { file: clause.file(), part: Part::All });
    }
    let lists =
        clause.says(p::LIST) && (has_folder || clause.says(p::FILES) || clause.says("ls, dir"));
    if !is_file && lists {
        return Some(Goal::List(clause.files().folder));
    }
    let points = clause.says(p::POINTERS) && clause.sums().is_empty();
    (is_read && points).then_some(Goal::Read { file: FileRef::It, part: Part::All })
}

fn sum(clause: &Clause<'_>) -> Option<Goal> {
    let sums = clause.sums();
    (!sums.is_empty()).then_some(Goal::Calculate(sums))
}

fn introduce(clause: &Clause<'_>) -> Option<Goal> {
    let is_short = clause.text.chars().count() < 40;
    (is_short && clause.says(p::INTRODUCE)).then_some(Goal::Introduce)
}

#[cfg(test)]
mod tests;
