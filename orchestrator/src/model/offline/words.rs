//! Letters and words of two languages. What the words mean is decided in `intent.rs`.

/// The language of a question, and so of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Chinese,
}

impl Language {
    /// One of two wordings.
    pub(super) fn pick<'a>(self, english: &'a str, chinese: &'a str) -> &'a str {
        match self {
            Self::English => english,
            Self::Chinese => chinese,
        }
    }
}

/// Whether a character is a Chinese one.
pub(super) fn is_han(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Input methods give full-width digits, signs and brackets; these become plain ones, one for one.
/// Signs that end or divide sentences stay, for they mean more than their plain forms.
pub(super) fn plain(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\u{3000}' | '\u{a0}' => ' ',
            '，' | '；' | '？' | '！' => character,
            '\u{ff01}'..='\u{ff5e}' => {
                char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character)
            }
            '−' | '–' => '-',
            '∕' => '/',
            '’' => '\'',
            '【' => '[',
            '】' => ']',
            other => other,
        })
        .collect()
}

/// Whether a phrase occurs: Chinese anywhere, others as whole words whatever their case. A star at
/// the end stands for the rest of a word.
pub(super) fn has(text: &str, phrase: &str) -> bool {
    find(text, phrase).is_some()
}

/// The phrases of a list: they are written in one text, with commas between them.
pub(super) fn each(list: &str) -> impl Iterator<Item = &str> + Clone {
    list.split(", ").filter(|phrase| !phrase.is_empty())
}

/// Whether one of the phrases of a list occurs.
pub(super) fn has_any(text: &str, list: &str) -> bool {
    each(list).any(|phrase| has(text, phrase))
}

/// Where a phrase occurs first: its beginning and its end.
pub(super) fn find(text: &str, phrase: &str) -> Option<(usize, usize)> {
    let (wanted, is_open) = match phrase.strip_suffix('*') {
        Some(wanted) => (wanted, true),
        None => (phrase, false),
    };
    let starts_as_word = wanted.starts_with(|first: char| first.is_ascii_alphanumeric());
    let ends_as_word = wanted.ends_with(|last: char| last.is_ascii_alphanumeric()) && !is_open;
    let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let (bytes, length) = (text.as_bytes(), wanted.len());
    let mut from = 0;
    while let Some(at) = find_ignoring_case(&bytes[from..], wanted.as_bytes()) {
        let (start, end) = (from + at, from + at + length);
        let begins = !starts_as_word || start == 0 || !is_letter(bytes.get(start - 1));
        if begins && !(ends_as_word && is_letter(bytes.get(end))) {
            return Some((start, end));
        }
        from = start + 1;
    }
    None
}

/// The earliest of the phrases of a list; of those that begin together, the longest.
pub(super) fn find_any(text: &str, list: &str) -> Option<(usize, usize)> {
    let found = each(list).filter_map(|phrase| find(text, phrase));
    found.min_by_key(|(start, end)| (*start, usize::MAX - *end))
}

/// Whether a text occurs anywhere, whatever its case.
pub(super) fn occurs(text: &str, wanted: &str) -> bool {
    find_ignoring_case(text.as_bytes(), wanted.as_bytes()).is_some()
}

fn find_ignoring_case(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let last = bytes.len().checked_sub(wanted.len())?;
    // Hundreds of phrases are looked for: most places are passed over by their first byte.
    let mut at = 0;
    while at <= last {
        let byte = bytes[at];
        let is_first = byte == lower || byte == upper;
        if is_first && bytes[at..at + wanted.len()].eq_ignore_ascii_case(wanted) {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_whole_words_in_english_and_anywhere_in_chinese() {
        let rows = [
            ("How many Lines are there", "lines", true),
            ("deadlines are near", "lines", false),
            ("multilines", "line", false),
            ("count the headings", "head*", true),
            ("统计一下行数", "行数", true),
            ("行 数", "行数", false),
            ("what's in docs", "what's in", true),
            ("", "lines", false),
        ];
        for (text, phrase, expected) in rows {
            assert_eq!(has(text, phrase), expected, "{phrase} in {text}");
        }
    }

    #[test]
    fn full_width_signs_become_plain_and_sentences_keep_theirs() {
        assert_eq!(plain("（３＋４）×２．５，好吗？"), "(3+4)×2.5，好吗？");
    }

    #[test]
    fn the_earliest_phrase_wins_and_then_the_longest() {
        assert_eq!(find_any("a plus b times c", "times, plus"), Some((2, 6)));
        assert_eq!(find_any("除以三", "除, 除以"), Some((0, 6)));
    }
}
