//! What can be wrong with an expression, and where. Worded for whoever wrote it; the place is marked
//! in the text itself, so that it needs no counting.

use std::ops::Range;

use callboard_tool::Failure;

use crate::lexer::LENGTH;

/// Characters of the expression that are shown before and after the marked place.
const AROUND: usize = 30;

/// What is wrong with a number or an operation on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It cannot be meant, or has no value; says why and what to write instead.
    Invalid(String),
    /// A limit was passed; names it.
    TooLarge(String),
    /// It is more work than was allowed.
    Spent,
    /// More digits are needed to decide. Only between the attempts of one evaluation.
    Undecided,
}

/// Trouble and the characters of the expression that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) trouble: Trouble,
    /// Numbers of characters, from 0.
    pub(crate) at: Range<usize>,
}

impl Trouble {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::TooLarge(message.into())
    }

    pub(crate) fn at(self, at: &Range<usize>) -> Fault {
        Fault { trouble: self, at: at.clone() }
    }
}

impl Fault {
    pub(crate) fn invalid(message: impl Into<String>, at: Range<usize>) -> Self {
        Self { trouble: Trouble::invalid(message), at }
    }

    pub(crate) fn too_large(message: impl Into<String>, at: Range<usize>) -> Self {
        Self { trouble: Trouble::too_large(message), at }
    }

    /// The same for a model, with the place marked in `expression`.
    pub(crate) fn into_failure(self, expression: &str) -> Failure {
        // In a text that was too long to be read there is no place to show.
        let place = if expression.len() > LENGTH {
            String::new()
        } else {
            format!(" {}", place(expression, &self.at))
        };
        match self.trouble {
            Trouble::Invalid(message) => Failure::invalid_arguments(format!("{message}{place}"))
                .violation("/expression", message),
            Trouble::TooLarge(message) => Failure::too_large(format!("{message}{place}")),
            Trouble::Spent => Failure::too_large(format!(
                "This is more work than one expression may cause; split it.{place}"
            )),
            Trouble::Undecided => Failure::too_large(format!(
                "More digits are needed than this calculator keeps.{place}"
            )),
        }
    }
}

/// The place in words and in the text: `At character 5: 2 + >>>*<<< 3`.
fn place(expression: &str, at: &Range<usize>) -> String {
    let characters: Vec<char> = expression.chars().collect();
    let start = at.start.min(characters.len());
    let end = at.end.clamp(start, characters.len());
    let text = |range: Range<usize>| characters[range].iter().collect::<String>();
    let (from, to) = (start.saturating_sub(AROUND), (end + AROUND).min(characters.len()));
    let before = if from > 0 { "…" } else { "" };
    let after = if to < characters.len() { "…" } else { "" };
    let marked = if end - start > 2 * AROUND {
        format!("{}…{}", text(start..start + AROUND), text(end - AROUND..end))
    } else {
        text(start..end)
    };
    let (head, tail) = (text(from..start), text(end..to));
    format!("At character {}: {before}{head}>>>{marked}<<<{tail}{after}", start + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_marked_in_the_text() {
        assert_eq!(place("2 + * 3", &(4..5)), "At character 5: 2 + >>>*<<< 3");
        assert_eq!(place("（1", &(2..2)), "At character 3: （1>>><<<");
        assert_eq!(place("", &(0..1)), "At character 1: >>><<<");
    }

    #[test]
    fn only_the_neighbourhood_of_a_long_expression_is_shown() {
        let expression = format!("{}*{}", "1+".repeat(40), "+2".repeat(40));
        let expected = format!("At character 81: …{}>>>*<<<{}…", "1+".repeat(15), "+2".repeat(15));
        assert_eq!(place(&expression, &(80..81)), expected);
        let all = place(&expression, &(0..161));
        assert!(all.chars().count() < 100, "{all}");
    }
}
