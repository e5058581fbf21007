//! English numerals: `three hundred and five` as an expression. Chinese ones are in `numerals.rs`.

use crate::model::offline::words;

/// Magnitudes behind a numeral.
const SCALES: &[(&str, &str)] = &[
    ("dozen", "12"),
    ("thousand", "1000"),
    ("million", "1000000"),
    ("billion", "1000000000"),
    ("trillion", "1000000000000"),
];

/// Numerals from 0 on.
const ONES: &str = "zero, one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, \
    fourteen, fifteen, sixteen, seventeen, eighteen, nineteen";
/// Tens from 20 on.
const TENS: &str = "twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety";

/// English numerals: `three hundred and five` becomes `(3*100+5)`.
pub(super) fn plain(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_inside_a_word = false;
    while let Some(first) = rest.chars().next() {
        if !is_inside_a_word && let Some((number, length)) = english_number(rest) {
            kept.push_str(&number);
            rest = &rest[length..];
            is_inside_a_word = false;
            continue;
        }
        is_inside_a_word = first.is_ascii_alphanumeric();
        kept.push(first);
        rest = &rest[first.len_utf8()..];
    }
    kept
}

fn english_digits(word: &str) -> Option<String> {
    let ones = words::each(ONES).position(|known| known == word).map(|digit| digit.to_string());
    let tens = || words::each(TENS).zip(2..).find(|(known, _)| *known == word);
    ones.or_else(|| tens().map(|(_, digit)| format!("{digit}0")))
}

/// The numeral that a text begins with, and its length.
fn english_number(text: &str) -> Option<(String, usize)> {
    // What stands before a thousand or a million, and what came behind the last one.
    let (mut above, mut expression) = (String::new(), String::new());
    let (mut end, mut at) = (0, 0);
    loop {
        let rest = &text[at..];
        let word = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let found = rest[..word].to_ascii_lowercase();
        let scale = SCALES.iter().find(|(known, _)| *known == found);
        if let Some(digits) = english_digits(&found) {
            if !expression.is_empty() {
                expression.push('+');
            }
            expression.push_str(&digits);
        } else if found == "a" && end == 0 && is_magnitude(rest[word..].trim_start_matches(' ')) {
            "1".clone_into(&mut expression);
        } else if found == "hundred" && !expression.is_empty() {
            expression = match expression.rsplit_once('+') {
                Some((before, last)) => format!("{before}+{last}*100"),
                None => format!("{expression}*100"),
            };
        } else if let Some((_, factor)) = scale.filter(|_| !expression.is_empty()) {
            let joint = if above.is_empty() { "" } else { "+" };
            above = format!("{above}{joint}{}*{factor}", bracketed(&expression));
            expression.clear();
        } else if !(found == "and"
            && (expression.ends_with("*100") || expression.is_empty() && !above.is_empty()))
        {
            break;
        }
        at += word;
        if found != "and" {
            end = at;
        }
        let gap = text[at..].bytes().take_while(|byte| matches!(byte, b' ' | b'-')).count();
        at += gap;
    }
    let joint = if above.is_empty() || expression.is_empty() { "" } else { "+" };
    let whole = format!("{above}{joint}{expression}");
    if whole.is_empty() {
        return None;
    }
    let is_plain = whole.bytes().all(|byte| byte.is_ascii_digit());
    Some((if is_plain { whole } else { format!("({whole})") }, end))
}

/// Whether a text begins with a magnitude: `a hundred`.
fn is_magnitude(text: &str) -> bool {
    let word = &text[..text.bytes().take_while(u8::is_ascii_alphabetic).count()];
    let is_known = |known: &str| word.eq_ignore_ascii_case(known);
    is_known("hundred") || SCALES.iter().any(|(known, _)| is_known(known))
}

/// A sum in brackets; a single term as it is.
fn bracketed(sum: &str) -> String {
    if sum.contains(['+', '*']) { format!("({sum})") } else { sum.to_owned() }
}
