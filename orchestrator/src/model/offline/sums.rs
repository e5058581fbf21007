//! Calculations that a text asks for, as expressions for a tool.
//!
//! Wordings are in `rewrite.rs`, loans and savings in `finance.rs`, numbers in `numerals.rs`;
//! `sequence.rs`, `lists.rs` and `prices.rs` know words that stand apart from their numbers.

use super::{finance, lists, numerals, pattern, prices, rewrite, sequence, words};

/// One calculation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) expression: String,
    /// Decimal places wanted, as digits.
    pub(super) places: Option<String>,
    pub(super) topic: Topic,
}

impl Sum {
    /// The expression with the rounding in it, for a tool that takes nothing else.
    pub(super) fn rounded(&self) -> String {
        match &self.places {
            Some(places) => format!("round({}, {places})", self.expression),
            None => self.expression.clone(),
        }
    }
}

/// What the result of a calculation is, for the sentence around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// A number.
    Plain,
    /// A percentage.
    Percent,
    MonthlyPayment,
    YearlyPayment,
    FirstPayment,
    TotalInterest,
    TotalPaid,
    FinalAmount,
    InterestEarned,
}

/// Names that stand for numbers.
const CONSTANTS: &[&str] = &["pi", "tau", "e"];

/// The calculations in a text, in order; none if it asks for none.
pub(super) fn find(text: &str) -> Vec<Sum> {
    let written = without_exponents(&words::plain(text));
    let (text, places) = rewrite::places(&numerals::plain(&written));
    if let Some(sum) = finance::find(&text) {
        return vec![Sum { places: places.or(sum.places), ..sum }];
    }
    let plain = |expression| Sum { expression, places: places.clone(), topic: Topic::Plain };
    if let Some(expression) = sequence::find(&text, single) {
        return vec![plain(expression)];
    }
    let rewritten = rewrite::rewrite(&text);
    let topic = if rewritten.contains("*100)") && !text.contains("*100)") {
        Topic::Percent
    } else {
        Topic::Plain
    };
    // `3 million` is a number, however it is passed on.
    let is_number = |found: &String| {
        let is_one = pattern::value(found, 0) == Some(found.len());
        is_one && text.contains(found.as_str()) && !written.contains(found.as_str())
    };
    let found: Vec<String> =
        expressions(&rewritten).into_iter().filter(|found| !is_number(found)).collect();
    // `80 - 15%` in a sentence is fifteen percent of eighty less.
    if let [only] = found.as_slice()
        && let Some(expression) = changed(only)
    {
        return vec![plain(expression)];
    }
    if !found.is_empty() {
        return found.into_iter().map(|expression| Sum { topic, ..plain(expression) }).collect();
    }
    if let Some(expression) = lists::find(&text) {
        return vec![plain(expression)];
    }
    if let Some((expression, topic)) = prices::find(&text) {
        return vec![Sum { topic, ..plain(expression) }];
    }
    // `Round 3.14159 to 2 places`
    let to_round = places.as_ref().and_then(|_| only_number(&text));
    to_round.into_iter().map(plain).collect()
}

/// `1.5e3` becomes `(1.5*10^3)`.
fn without_exponents(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['e', 'E']) {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let number = before.bytes().rev().take_while(|one| one.is_ascii_digit() || *one == b'.');
        let start = at - number.count();
        let signs = usize::from(after.starts_with(['-', '+']));
        let digits = after[signs..].bytes().take_while(u8::is_ascii_digit).count();
        let is_part = |one: Option<char>| one.is_some_and(|one| one.is_ascii_alphanumeric());
        let is_number = before[start..].starts_with(|one: char| one.is_ascii_digit())
            && digits > 0
            && !is_part(before[..start].chars().next_back())
            && !is_part(after[signs + digits..].chars().next());
        if !is_number {
            kept.push_str(&rest[..=at]);
            rest = after;
            continue;
        }
        let exponent = after[..signs + digits].trim_start_matches('+');
        kept.push_str(&before[..start]);
        let number = &before[start..];
        kept.extend(["(", number, "*10^(", exponent, "))"]);
        rest = &after[signs + digits..];
    }
    kept + rest
}

/// A number with a percentage added or taken off, and nothing else.
fn changed(expression: &str) -> Option<String> {
    let rows = [("{b} + {p}%", "({b}*(1+{p}/100))"), ("{b} - {p}%", "({b}*(1-{p}/100))")];
    rows.iter().find_map(|(row, template)| {
        let caught = pattern::find(row, expression)?;
        let is_all = caught.start == 0 && caught.end == expression.len();
        is_all.then(|| caught.fill(template))
    })
}

/// The only number of a text.
fn only_number(text: &str) -> Option<String> {
    let caught = pattern::find("{a}", text)?;
    pattern::find("{a}", &text[caught.end..]).is_none().then(|| caught.fill("{a}"))
}

/// The expression of a text that asks for exactly one, in brackets.
fn single(text: &str) -> Option<String> {
    let mut found = expressions(&rewrite::rewrite(text));
    if found.is_empty() {
        found.extend(lists::find(text).or_else(|| only_number(text)));
    }
    match found.as_slice() {
        [only] => Some(format!("({only})")),
        _ => None,
    }
}

/// The stretches of a text that are expressions with something to work out.
fn expressions(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let length = stretch(&text[at..], text[..at].chars().next_back());
        let part = &text[at..at + length];
        let expression = trimmed(part);
        if has_work(expression) {
            // `apples * 3 + 1`: what stands at the edge had an operand.
            if part.trim_start().starts_with(['*', '/', '^'])
                || part.trim_end().ends_with(['+', '*', '/', '^'])
            {
                return Vec::new();
            }
            found.push(expression.to_owned());
        }
        let skipped = text[at + length..].chars().next().map_or(1, char::len_utf8);
        at += length + skipped;
    }
    found
}

/// Bytes at the beginning of a text that may be part of an expression.
fn stretch(text: &str, before: Option<char>) -> usize {
    let mut at = 0;
    let mut is_word = before.is_some_and(|before| before.is_ascii_alphanumeric());
    while let Some(character) = text[at..].chars().next() {
        if character.is_ascii_alphabetic() {
            let end = at + text[at..].bytes().take_while(u8::is_ascii_alphanumeric).count();
            let name = &text[at..end];
            let is_call = text[end..].starts_with('(');
            if is_word || !(is_call || CONSTANTS.contains(&name)) {
                break;
            }
            at = end;
            continue;
        }
        let is_part = character.is_ascii_digit()
            || matches!(character, '+' | '-' | '*' | '/' | '^' | '%' | '!' | '(' | ')')
            || matches!(character, '.' | ',' | ' ' | '×' | '÷' | '√' | '²' | '³');
        if !is_part {
            break;
        }
        is_word = character.is_ascii_digit();
        at += character.len_utf8();
    }
    at
}

/// Without what belongs to the sentence around an expression.
fn trimmed(stretch: &str) -> &str {
    let mut kept = stretch.trim();
    loop {
        let shorter = kept
            .trim_start_matches(['+', '*', '/', '^', '%', '!', '.', ',', ' ', ')'])
            .trim_end_matches(['+', '-', '*', '/', '^', '.', ',', ' ', '(']);
        let shorter = without_loose_ends(shorter);
        if shorter == kept {
            return kept;
        }
        kept = shorter;
    }
}

/// Brackets without a partner at either end go.
fn without_loose_ends(text: &str) -> &str {
    let opened = text.matches('(').count();
    let closed = text.matches(')').count();
    if opened > closed && text.starts_with('(') {
        return &text[1..];
    }
    if closed > opened && text.ends_with(')') {
        return &text[..text.len() - 1];
    }
    text
}

/// Whether there is a number and something to do with it.
fn has_work(expression: &str) -> bool {
    let has_digit = expression.contains(|one: char| one.is_ascii_digit());
    // A percentage alone is a number.
    let body = expression.trim_start_matches('-').trim_end_matches(['%', ' ']);
    let has_operator = body.contains(['+', '-', '*', '/', '^', '%', '!', '×', '÷', '√', '²', '³']);
    let has_call = expression.contains(|one: char| one.is_ascii_alphabetic());
    has_digit && (has_operator || has_call)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found = find(text);
        let found: Vec<String> = found.iter().map(Sum::rounded).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn expressions_are_found_in_sentences() {
        check("帮我算一下 (12000 * 0.045) / 12", &["(12000 * 0.045) / 12"]);
        check("What is (3 + 4) * 2.5?", &["(3 + 4) * 2.5"]);
        check("Compute sqrt(2) * pi please.", &["sqrt(2) * pi"]);
        check("计算（３＋４）×２．５。", &["(3+4) * 2.5"]);
        check("what's 12x7?", &["12*7"]);
        check("-5 + 3", &["-5 + 3"]);
        check("2^10 - 24", &["2^10 - 24"]);
        check("What is 1,200 + 300?", &["1200 + 300"]);
        check("max(1,200) + 1", &["max(1,200) + 1"]);
        check("What is five?", &[]);
        check("The answer (is here)", &[]);
        check("What's 1.5e3 * 4?", &["(1.5*10^(3)) * 4"]);
        check("the 2e of x1e3", &[]);
        check("I have 3 million users", &[]);
        check("80 - 15%", &["(80*(1-15/100))"]);
        check("80 - 15% * 20", &["80 - 15% * 20"]);
        check("2 million + 1", &["(2*1000000) + 1"]);
        check("Round 3.14159 to 2 decimal places", &["round(3.14159, 2)"]);
        check("What is pi times 2?", &["pi * 2"]);
    }

    #[test]
    fn wordings_are_found_in_sentences() {
        check("How much is twelve times seven?", &["12 * 7"]);
        check("What's the sum of 3, 4 and 5?", &["(3 + 4 + 5)"]);
        check("10 divided by 3, rounded to 2 decimal places", &["round(10 / 3, 2)"]);
        check("一百二十加八十等于多少", &["(1*100+2*10) + (8*10)"]);
        check("请问 350 打 8 折是多少钱", &["(350*8/10)"]);
        check("3.5 million divided by 7", &["(3.5*1000000) / 7"]);
    }
}
