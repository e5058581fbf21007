//! Cuts a text to a number of characters, never inside one, and counts exactly.

/// The beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// What is shown.
    pub(super) text: &'a str,
    /// Characters that are shown.
    pub(super) characters: usize,
    /// Whether there is more.
    pub(super) is_cut: bool,
}

/// The first `limit` characters; a line break at the very end of a cut goes with the rest.
pub(super) fn cut(text: &str, limit: usize) -> Piece<'_> {
    match text.char_indices().nth(limit) {
        None => Piece { text, characters: text.chars().count(), is_cut: false },
        Some((end, _)) => Piece { text: &text[..end], characters: limit, is_cut: true },
    }
}

/// Lines of a text, an unterminated last one included.
pub(super) fn lines(text: &str) -> usize {
    text.lines().count()
}

/// A number with its thousands set apart: `35,120`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cut_never_falls_inside_a_character() {
        let text = "aé漢😀z";
        for (limit, shown, is_cut) in [
            (0, "", true),
            (2, "aé", true),
            (3, "aé漢", true),
            (4, "aé漢😀", true),
            (5, text, false),
            (9, text, false),
        ] {
            let piece = cut(text, limit);
            assert_eq!((piece.text, piece.is_cut), (shown, is_cut), "{limit}");
            assert_eq!(piece.characters, shown.chars().count());
        }
    }

    #[test]
    fn counts_are_exact() {
        assert_eq!(
            [0, 999, 1_000, 35_120, 1_234_567].map(grouped),
            ["0", "999", "1,000", "35,120", "1,234,567"]
        );
        assert_eq!(["", "a", "a\n", "a\nb", "\n"].map(lines), [0, 1, 1, 2, 1]);
    }

    proptest! {
        #[test]
        fn a_cut_is_a_prefix_of_the_asked_length(text in "\\PC{0,40}", limit in 0..50_usize) {
            let piece = cut(&text, limit);
            prop_assert!(text.starts_with(piece.text));
            prop_assert_eq!(piece.text.chars().count(), text.chars().count().min(limit));
            prop_assert_eq!(piece.is_cut, text.chars().count() > limit);
        }
    }
}
