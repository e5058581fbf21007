//! A change of text as a person judges it: a unified diff that hides nothing and is the same
//! whenever it is made of the same texts. What is around it in a preview is in `replace/plan.rs`.

use memchr::memchr_iter;
use similar::{Algorithm, ChangeTag, TextDiff};

use crate::shown::line;

/// Lines around a change.
const CONTEXT: usize = 3;
/// Most pairs of lines that are compared: beyond that, all lines are taken for changed. A limit in
/// time would make the diff another one each time.
const MOST_PAIRS: usize = 16_000_000;
/// Most lines and bytes of a diff that are shown; nobody reads more.
const MOST_LINES: usize = 1_000;
const MOST_BYTES: usize = 64 * 1024;
/// Most bytes of one line.
const LONGEST: usize = 2_000;

/// How one text becomes another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    /// Hunks of a unified diff, control and invisible characters escaped.
    pub(crate) text: String,
    /// Lines taken away.
    pub(crate) removed: u64,
    /// Lines that are new.
    pub(crate) added: u64,
    /// Lines of the diff that are not in `text`.
    pub(crate) folded: u64,
    /// Whether `text` holds lines that are not shown to their end.
    pub(crate) is_cut: bool,
}

impl Diff {
    pub(crate) fn of(old: &str, new: &str) -> Self {
        let mut diff = Self::default();
        let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
        let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
        // Equal beginnings and ends are set aside first, so that only the rest counts.
        let same = |(old, new): &(&&str, &&str)| old == new;
        let before = old_lines.iter().zip(&new_lines).take_while(same).count();
        let (gone, come) = (&old_lines[before..], &new_lines[before..]);
        let after = gone.iter().rev().zip(come.iter().rev()).take_while(same).count();
        let (gone, come) = (&gone[..gone.len() - after], &come[..come.len() - after]);
        if gone.len().saturating_mul(come.len()) <= MOST_PAIRS {
            diff.compared(old, new);
        } else {
            diff.replaced(before, gone, come);
        }
        diff
    }

    fn compared(&mut self, old: &str, new: &str) {
        let compared = TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(old, new);
        for hunk in compared.unified_diff().context_radius(CONTEXT).iter_hunks() {
            self.show(&hunk.header().to_string());
            for change in hunk.iter_changes() {
                match change.tag() {
                    ChangeTag::Equal => self.push(' ', change.value()),
                    ChangeTag::Delete => self.remove(change.value()),
                    ChangeTag::Insert => self.add(change.value()),
                }
            }
        }
    }

    /// Everything between the common beginning and end goes, everything new comes.
    fn replaced(&mut self, before: usize, gone: &[&str], come: &[&str]) {
        let start = before + 1;
        self.show(&format!("@@ -{start},{} +{start},{} @@", gone.len(), come.len()));
        for line in gone {
            self.remove(line);
        }
        for line in come {
            self.add(line);
        }
    }

    fn remove(&mut self, text: &str) {
        self.removed += 1;
        self.push('-', text);
    }

    fn add(&mut self, text: &str) {
        self.added += 1;
        self.push('+', text);
    }

    fn push(&mut self, sign: char, text: &str) {
        let (text, end) = match text.strip_suffix('\n') {
            Some(text) => (text, ""),
            None => (text, "\n\\ No newline at end of file"),
        };
        let head = &text[..text.floor_char_boundary(LONGEST)];
        let cut = if head.len() < text.len() { "…" } else { "" };
        self.is_cut |= head.len() < text.len();
        self.show(&format!("{sign}{}{cut}{end}", line(head.as_bytes())));
    }

    fn show(&mut self, line: &str) {
        // What comes after the first line that is left out is left out too.
        if self.folded == 0
            && self.text.len() + line.len() < MOST_BYTES
            && memchr_iter(b'\n', self.text.as_bytes()).count() < MOST_LINES
        {
            self.text.push_str(line);
            self.text.push('\n');
        } else {
            self.folded += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn lines(numbers: Range<usize>) -> String {
        numbers.map(|number| format!("line {number}\n")).collect::<Vec<_>>().concat()
    }

    #[test]
    fn a_change_is_shown_with_its_surroundings() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let new = "a\nb\nc\nd\nE\nf\ng\nh\ni";
        let text = "@@ -2,7 +2,8 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n+i\n\
                    \\ No newline at end of file\n";
        let expected = Diff { text: text.to_owned(), removed: 1, added: 2, ..Diff::default() };
        assert_eq!(Diff::of(old, new), expected);
    }

    #[test]
    fn a_new_file_is_all_added_and_the_same_text_is_no_change() {
        let diff = Diff::of("", "x\ny\n");
        assert_eq!((diff.text.as_str(), diff.added), ("@@ -0,0 +1,2 @@\n+x\n+y\n", 2));
        assert_eq!(Diff::of("x\n", "x\n"), Diff::default());
        assert_eq!(Diff::of("", ""), Diff::default());
    }

    #[test]
    fn what_hides_in_a_line_is_shown() {
        let diff = Diff::of("", "a\u{202e}b\x1b[0m\tc\r\n");
        assert_eq!(diff.text, "@@ -0,0 +1 @@\n+a\\u{202e}b\\u{1b}[0m\tc\\u{d}\n");
    }

    #[test]
    fn a_long_diff_is_folded_and_counted() {
        let new = lines(0..5_000);
        let diff = Diff::of("", &new);
        assert_eq!(diff.text.lines().count(), 1_000);
        assert_eq!((diff.added, diff.folded), (5_000, 4_001));
    }

    #[test]
    fn a_very_long_line_is_cut_between_characters() {
        let diff = Diff::of("", &"中".repeat(1_000));
        assert!(diff.is_cut);
        let shown = format!("+{}…", "中".repeat(666));
        assert_eq!(diff.text.lines().nth(1), Some(shown.as_str()));
    }

    #[test]
    fn texts_too_long_to_compare_are_replaced_as_a_whole() {
        let old = "same\n".to_owned() + &lines(0..5_000);
        let new = "same\n".to_owned() + &lines(2_500..7_500);
        let diff = Diff::of(&old, &new);
        assert_eq!((diff.removed, diff.added), (5_000, 5_000));
        assert!(
            diff.text.starts_with("@@ -2,5000 +2,5000 @@\n-line 0\n-line 1\n"),
            "{}",
            &diff.text[..60]
        );
    }
}
