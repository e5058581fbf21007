//! What a request says and the goals do not: numbers, names, quotes, operations, exceptions.
//!
//! A goal that leaves something out would be a confident answer to another question, so nothing is
//! begun then. `intent.rs` asks; which words are meant is in `leftovers/tables.rs`.

mod tables;

use self::tables::{
    BEFORE_NOUNS, COMMANDS, CONDITIONS, EXCEPTIONS, FIND, FOREIGN, FORMS, LIMITS, LINE_LIMITS,
    MENTIONS, MORE_OPERATIONS, NO_COMMAND, NO_CONDITIONS, NO_EXCEPTIONS, NO_OPERATIONS, NOUNS,
    OPERATIONS, SIGNS, SORT_KEYS,
};
use super::{
    clause::Clause,
    goals::{Combination, Content, Goal, Order, Quantity, Search},
    kinds, numerals, phrases as p,
    quotes::Masked,
    words::{self, each, find_any, has_any, is_han},
};

/// What the goals leave out of a request, as words to show; `None` if it is all there.
pub(super) fn find(masked: &Masked, clauses: &[String], goals: &[Goal]) -> Option<String> {
    let is_known = |goal: &Goal| !matches!(goal, Goal::Introduce | Goal::Beyond);
    if goals.is_empty() || !goals.iter().all(is_known) {
        return None;
    }
    let clauses: Vec<Clause<'_>> = clauses.iter().map(|text| Clause::new(text, masked)).collect();
    let used = format!("{goals:?}");
    let bare = unquoted(&clauses, goals);
    // `hasn't been touched for the longest time`
    let is_oldest = used.contains(&format!("{:?}", Order::Oldest));
    (if is_oldest { None } else { exception(&bare) })
        .or_else(|| limit(&bare, &used, (masked, goals)))
        .or_else(|| number(&bare, &used))
        .or_else(|| operation(&bare, &used, goals))
        .or_else(|| clauses.iter().find_map(|clause| other_end(clause, goals)))
        .or_else(|| clauses.iter().find_map(|clause| option(clause, &used, goals)))
        .or_else(|| clauses.iter().find_map(|clause| name(clause, &used, goals)))
        .or_else(|| quote(masked, &used, goals))
        .or_else(|| goals.iter().find_map(|goal| several(goal, masked)))
}

/// A clause among those of a calculation that asks for something else.
pub(super) fn foreign(clauses: &[String]) -> Option<&str> {
    let is_foreign = |clause: &&String| {
        let has_number = numerals::plain(clause).contains(|one: char| one.is_ascii_digit());
        let begins = find_any(clause, FOREIGN).is_some_and(|(start, _)| start == 0);
        !has_number && (begins || has_any(clause, p::BEYOND))
    };
    clauses.iter().find(is_foreign).map(String::as_str)
}

/// Whether a request is turned into its opposite, or depends on something.
pub(super) fn is_limited(text: &str) -> bool {
    let masked = Masked::new(text);
    let bare = masked.text.replace('’', "'");
    let bare = without(&bare, NO_CONDITIONS);
    exception(&bare).is_some() || has_any(&bare, CONDITIONS)
}

/// The words of a request without names, quotes, and what is searched for, written or run.
fn unquoted(clauses: &[Clause<'_>], goals: &[Goal]) -> String {
    let bare: Vec<&str> = clauses.iter().map(|clause| clause.bare.as_str()).collect();
    let mut bare = bare.join(" ; ").replace('’', "'");
    for goal in goals {
        for text in said_by(goal) {
            if !text.is_empty() {
                bare = bare.replace(text, " ");
            }
        }
    }
    bare
}

/// Texts that a goal takes over as they are.
fn said_by(goal: &Goal) -> Vec<&str> {
    match goal {
        Goal::Write { content: Content::Text(text), .. } => vec![text],
        Goal::Run(command) => vec![command],
        Goal::Search(Search { query, .. }) => vec![query],
        Goal::Tell(quantity) => of_quantity(quantity),
        Goal::Combine(Combination { left, right, .. }) => {
            [of_quantity(left), of_quantity(right)].concat()
        }
        _ => Vec::new(),
    }
}

fn of_quantity(quantity: &Quantity) -> Vec<&str> {
    match quantity {
        Quantity::Matches(search)
        | Quantity::Occurrences(search)
        | Quantity::MatchingFiles(search) => vec![&search.query],
        _ => Vec::new(),
    }
}

fn exception(bare: &str) -> Option<String> {
    let text = without(bare, NO_EXCEPTIONS);
    Some(around(&text, find_any(&text, EXCEPTIONS)?))
}

/// What narrows down files or lines, or makes an order depend on something.
fn limit(bare: &str, used: &str, (masked, goals): (&Masked, &[Goal])) -> Option<String> {
    if let Some(words) = goals.iter().find_map(|goal| taken_in(goal, masked)) {
        return Some(words);
    }
    if goals.iter().any(|goal| matches!(goal, Goal::Calculate(_))) {
        let text = &masked.text;
        let sign = SIGNS.split(' ').find(|sign| text.contains(sign) && !used.contains(sign));
        return sign
            .map(str::to_owned)
            .or_else(|| find_any(text, FORMS).map(|found| around(text, found)));
    }
    let text = without(bare, NO_CONDITIONS);
    if let Some(found) = find_any(&text, CONDITIONS) {
        return Some(around(&text, found));
    }
    let is_order = |goal: &Goal| matches!(goal, Goal::Write { .. } | Goal::Run(_));
    let is_combined = goals.iter().any(|goal| matches!(goal, Goal::Combine(_)));
    if goals.iter().all(is_order) {
        return None;
    }
    let counts_lines = used.contains("Lines(");
    let lists = used.contains("List(");
    find_any(bare, LIMITS)
        .filter(|_| !is_combined)
        .or_else(|| find_any(bare, LINE_LIMITS).filter(|_| counts_lines))
        .or_else(|| find_any(bare, p::NAME_HOLDS).filter(|_| lists))
        .or_else(|| find_any(bare, MENTIONS).filter(|_| used.contains("Find(")))
        .map(|found| around(bare, found))
        .or_else(|| sort_key(bare))
        .or_else(|| adjective(bare))
}

/// A condition that was taken for a part of a command or of a content.
fn taken_in(goal: &Goal, masked: &Masked) -> Option<String> {
    let (text, is_anywhere) = match goal {
        Goal::Run(command) => (command, true),
        Goal::Write { content: Content::Text(text), .. } => (text, false),
        _ => return None,
    };
    let found = find_any(text, NO_COMMAND).filter(|(start, _)| is_anywhere || *start == 0)?;
    let words = around(text, found);
    let is_quoted = masked.quotes.iter().any(|quote| quote.inner.contains(&words));
    (!is_quoted).then_some(words)
}

/// An order that no tool knows: `sorted by owner`.
fn sort_key(bare: &str) -> Option<String> {
    let (start, end) = find_any(bare, "sorted by, sort by, ordered by, order by, sort them by")?;
    let key = bare[end..].split_whitespace().next()?;
    let key = key.trim_matches(|one: char| !one.is_ascii_alphanumeric());
    let is_known = key.is_empty() || each(SORT_KEYS).any(|known| known.eq_ignore_ascii_case(key));
    (!is_known).then(|| format!("{} {key}", &bare[start..end]))
}

/// A word that says which lines or files: `blank lines`.
fn adjective(bare: &str) -> Option<String> {
    each(NOUNS).find_map(|noun| {
        let mut from = 0;
        while let Some((start, end)) = words::find(&bare[from..], noun) {
            let (start, end) = (from + start, from + end);
            let before = bare[..start].trim_end_matches(' ');
            let letters = before.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
            let word = &before[before.len() - letters..];
            let is_cut = bare[..before.len() - letters]
                .ends_with(|one: char| one.is_ascii_alphanumeric() || "._-*/\'\u{1}".contains(one));
            let is_known = word.is_empty()
                || is_cut
                || each(BEFORE_NOUNS).any(|known| known.eq_ignore_ascii_case(word))
                || kinds::of_word(word).is_some();
            if !is_known {
                return Some(bare[start - letters - 1..end].trim().to_owned());
            }
            from = end;
        }
        None
    })
}

/// A number that no goal holds as often as it is said.
fn number(bare: &str, used: &str) -> Option<String> {
    // "one" and "a" count nothing as often as something.
    let has_one = numbers(&words::plain(bare)).iter().any(|number| number == "1");
    let mut held = numbers(used);
    for said in numbers(&numerals::plain(&words::plain(bare))) {
        if said == "1" && !has_one {
            continue;
        }
        match held.iter().position(|number| *number == said) {
            Some(at) => drop(held.swap_remove(at)),
            None => return Some(said),
        }
    }
    None
}

/// Numbers as they are written; digits inside words are none, but those of an ordinal are.
fn numbers(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let is_inside = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        if !bytes[at].is_ascii_digit() || is_inside {
            at += 1;
            continue;
        }
        let digits = |from: usize| bytes[from..].iter().take_while(|one| one.is_ascii_digit());
        let mut end = at + digits(at).count();
        if bytes.get(end) == Some(&b'.') && digits(end + 1).next().is_some() {
            end += 1 + digits(end + 1).count();
        }
        found.push(text[at..end].to_owned());
        at = end;
    }
    found
}

/// An operation that is asked for and not done.
fn operation(bare: &str, used: &str, goals: &[Goal]) -> Option<String> {
    let text = without(&numerals::plain(&words::plain(bare)), NO_OPERATIONS);
    let is_calculation =
        goals.iter().all(|goal| matches!(goal, Goal::Calculate(_) | Goal::Combine(_)));
    let more = if is_calculation { MORE_OPERATIONS } else { &[] };
    let topics = ["Payment", "Total", "Amount", "Interest"];
    // The formulas of loans and savings have words of their own.
    if topics.iter().any(|topic| used.contains(&format!("{topic} }}"))) {
        return None;
    }
    let is_done = |signs: &str| signs.split(' ').any(|sign| used.contains(sign));
    let mut rows = OPERATIONS.iter().chain(more);
    let left =
        rows.find_map(|(words, signs)| find_any(&text, words).filter(|_| !is_done(signs)))?;
    Some(text[left.0..left.1].to_owned())
}

/// The second of two ends of an order that a clause asks for at once: `the largest and the smallest`.
fn other_end(clause: &Clause<'_>, goals: &[Goal]) -> Option<String> {
    let ends = [p::LARGEST, p::SMALLEST, p::NEWEST, p::OLDEST];
    let whole = [p::NEWEST_DOWN, p::OLDEST_UP, p::LARGEST_DOWN, p::SMALLEST_UP, p::SORTED];
    let picks = goals.iter().filter(|goal| matches!(goal, Goal::Pick(_))).count();
    if picks != 1 || whole.iter().any(|words| clause.says(words)) {
        return None;
    }
    let said = ends.iter().filter_map(|words| find_any(&clause.bare, words));
    let mut said: Vec<_> = said.collect();
    said.sort_unstable();
    let (first, last) = (said.first()?, said.last()?);
    // `least recently modified` holds another end's words.
    (first.1 <= last.0).then(|| around(&clause.bare, *last))
}

/// An option of a command that people type as a wish, which changes what it does.
fn option(clause: &Clause<'_>, used: &str, goals: &[Goal]) -> Option<String> {
    if goals.iter().any(|goal| matches!(goal, Goal::Run(_) | Goal::Calculate(_))) {
        return None;
    }
    let (_, plain) =
        COMMANDS.iter().find(|(verb, _)| clause.tokens.iter().any(|one| one.is(verb)))?;
    let is_newest = used.contains(&format!("{:?}", Order::Newest));
    let is_plain = |letters: &str| {
        letters.chars().all(|one| plain.contains(one) || (one == 't' && is_newest))
            || (*plain == FIND && ["name", "type"].contains(&letters))
    };
    let mut options = clause.tokens.iter().filter_map(|token| token.text.strip_prefix('-'));
    let option = options.find(|rest| {
        rest.starts_with(|one: char| one.is_ascii_alphabetic())
            && !is_plain(rest)
            && !used.contains(&escaped(&format!("-{rest}")))
    })?;
    Some(format!("-{option}"))
}

/// A file or a kind of file that is named and not looked at.
fn name(clause: &Clause<'_>, used: &str, goals: &[Goal]) -> Option<String> {
    // `what do I end up with` names no kind of file.
    let is_sum = goals.iter().all(|goal| matches!(goal, Goal::Calculate(_)));
    let files = clause.places.files.iter().map(|(_, path)| path);
    let mut names = files.chain(clause.places.patterns.iter().filter(|_| !is_sum));
    let is_used = |name: &String| {
        let last = name.rsplit('/').next().unwrap_or(name);
        used.contains(escaped(last).as_str())
    };
    names
        .find(|name| !is_used(name))
        .cloned()
        .or_else(|| clause.second_folder())
        .or_else(|| clause.other_folders().into_iter().find(|name| !is_used(name)))
}

/// A quoted text that no goal holds, unless it is a calculation.
fn quote(masked: &Masked, used: &str, goals: &[Goal]) -> Option<String> {
    let is_sum = goals.iter().any(|goal| matches!(goal, Goal::Calculate(_) | Goal::Combine(_)));
    let is_used = |inner: &str| {
        let has_numbers = inner.contains(|one: char| one.is_ascii_digit() || is_han(one));
        used.contains(&escaped(inner)) || (is_sum && has_numbers)
    };
    masked.quotes.iter().map(|quote| &quote.inner).find(|inner| !is_used(inner.trim())).cloned()
}

/// Several things that are searched for as if they were one.
fn several(goal: &Goal, masked: &Masked) -> Option<String> {
    let is_quoted = |text: &str| masked.quotes.iter().any(|quote| quote.inner == text);
    let joins = [
        " and ",
        " or ",
        " but ",
        " not ",
        " without ",
        " | ",
        " > ",
        " && ",
        "或者",
        "或",
        "以及",
    ];
    let is_search = matches!(goal, Goal::Search(_) | Goal::Tell(_));
    let mut queries = said_by(goal).into_iter().filter(|_| is_search);
    let is_list = |query: &&str| joins.iter().any(|join| query.contains(join));
    // `grep -v x` asks for the opposite.
    let is_none =
        |query: &&str| ["no ", "neither ", "-"].iter().any(|none| query.starts_with(none));
    // `grep a b c`: where the words end and the places begin, only a shell knows.
    let is_grep = has_any(&masked.text, "grep") && !has_any(&masked.text, "grep for");
    let is_open = |query: &&str| is_grep && query.contains(' ');
    queries
        .find(|query| (is_list(query) || is_none(query) || is_open(query)) && !is_quoted(query))
        .map(str::to_owned)
}

/// A text as it stands between the quotation marks of `{:?}`.
fn escaped(text: &str) -> String {
    format!("{text:?}").trim_matches('"').to_owned()
}

/// A text with blanks in place of the phrases of a list.
fn without(text: &str, list: &str) -> String {
    let mut text = text.to_owned();
    for phrase in each(list) {
        while let Some((start, end)) = words::find(&text, phrase) {
            text.replace_range(start..end, " ");
        }
    }
    text
}

/// What was found, with a few words behind it.
fn around(text: &str, (start, end): (usize, usize)) -> String {
    let behind = text[end..].chars().take(24);
    let behind: String = behind.take_while(|one| !";\u{1}".contains(*one)).collect();
    format!("{}{}", &text[start..end], behind.trim_end())
}

#[cfg(test)]
mod tests;
