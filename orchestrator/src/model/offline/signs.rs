//! Signs and names in calculations that are written in more than one way: `3 x 4`, `minus 5`, `2 to the
//! 5th`, `sin 30°`. Wordings of whole calculations are in `rewrite.rs`.

use std::sync::LazyLock;

use super::{
    pattern::{self, Pattern},
    words,
};

/// Functions whose value may stand behind them without brackets.
const FUNCTIONS: &[(&str, &str)] = &[
    ("sine", "sin"),
    ("sin", "sin"),
    ("cosine", "cos"),
    ("cos", "cos"),
    ("tangent", "tan"),
    ("tan", "tan"),
    ("ln", "ln"),
    ("lg", "log"),
    ("sqrt", "sqrt"),
    ("cbrt", "cbrt"),
];
/// Powers and roots from the third on.
const POWERS: &str = "third, fourth, fifth, sixth, seventh, eighth, ninth, tenth";
/// Behind these "minus" is a sign and no operation.
const BEFORE_NEGATIVES: &str = "plus, minus, times, by, of, from, and, than, to, is, add, adding, subtract, multiply, with, over";
/// Where degrees are those of an angle.
const ANGLES: &str = "sin, cos, tan, sine, cosine, tangent, 正弦, 余弦, 正切";
static DEGREES: LazyLock<Pattern> = LazyLock::new(|| Pattern::new("{a} (degrees|degree|°|度)"));

/// A text with signs and calls as a tool knows them.
pub(super) fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    for (word, number) in words::each(POWERS).zip(3..) {
        for noun in ["power", "root"] {
            while let Some((start, end)) = words::find(&text, &format!("{word} {noun}")) {
                text.replace_range(start..end, &format!("{number} {noun}"));
            }
        }
    }
    let mut text = without_ordinals(&negated(&multiplied(&text)));
    if words::has_any(&text, ANGLES) {
        while let Some(caught) = DEGREES.find(&text) {
            text.replace_range(caught.start..caught.end, &caught.fill("deg({a})"));
        }
    }
    called(text)
}

/// `sin 30` becomes `sin(30)`.
fn called(mut text: String) -> String {
    for (word, name) in FUNCTIONS {
        let mut from = 0;
        while let Some((start, end)) = words::find(&text[from..], word) {
            let (start, end) = (from + start, from + end);
            let value = text.len() - text[end..].trim_start_matches([' ', 'o', 'f']).len();
            let length = pattern::value(&text, value).filter(|_| !text[value..].starts_with('('));
            let filled = length.map(|length| {
                let call = format!("{name}({})", &text[value..value + length]);
                text.replace_range(start..value + length, &call);
                start + call.len()
            });
            from = filled.unwrap_or(end);
        }
    }
    text
}

/// "minus 5" is a number where nothing stands before it that it could be taken from.
fn negated(text: &str) -> String {
    static NEGATIVE: LazyLock<Pattern> = LazyLock::new(|| Pattern::new("(minus|negative|负) {a}"));
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(caught) = NEGATIVE.find(rest) {
        let before = format!("{kept}{}", &rest[..caught.start]);
        // `25 squared minus 5`, but `3 times minus 5`
        let last = before.trim_end().rsplit([' ', '(', ',']).next().unwrap_or_default();
        let is_operand = !words::each(BEFORE_NEGATIVES).any(|word| last.eq_ignore_ascii_case(word))
            && !last.ends_with(['+', '-', '*', '/', '^', '=', ':']);
        let is_difference = rest[caught.start..].starts_with(['m', 'M'])
            && is_operand
            && before.contains(|one: char| one.is_ascii_digit());
        kept.push_str(&rest[..caught.start]);
        if is_difference {
            kept.push_str(&rest[caught.start..caught.end]);
        } else {
            kept.push_str(&caught.fill("(-{a})"));
        }
        rest = &rest[caught.end..];
    }
    kept + rest
}

/// `5th power` becomes `5 power`, and so does the `5th` of "to the 5th".
fn without_ordinals(text: &str) -> String {
    let mut text = text.to_owned();
    for ending in ["st", "nd", "rd", "th"] {
        while let Some((at, has_power)) = ordinal(&text, ending) {
            let plain = if has_power { "" } else { " power" };
            text.replace_range(at..at + ending.len(), plain);
        }
    }
    text
}

/// Where a number has this ending and is an exponent, and whether it says so itself.
fn ordinal(text: &str, ending: &str) -> Option<(usize, bool)> {
    text.match_indices(ending).find_map(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + ending.len()..]);
        let stem = before.trim_end_matches(|one: char| one.is_ascii_digit());
        let is_number = stem.len() < before.len();
        let has_power = after.starts_with(" power") || after.starts_with(" root");
        let is_alone = stem.ends_with("to the ") && !after.starts_with(char::is_alphanumeric);
        let is_end = after.trim_start_matches([' ', '?', '.', '!', '？', '。']).is_empty();
        (is_number && (has_power || (is_alone && is_end))).then_some((at, has_power))
    })
}

/// An `x` between two numbers is a sign, not a letter.
fn multiplied(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let neighbour = |mut at: usize, step: isize| {
        loop {
            at = at.checked_add_signed(step)?;
            match characters.get(at)? {
                ' ' => {}
                found => return Some(*found),
            }
        }
    };
    let is_sign = |at: usize| {
        matches!(characters[at], 'x' | 'X')
            && neighbour(at, -1).is_some_and(|before| before.is_ascii_digit() || before == ')')
            && neighbour(at, 1).is_some_and(|after| after.is_ascii_digit() || after == '(')
    };
    (0..characters.len()).map(|at| if is_sign(at) { '*' } else { characters[at] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_become_those_of_a_tool() {
        for (text, expected) in [
            ("3 x 4", "3 * 4"),
            ("minus 5 and 7 minus 5", "(-5) and 7 minus 5"),
            ("raise 2 to the 5th power", "raise 2 to the 5 power"),
            ("5 to the third power", "5 to the 3 power"),
            ("sin 30°", "sin(deg(30))"),
            ("the cosine of 60 degrees", "the cos(deg(60))"),
            ("sqrt of 2, ln 5, tan(1)", "sqrt(2), ln(5), tan(1)"),
            ("30度", "30度"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }
}
