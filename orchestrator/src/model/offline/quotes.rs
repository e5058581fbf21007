//! Sets what a person quoted aside, so that it is neither read as a wish nor cut in pieces.
//!
//! Each quoted text is replaced by one character that no keyboard makes; later stages see it as one
//! word. So are the rest of a line behind `run:` and the rest of a text behind `content:`.

use super::{phrases, words};

/// First of the characters that stand for quoted texts (Unicode's private use area).
const FIRST_MARK: u32 = 0xe000;
/// More quoted texts than that stay as they are.
const MOST: usize = 1_000;

const PAIRS: &[(&str, &str)] = &[
    ("```", "```"),
    ("`", "`"),
    ("\"", "\""),
    ("“", "”"),
    ("「", "」"),
    ("『", "』"),
    ("«", "»"),
    ("‘", "’"),
    ("《", "》"),
    ("'", "'"),
];

/// Words before a colon behind which a command stands.
const COMMANDS: &str = "run, execute, command, run this, execute this, for me, run the following, execute the following, \
    in the shell, in the terminal, 运行, 执行, 命令, 运行命令, 执行命令, 运行这个, 执行这个, 运行下面这个, 运行如下, 执行如下";
/// Words before a colon behind which the content of a file stands.
const CONTENTS: &str = "into it, in it, to it, contain exactly, exactly, 写上, 写着, content, contents, text, following, 内容, 内容为, 内容是, 内容如下, 文字, 写入, 如下";

/// One quoted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quote {
    /// What is between the marks.
    pub(super) inner: String,
    /// With its marks, as it was written.
    outer: String,
    pub(super) kind: Kind,
}

/// How it was set apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Quoted,
    /// In backquotes, as programs and code are.
    Code,
    /// Behind `run:`.
    Command,
    /// Behind `content:`.
    Content,
}

/// A text with its quotes set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Masked {
    pub(super) text: String,
    pub(super) quotes: Vec<Quote>,
}

impl Masked {
    pub(super) fn new(text: &str) -> Self {
        let mut masked = Self { text: String::with_capacity(text.len()), quotes: Vec::new() };
        // A mark that is closed nowhere behind one place is not looked for again behind the next.
        let mut unclosed = [false; PAIRS.len()];
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let before = masked.text.chars().next_back();
            let found = quoted(rest, before, &mut unclosed).filter(|_| masked.quotes.len() < MOST);
            if let Some((open, inner, length)) = found {
                let kind = if open.starts_with('`') { Kind::Code } else { Kind::Quoted };
                let inner = if open == "```" { fenced(inner) } else { inner };
                masked.push(inner.to_owned(), rest[..length].to_owned(), kind);
                rest = &rest[length..];
            } else {
                masked.text.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        masked.set_tail_aside();
        masked
    }

    /// The quote that a character stands for.
    pub(super) fn quote(&self, mark: char) -> Option<&Quote> {
        let index = u32::from(mark).checked_sub(FIRST_MARK)?;
        self.quotes.get(usize::try_from(index).ok()?)
    }

    /// A part of the text as it was written.
    pub(super) fn unmask(&self, part: &str) -> String {
        let mut text = String::with_capacity(part.len());
        for character in part.chars() {
            match self.quote(character) {
                Some(quote) => text.push_str(&quote.outer),
                None => text.push(character),
            }
        }
        text
    }

    /// What a part of the text says: a quote alone without its marks, else as it was written.
    pub(super) fn said(&self, part: &str) -> String {
        let part = part.trim();
        let mut characters = part.chars();
        match (characters.next().and_then(|mark| self.quote(mark)), characters.next()) {
            (Some(quote), None) => quote.inner.clone(),
            _ => self.unmask(part),
        }
    }

    fn push(&mut self, inner: String, outer: String, kind: Kind) {
        let mark = u32::try_from(self.quotes.len())
            .ok()
            .and_then(|index| char::from_u32(FIRST_MARK + index));
        self.text.push(mark.unwrap_or(' '));
        self.quotes.push(Quote { inner, outer, kind });
    }

    /// A command or a content may look like anything, so it is taken out whole.
    fn set_tail_aside(&mut self) {
        let text = std::mem::take(&mut self.text);
        let found = text.char_indices().filter(|(_, character)| matches!(character, ':' | '：'));
        let found = found.filter_map(|(at, colon)| {
            let before = text[..at].trim_end();
            let ends = |list: &str| words::each(list).any(|phrase| ends_with_word(before, phrase));
            let start = at + colon.len_utf8();
            // `write this to x.txt: …`
            let target =
                before.rsplit(|one: char| one.is_whitespace() || words::is_han(one)).next();
            let is_target = target.is_some_and(super::tokens::has_extension)
                || before.chars().next_back().and_then(|mark| self.quote(mark)).is_some();
            let is_into = is_target && words::has_any(before, phrases::WRITE);
            if !ends(COMMANDS) && (ends(CONTENTS) || is_into) {
                return Some((start, text.len(), Kind::Content));
            }
            let line = text[start..].find('\n').map_or(text.len(), |end| start + end);
            ends(COMMANDS).then_some((start, line, Kind::Command))
        });
        let Some((start, end, kind)) = found.into_iter().next() else {
            self.text = text;
            return;
        };
        let tail = text[start..end].trim();
        let inner = if kind == Kind::Content { self.said(tail) } else { self.unwrapped(tail) };
        let outer = self.unmask(tail);
        self.text = text[..start].to_owned();
        if !inner.is_empty() {
            self.text.push(' ');
            self.push(inner, outer, kind);
        }
        self.text.push_str(&text[end..]);
    }

    /// A command that is one quote as a whole is what is in the quote.
    fn unwrapped(&self, tail: &str) -> String {
        let mut characters = tail.chars();
        let first = characters.next().and_then(|mark| self.quote(mark));
        match first.filter(|_| characters.as_str().trim_matches(['.', '。']).is_empty()) {
            Some(quote) => quote.inner.clone(),
            None => self.unmask(tail),
        }
    }
}

/// The quote that a text begins with: its opening mark, its content, its whole length.
fn quoted<'a>(
    text: &'a str,
    before: Option<char>,
    unclosed: &mut [bool; PAIRS.len()],
) -> Option<(&'static str, &'a str, usize)> {
    let at =
        PAIRS.iter().position(|(open, _)| text.starts_with(open)).filter(|at| !unclosed[*at])?;
    let (open, close) = &PAIRS[at];
    let body = &text[open.len()..];
    // An apostrophe is no quote: `what's`, `users' files`.
    let is_apostrophe = *open == "'"
        && (before.is_some_and(char::is_alphanumeric) || body.starts_with(char::is_whitespace));
    if is_apostrophe {
        return None;
    }
    let ends = body.match_indices(close).map(|(end, _)| end);
    let end = ends.into_iter().find(|end| {
        let after = body[end + close.len()..].chars().next();
        *close != "'" || !after.is_some_and(|after| after.is_ascii_alphanumeric())
    });
    unclosed[at] = end.is_none();
    let end = end?;
    let inner = &body[..end];
    let is_one_line = !inner.contains('\n') || *open == "```" || *open == "“" || *open == "「";
    (!inner.is_empty() && is_one_line).then_some((*open, inner, open.len() + end + close.len()))
}

/// A block without the name of its language.
fn fenced(inner: &str) -> &str {
    match inner.split_once('\n') {
        Some((language, code)) if !language.trim().contains(' ') => code.trim_end_matches('\n'),
        _ => inner.trim(),
    }
}

fn ends_with_word(text: &str, phrase: &str) -> bool {
    let tail = text.len().checked_sub(phrase.len()).filter(|at| text.is_char_boundary(*at));
    tail.is_some_and(|at| {
        let before = text[..at].chars().next_back();
        let cuts = phrase.is_ascii() && before.is_some_and(|before| before.is_ascii_alphanumeric());
        !cuts && words::has(&text[at..], phrase)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, Kind)]) -> Masked {
        let masked = Masked::new(text);
        let quotes: Vec<_> =
            masked.quotes.iter().map(|quote| (quote.inner.as_str(), quote.kind)).collect();
        assert_eq!(quotes, expected, "{text}");
        masked
    }

    #[test]
    fn quotes_of_every_form_are_set_aside() {
        check("Write \"a, b\" to x.txt", &[("a, b", Kind::Quoted)]);
        check("把“明天，开会”写入 todo.txt", &[("明天，开会", Kind::Quoted)]);
        check("Which files mention 'fencing'?", &[("fencing", Kind::Quoted)]);
        check("What's in the users' folder? It's here", &[]);
        check("Run `ls -la` and 'wc -l'", &[("ls -la", Kind::Code), ("wc -l", Kind::Quoted)]);
        check("Say ```sh\necho hi\n```", &[("echo hi", Kind::Code)]);
        check("an open \"quote", &[]);
    }

    #[test]
    fn commands_and_contents_are_taken_whole() {
        check(
            "Run: echo 'a b' && ls, then go",
            &[("a b", Kind::Quoted), ("echo 'a b' && ls, then go", Kind::Command)],
        );
        check("运行：`uname -s`", &[("uname -s", Kind::Code), ("uname -s", Kind::Command)]);
        check(
            "Save as a.md with the content: Buy milk, then\nread it",
            &[("Buy milk, then\nread it", Kind::Content)],
        );
        check("The rerun: no", &[]);
    }

    #[test]
    fn parts_come_back_as_they_were_written() {
        let masked = check("echo 'a b' \"c\"", &[("a b", Kind::Quoted), ("c", Kind::Quoted)]);
        assert_eq!(masked.unmask(&masked.text), "echo 'a b' \"c\"");
        let mark = masked.text.chars().nth(5).unwrap().to_string();
        assert_eq!(masked.said(&mark), "a b");
    }
}
