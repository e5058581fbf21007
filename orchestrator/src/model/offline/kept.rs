//! Orders to keep something that name no file: what is to be kept is no answer, so they are met with a
//! question for the name and with nothing else. Those that name one are in `orders.rs`.

use super::{
    clause::Clause,
    goals::Goal,
    phrases as p,
    quotes::Masked,
    words::{each, find, find_any},
};

/// Verbs that order nothing but to keep something, at the beginning of a clause.
const KEEP: &str = "write down, note down, jot down, save, store, record";
/// Verbs that order it only where they say whereto.
const WRITE: &str = "write, put";
/// The same in Chinese, at the beginning or behind what is to be kept.
const CHINESE: &str = "写入, 写到, 写进, 保存, 存为, 存到, 存入, 另存为";
/// Before what is to be kept.
const OBJECT: &str = "把, 将";
/// What may stand before the verb.
const BEFORE: &str = "please, kindly, now, then, and, also, just, 请, 然后, 再, 并且, 并, 帮我";
/// Between what is kept and its place.
const INTO: &str = "to, into, in, as, under";
/// Places that are how something is written.
const FORMS: &str = "words, full, figures, numbers, digits, decimal, percent, infinity, it";

/// Whether one of the clauses orders to keep something and no goal does.
pub(super) fn is_unnamed(clauses: &[String], masked: &Masked, goals: &[Goal]) -> bool {
    let writes = |goal: &Goal| matches!(goal, Goal::Write { .. } | Goal::Run(_) | Goal::Beyond);
    if goals.iter().any(writes) {
        return false;
    }
    // `Save 200 a month for 3 years`: a calculation may speak of keeping.
    let is_sum = goals.iter().any(|goal| matches!(goal, Goal::Calculate(_) | Goal::Combine(_)));
    clauses.iter().any(|text| {
        orders(&Clause::new(text, masked)).is_some_and(|what| {
            let points = |word: &str| what.trim_matches([' ', '.', '!']).eq_ignore_ascii_case(word);
            let is_bare = !what.chars().any(char::is_alphabetic) || each(p::RESULT).any(points);
            !is_sum || is_bare || has_place(what)
        })
    })
}

/// What a clause orders to keep.
fn orders<'a>(clause: &'a Clause<'_>) -> Option<&'a str> {
    if !clause.places.files.is_empty() {
        return None;
    }
    let mut rest = clause.text.trim_start();
    while let Some(end) = each(BEFORE).find_map(|word| at_start(rest, word)) {
        rest = rest[end..].trim_start_matches([' ', ',']);
    }
    let object = each(OBJECT).find_map(|word| at_start(rest, word));
    if let Some((start, end)) = find_any(rest, CHINESE) {
        // `保存的文件`: files that were kept.
        let is_order = (start == 0 || object.is_some()) && !rest[end..].starts_with('的');
        return is_order.then(|| match object {
            Some(object) => &rest[object..start],
            None => &rest[end..],
        });
    }
    if let Some(end) = each(KEEP).find_map(|verb| at_start(rest, verb)) {
        return Some(&rest[end..]);
    }
    let end = each(WRITE).find_map(|verb| at_start(rest, verb))?;
    Some(&rest[end..]).filter(|what| has_place(what))
}

fn at_start(text: &str, word: &str) -> Option<usize> {
    find(text, word).filter(|(start, _)| *start == 0).map(|(_, end)| end)
}

/// Whether it ends in the name of a place: `… to sums`.
fn has_place(what: &str) -> bool {
    let mut words = what.split_whitespace().rev();
    let (Some(name), Some(into)) = (words.next(), words.next()) else { return false };
    let name = name.trim_end_matches(['.', '!', '?']);
    let is_name = name.starts_with(|one: char| one.is_ascii_alphabetic());
    words.next().is_some()
        && is_name
        && each(INTO).any(|word| into.eq_ignore_ascii_case(word))
        && !each(FORMS).any(|form| name.eq_ignore_ascii_case(form))
}

#[cfg(test)]
mod tests {
    use crate::model::offline::intent::understand;

    #[test]
    fn what_is_to_be_kept_nowhere_is_asked_about() {
        for text in [
            "store the number 42",
            "Save 42.",
            "please save the number 42",
            "save 12+3",
            "save 12+3 as total",
            "write 12 + 3 to f",
            "Write 12 + 3 to notes.",
            "put hello into f",
            "work out 3*4 and save it",
            "work out 3*4, then store the result",
            "list the files in src and save the list",
            "保存 12+3",
            "把 12 + 3 写入 f",
            "计算 3*4 然后保存",
        ] {
            assert!(understand(text).is_unnamed, "{text}: {:?}", understand(text));
        }
        for text in [
            "store the number 42 in a.txt",
            "write 12 + 3 to a.txt",
            "store 42 in the file total",
            "calculate 12 + 3 and save it to a.txt",
            "把 12 + 3 写入 a.txt",
            "计算 12 + 3 并保存到 a.txt",
            "Save 12% on 250: what is left?",
            "How much do I have if I save 200 a month for 3 years?",
            "Save 200 a month for 3 years at 4% a year: what is that in the end?",
            "write 3/4 as decimal",
            "What is 12 to the power of 3?",
            "docs 里最近保存的文件是哪个",
        ] {
            assert!(!understand(text).is_unnamed, "{text}: {:?}", understand(text));
        }
    }
}
