//! Numbers that have to be found out first, and what is to be done with them.

use super::{
    clause::Clause,
    goals::{Combination, FileRef, Files, Goal, Quantity, Search, Shows},
    numerals, pattern, phrases as p, rewrite, sums,
    words::{self, has_any},
};

/// Operators in words, and the sign that a tool understands.
const OPERATORS: &[(&str, &str)] = &[
    ("divided by", "/"),
    ("multiplied by", "*"),
    ("times", "*"),
    ("plus", "+"),
    ("added to", "+"),
    ("minus", "-"),
    ("除以", "/"),
    ("乘以", "*"),
    ("乘上", "*"),
    ("加上", "+"),
    ("减去", "-"),
    (" / ", "/"),
    ("÷", "/"),
    ("×", "*"),
    (" + ", "+"),
    (" - ", "-"),
    (" * ", "*"),
    ("乘", "*"),
    ("加", "+"),
    ("减", "-"),
    ("除", "/"),
];
/// Orders that name both numbers: the verb, the word between them, the sign, and whether the second
/// comes first.
const ORDERS: &[(&str, &str, &str, bool)] = &[
    ("divide", "by", "/", false),
    ("multiply", "by", "*", false),
    ("multiply", "with", "*", false),
    ("add", "to", "+", false),
    ("add", "and", "+", false),
    ("subtract", "from", "-", true),
    ("ratio of", "to", "/", false),
    ("sum of", "and", "+", false),
    ("difference between", "and", "-", false),
    ("product of", "and", "*", false),
    ("quotient of", "and", "/", false),
];

/// A share or a multiple of a number that must be found out, as a pattern of its words, the sign,
/// and the other number.
const MULTIPLES: &[(&str, &str, &str)] = &[
    ("{p}% of", "*", "({p}/100)"),
    ("{p} percent of", "*", "({p}/100)"),
    ("(twice|double)", "*", "2"),
    ("half [of]", "/", "2"),
    ("squared", "^", "2"),
    ("的 {p}%", "*", "({p}/100)"),
    ("的 百分之 {p}", "*", "({p}/100)"),
    ("的 {n} 倍", "*", "{n}"),
    ("的 两倍", "*", "2"),
    ("的 一半", "/", "2"),
    ("的 平方", "^", "2"),
];

/// Two numbers to combine, of which at least one must be found out.
pub(super) fn combination(clause: &Clause<'_>) -> Option<Goal> {
    multiple(clause).or_else(|| of_two(clause))
}

fn multiple(clause: &Clause<'_>) -> Option<Goal> {
    let (caught, operator, right) = MULTIPLES.iter().find_map(|(row, operator, right)| {
        Some((pattern::find(row, clause.text)?, *operator, *right))
    })?;
    let of = format!("{} {}", &clause.text[..caught.start], &clause.text[caught.end..]);
    let left = quantity(&of, clause).filter(|left| !matches!(left, Quantity::Given(_)))?;
    let right = Quantity::Given(caught.fill(right));
    Some(Goal::Combine(Combination { left, operator, right, places: None }))
}

fn of_two(clause: &Clause<'_>) -> Option<Goal> {
    if clause.places.files.len() > 2 {
        return None;
    }
    let (text, _) = rewrite::places(clause.text);
    let (_, places) = rewrite::places(&numerals::plain(clause.text));
    let (left, operator, right) = ordered(&text).or_else(|| joined(&text))?;
    let (left, right) = (quantity(&left, clause)?, quantity(&right, clause)?);
    let is_given = |quantity: &Quantity| matches!(quantity, Quantity::Given(_));
    // Two numbers in the text are a calculation, not a combination.
    if is_given(&left) && is_given(&right) {
        return None;
    }
    Some(Goal::Combine(Combination { left, operator, right, places }))
}

/// `How many more lines does A have than B?`
pub(super) fn difference(clause: &Clause<'_>) -> Option<Goal> {
    let [(_, first), (_, second)] = clause.places.files.as_slice() else { return None };
    let lines = |path: &String| Quantity::Lines(FileRef::Path(path.clone()));
    let (left, right) = (lines(first), lines(second));
    clause
        .says("how many more, how much longer, 多多少, 多几行, 长多少")
        .then_some(Goal::Combine(Combination { left, operator: "-", right, places: None }))
}

/// The average size of files that match.
pub(super) fn average_size(files: Files) -> Goal {
    Goal::Combine(Combination {
        left: Quantity::AllBytes(files.clone()),
        operator: "/",
        right: Quantity::Files(files),
        places: None,
    })
}

/// `divide A by B`.
fn ordered(text: &str) -> Option<(String, &'static str, String)> {
    ORDERS.iter().find_map(|(verb, between, operator, is_swapped)| {
        let (_, start) = words::find(text, verb)?;
        // The last one: "the number of files by …" may hold the word itself.
        let rest = &text[start..];
        let mut at = None;
        let mut from = 0;
        while let Some((begin, end)) = words::find(&rest[from..], between) {
            at = Some((from + begin, from + end));
            from += end;
            if *between != "by" {
                break;
            }
        }
        let (begin, end) = at?;
        let (first, second) = (rest[..begin].to_owned(), rest[end..].to_owned());
        Some(if *is_swapped { (second, *operator, first) } else { (first, *operator, second) })
    })
}

/// `A divided by B`; without A the number that was found before is meant.
fn joined(text: &str) -> Option<(String, &'static str, String)> {
    let found = OPERATORS.iter().filter_map(|(word, operator)| {
        let (start, end) = words::find(text, word)?;
        Some((start, end, *operator))
    });
    let (start, end, operator) = found.min_by_key(|(start, end, _)| (*start, usize::MAX - *end))?;
    let left = text[..start].trim_start_matches(['把', '将', '用', '再']).to_owned();
    Some((left, operator, text[end..].to_owned()))
}

/// The number that a part of a clause speaks of.
fn quantity(text: &str, clause: &Clause<'_>) -> Option<Quantity> {
    let part = Clause::new(text, clause.masked);
    let names_files = part.says(p::FILES) || part.places.pattern.is_some();
    let query =
        super::queries::query(&part).filter(|_| part.says(p::MENTION) || part.says(p::TIMES));
    if let Some(query) = query {
        let files = part.files();
        let search = Search { query, files, shows: Shows::Files };
        return Some(if names_files {
            Quantity::MatchingFiles(search)
        } else {
            Quantity::Occurrences(search)
        });
    }
    if part.says(p::HEADINGS) {
        return Some(Quantity::Headings(part.file()));
    }
    if part.says(p::CHARACTERS) {
        return Some(Quantity::Characters(part.file()));
    }
    if part.says(p::LINES) || has_any(&part.bare, "行") {
        return Some(Quantity::Lines(part.file()));
    }
    if part.says(p::BYTES) {
        return Some(Quantity::Bytes(part.file()));
    }
    if names_files && (part.says(p::COUNT) || part.pick().is_none()) {
        return Some(Quantity::Files(part.files()));
    }
    given(text).or_else(|| {
        let is_pointer = part.says(p::POINTERS) || part.says(p::RESULT);
        let is_nothing = !part.bare.chars().any(char::is_alphanumeric);
        let file = part.file();
        match file {
            FileRef::Path(_) => None,
            FileRef::Picked(_) | FileRef::It => {
                (is_pointer || is_nothing).then_some(Quantity::Last)
            }
        }
    })
}

/// A number or a calculation that stands in the text.
fn given(text: &str) -> Option<Quantity> {
    let sums = sums::find(text);
    if let [sum] = sums.as_slice() {
        let is_number = pattern::value(&sum.expression, 0) == Some(sum.expression.len());
        let bare = sum.expression.clone();
        return Some(Quantity::Given(if is_number { bare } else { format!("({bare})") }));
    }
    let plain = numerals::plain(&words::plain(text));
    let values = plain.char_indices().filter_map(|(at, _)| {
        pattern::value(&plain, at).map(|length| plain[at..at + length].to_owned())
    });
    values.into_iter().next().map(Quantity::Given)
}
