//! From a person's words to goals.
//!
//! A request is cut into clauses; each clause is held against the wishes below, in their order, and
//! the first that fits makes a goal. A clause that fits none belongs to its neighbour. The words are
//! in `phrases.rs`, what a search is for in `queries.rs`, contents and commands in `orders.rs`,
//! numbers that are to be combined in `quantity.rs`.

mod named;
mod shared;

use super::{
    adverbs,
    clause::{Clause, part},
    clauses,
    goals::{Content, FileRef, Files, Goal, Part, Quantity, Search, Shows},
    kept, leftovers, orders, phrases as p, quantity, queries,
    quotes::Masked,
    remarks::{is_content, is_filler, is_remark},
    tokens,
    words::{self, Language, has_any, is_han},
};

/// A longer request, quotes and contents not counted, is no order but a text.
const MOST_CHARACTERS: usize = 1_500;

/// Something that is to be worked out before it is written.
const RESULTS: &str =
    "result, results, sum, answer, product, quotient, difference, 结果, 答案, 得数";

/// What was understood of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Understood {
    pub(super) goals: Vec<Goal>,
    /// Clauses that mean nothing to us, as they were written.
    pub(super) unclear: Vec<String>,
    /// Something is to be kept, and the file is not named.
    pub(super) is_unnamed: bool,
}

impl Understood {
    fn new(goals: Vec<Goal>, unclear: Vec<String>) -> Self {
        Self { goals, unclear, is_unnamed: false }
    }
}

/// The goals of a request.
pub(super) fn understand(text: &str) -> Understood {
    let masked = masked(&adverbs::without(text));
    if masked.text.chars().count() > MOST_CHARACTERS {
        return Understood::new(vec![Goal::Beyond], Vec::new());
    }
    let clauses = clauses::split(&masked.text, orders::is_command(&masked.text));
    let mut understood = match calculation(&masked) {
        Some(goal) if leftovers::foreign(&clauses).is_none() => {
            Understood::new(vec![goal], Vec::new())
        }
        _ => one_by_one(&clauses, &masked),
    };
    understood.is_unnamed = kept::is_unnamed(&clauses, &masked, &understood.goals);
    let left = leftovers::find(&masked, &clauses, &understood.goals);
    understood.unclear.extend(left.filter(|_| understood.unclear.is_empty()));
    for clause in &mut understood.unclear {
        *clause = masked.unmask(clause);
    }
    understood
}

/// The goals of the clauses of a request.
fn one_by_one(clauses: &[String], masked: &Masked) -> Understood {
    let mut goals: Vec<Goal> = Vec::new();
    let mut unclear: Vec<String> = Vec::new();
    // The last clause that was understood, and how many goals were there before it.
    let (mut last, mut known) = (String::new(), 0);
    for (at, clause) in clauses.iter().enumerate() {
        let text = match unclear.last() {
            Some(before) if goals.is_empty() => format!("{before} , {clause}"),
            _ => clause.clone(),
        };
        let words = Clause::new(&text, masked);
        let found = of_clause(&words);
        // `Create a.txt and write "…" in it`: what is written comes in the next clause.
        let is_begun = goals.is_empty()
            && matches!(found.as_slice(), [Goal::Write { content: Content::Last, .. }])
            && !words.says(p::RESULT);
        if is_begun && at + 1 < clauses.len() {
            unclear.push(text);
            continue;
        }
        if !found.is_empty() {
            if goals.is_empty() {
                // What was said before is taken up where it makes a difference.
                let alone = of_clause(&Clause::new(clause, masked));
                unclear.retain(|before| alone == found && !is_remark(before));
            }
            known = goals.len();
            goals.extend(found);
            last = text;
            continue;
        }
        if is_filler(clause) || is_remark(clause) || is_content(clause, masked) {
            continue;
        }
        let is_order = matches!(goals.last(), Some(Goal::Run(_) | Goal::Write { .. }));
        if goals.is_empty() || is_order {
            unclear.push(text);
            continue;
        }
        // What says nothing alone may say more about what was asked before it.
        let longer = format!("{last} , {clause}");
        let better = of_clause(&Clause::new(&longer, masked));
        if better.is_empty() || better == goals[known..] {
            unclear.push(clause.clone());
        } else if shared::asks_more(clause, &last) || shared::are_two(&goals[known..], &better) {
            // `what is in it, and how many are there`: both.
            goals.extend(better);
        } else {
            goals.splice(known.., better);
            last = longer;
        }
    }
    shared::lend_folders(&mut goals);
    Understood::new(goals, unclear)
}

/// A request with its quotes set aside as they are, and the rest in plain letters.
fn masked(text: &str) -> Masked {
    let masked = Masked::new(text);
    Masked { text: words::plain(&masked.text), ..masked }
}

/// The language that a request is in: that of its words, not of its names and quotes.
pub(super) fn language(text: &str) -> Language {
    let masked = masked(text);
    let head: String = masked.text.chars().take(MOST_CHARACTERS).collect();
    let clause = Clause::new(&head, &masked);
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

/// The goals of one clause; none if it means nothing to us.
fn of_clause(clause: &Clause<'_>) -> Vec<Goal> {
    if let Some(order) = orders::write(clause) {
        return written(order, clause);
    }
    let goal = orders::run(clause).or_else(|| goal(clause));
    goal.map(|goal| shared::for_each_file(goal, clause)).unwrap_or_default()
}

/// Something to write, after what has to be found out for it.
fn written(order: orders::Order, clause: &Clause<'_>) -> Vec<Goal> {
    let orders::Order { path, content, words } = order;
    if let Some(command) = clause.output_of() {
        return vec![Goal::Run(command), Goal::Write { path, content: Content::Last }];
    }
    let words = words.unwrap_or_else(|| clause.bare.clone());
    let is_plain = matches!(content, Content::Text(_));
    let content_words = Clause::new(&words, clause.masked);
    let begins = words.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    if is_plain && has_any(&begins, p::BEYOND) {
        return vec![Goal::Beyond];
    }
    // "the result of 3 * 4", "the number of lines of a.md": not these words, but what they mean.
    let found = if content_words.says(RESULTS) || !is_plain {
        sum(&content_words)
    } else if content_words.says(p::FINDINGS)
        || (content_words.says(p::PARTS_OF_FILES) && content_words.places.file().is_some())
    {
        goal(&content_words)
    } else {
        None
    };
    match found {
        Some(found) => vec![found, Goal::Write { path, content: Content::Last }],
        None => vec![Goal::Write { path, content }],
    }
}

/// The goal of a clause that changes nothing. The order of the wishes is what tells similar words
/// apart.
fn goal(clause: &Clause<'_>) -> Option<Goal> {
    quantity::combination(clause)
        .or_else(|| named::by_command(clause))
        .or_else(|| search(clause))
        .or_else(|| beyond(clause))
        .or_else(|| about_a_file(clause))
        .or_else(|| about_files(clause))
        .or_else(|| show(clause))
        .or_else(|| sum(clause))
        .or_else(|| introduce(clause))
}

fn search(clause: &Clause<'_>) -> Option<Goal> {
    let has_file = clause.places.file().is_some();
    let speaks_of_text = clause.says(p::FILES)
        || clause.says(p::LINES)
        || clause.says("anything, anyone, any code, 代码, 什么地方, 哪里, 哪儿, 何处")
        || has_file;
    let is_mention = clause.says(p::MENTION) && speaks_of_text;
    let is_quoted = clause.tokens.iter().any(|token| token.kind == tokens::Kind::Quote);
    let is_where = clause.says(p::STANDS) || (clause.says(p::WHERE) && is_quoted && !has_file);
    let is_find = is_quoted
        && !has_file
        && clause.says("find, look for, count, how many, 查找, 找, 多少, 几个")
        && !clause.says(p::FILES);
    let is_line = clause.says(p::LINE_OF) && has_file;
    let is_open = clause.says("in which file is, in what file is, in which files is");
    let is_search =
        clause.says(p::SEARCH) || is_open || is_where || is_mention || is_find || is_line;
    let speaks_of_names = clause.says(p::NAMED) || queries::speaks_of_names(clause);
    // `a.md 放在哪里`: the file itself is looked for.
    let is_lost = has_file
        && !is_quoted
        && !is_mention
        && clause.says("放在, 位于, 存放, 找一下, 找到, 找找, 帮我找");
    // `查找所有 .py 文件`: the verb alone does not tell words from names.
    let has_kind = clause.places.pattern.is_some();
    let is_inside =
        is_quoted && clause.says("文件里有, 文件中有, 文件里含, 文件里面有, 文件内有, 文件里写");
    let is_search = is_search || is_inside || queries::bare(clause).is_some();
    let is_sure = is_quoted || is_mention || is_where || is_line;
    if !is_search || is_lost || speaks_of_names || (has_kind && clause.says(p::FILES) && !is_sure) {
        return None;
    }
    let query = queries::query(clause)?;
    // A single file is searched like a folder with nothing below it.
    let file = clause.places.file().filter(|path| !query.contains(path));
    let files = match file {
        Some(path) => Files { folder: Some(path.to_owned()), is_flat: true, ..clause.files() },
        None => Files { is_flat: false, ..clause.files() },
    };
    let names_files =
        clause.says(p::FILES) && !clause.says("in the files, all files for, files for");
    let shows = if names_files { Shows::Files } else { Shows::Places };
    let search = Search { query, files, shows };
    let counts_lines = clause.says(p::COUNT) && clause.says(p::LINES);
    let counts_places = is_find && clause.says(p::COUNT);
    if counts_lines && !is_line {
        return Some(Goal::Tell(Quantity::Matches(search)));
    }
    if (clause.says(p::TIMES) || counts_places) && !is_line {
        return Some(Goal::Tell(Quantity::Occurrences(search)));
    }
    if clause.says(p::COUNT) && clause.says(p::FILES) && !is_line {
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
    let is_named = clause.places.file().is_some();
    let speaks_of_headings = clause.says(p::HEADINGS) || (is_named && clause.says(p::PARTS));
    if speaks_of_headings && (clause.has_file() || !clause.says(p::FILES)) {
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
        return Some(
            quantity::difference(clause).unwrap_or(Goal::Tell(Quantity::Lines(clause.file()))),
        );
    }
    if clause.says(p::AVERAGE_SIZE) {
        return Some(quantity::average_size(clause.files()));
    }
    if clause.says(p::BYTES) && clause.says(p::ALL_BYTES) && clause.says(p::FILES) {
        return Some(Goal::Tell(Quantity::AllBytes(clause.files())));
    }
    if clause.says(p::BYTES) && clause.has_file() && !clause.says(p::SORTED) {
        return Some(Goal::Tell(Quantity::Bytes(clause.file())));
    }
    let asks_when = clause.says("when, time, date, 什么时候, 何时, 时间, 日期");
    if clause.says(p::CHANGED) && (is_named || (asks_when && clause.has_file())) {
        return Some(Goal::Changed(clause.file()));
    }
    None
}

/// Questions about many files.
fn about_files(clause: &Clause<'_>) -> Option<Goal> {
    let asks_what_is_in = clause.says(p::READ) || clause.says(p::WHATS_IN);
    if clause.places.file().is_none()
        && !asks_what_is_in
        && let Some(pick) = clause.pick()
    {
        return Some(Goal::Pick(pick));
    }
    let folder = || clause.files().folder;
    // `文件夹` is no `文件`.
    let speaks_of_files = has_any(&clause.bare.replace("文件夹", "夹"), p::FILES);
    let counts_files = speaks_of_files || clause.places.pattern.is_some();
    if clause.says(p::COUNT) && clause.says(p::FOLDERS) && !counts_files {
        return Some(Goal::Tell(Quantity::Folders(folder())));
    }
    let has_pattern = clause.places.pattern.is_some();
    // Of two places, only one would be counted.
    if clause.says("how many more, how many fewer, 多多少, 多几个, 少多少, 少几个") {
        return None;
    }
    if clause.says(p::COUNT) && (clause.says(p::FILES) || has_pattern) {
        return Some(Goal::Tell(Quantity::Files(clause.files())));
    }
    if let Some(name) = queries::name(clause).filter(|_| !clause.says(p::FOLDERS)) {
        let files = Files { pattern: Some(name), is_flat: false, ..clause.files() };
        return Some(Goal::Find(files));
    }
    let asks_for_a_file = clause.says(p::FIND)
        && !clause.says(p::READ)
        && !clause.says("show, what is in, what's in, what's inside, inside");
    if let Some(path) = clause.places.file().filter(|_| asks_for_a_file) {
        return Some(Goal::Find(named::by_path(path, clause)));
    }
    if has_pattern && clause.places.file().is_none() && !clause.says(p::READ) {
        return Some(Goal::Find(clause.files()));
    }
    None
}

fn show(clause: &Clause<'_>) -> Option<Goal> {
    let is_read = clause.says(p::READ);
    let has_folder = clause.places.folder.is_some();
    let is_file = clause.places.file().is_some();
    if is_file && (is_read || clause.says(p::SHOW) || clause.tokens.len() == 1) {
        return Some(Goal::Read { file: clause.file(), part: Part::All });
    }
    if (is_read || clause.says(p::WHATS_IN)) && clause.pick().is_some() {
        return Some(Goal::Read { file: clause.file(), part: Part::All });
    }
    let lists = (clause.says(p::LIST) || clause.says(p::FOLDERS))
        && (has_folder || clause.says(p::FILES) || clause.says("ls, dir"));
    if !is_file && lists {
        let files = clause.files();
        // `everything under src`; Chinese says `下` of the folder itself, too.
        let is_deep = files.folder.is_some()
            && !files.is_flat
            && !clause.says("folders, directories, 哪些文件夹, 哪些目录");
        return Some(if is_deep && clause.says(p::AT_ANY_DEPTH) {
            Goal::Find(files)
        } else {
            Goal::List(files.folder)
        });
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
    // A greeting is one only if nothing else is said.
    let is_greeting = clause.says(p::GREETINGS) && clause.tokens.len() <= 3;
    (is_short && (clause.says(p::INTRODUCE) || is_greeting)).then_some(Goal::Introduce)
}

#[cfg(test)]
mod tests;
