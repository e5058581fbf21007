//! What answers are put together from: numbers and counts as they stand in a status line, and
//! structured content. The lines themselves are each tool's own.

use callboard_tool::Failure;
use serde::Serialize;
use serde_json::Value;

/// A number with its thousands apart: `1,240`.
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and what it counts: `1 line`, `37 lines`.
pub fn count(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(value), if value == 1 { one } else { many })
}

/// A remark for a status line about things that are seldom there; empty if there is none.
pub fn remark(value: u64, one: &str, many: &str) -> String {
    if value == 0 { String::new() } else { format!(" {}.", count(value, one, many)) }
}

/// The remark that not all of a list is shown; empty if all of it is.
pub fn shown_of(shown: u64, total: u64) -> String {
    if shown == total {
        return String::new();
    }
    format!("; the first {} of {} are shown", number(shown), number(total))
}

/// Structured content.
///
/// # Errors
/// `internal`, if it has no JSON form.
pub fn json(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value)
        .map_err(|error| Failure::internal(format!("The answer has no JSON form: {error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(count(1, "line", "lines"), "1 line");
        assert_eq!(count(0, "line", "lines"), "0 lines");
    }
}
