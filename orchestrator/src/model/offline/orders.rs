//! Orders that change something: a file to write, a command to run.

use super::{
    clause::Clause,
    goals::{Content, Goal},
    phrases as p, quotes,
    tokens::{Kind, Token},
    words::{self, is_han},
};

/// Before a content that is not quoted.
const ARTICLES: &str = "named, called, 名为, 叫做, the text, the word, the words, the line, the string, the sentence, the phrase, with, a file, a new file, new file, file, 文字, \
    文本, 一个, 一份, 文件, 新文件";

/// Before a content, unless they speak of something else's: `the number of lines of a.md`.
const NOUNS: &str = "the number, the numbers, the digits, the digit, the value, the letter, the letters, the name, 数字, 单词, 字符串, 词语";

/// Before a name that need not look like one.
const FILE: &str = "to the file, to file, into the file, into file, in the file, in file, as the file, \
    as file, to a file named, to a file called, into a file called, in a file called, in a file named";

/// A file to write, and with what.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) path: String,
    pub(super) content: Content,
    /// The words of the content, if they are neither quoted nor set apart: they may speak of
    /// something that has to be found out first.
    pub(super) words: Option<String>,
}

/// The order to write a file. What is to be written is a text unless words say that it has to be found
/// out: `write 12 + 3 to a.txt` writes these signs, `write the result of 12 + 3 to a.txt` the sum.
pub(super) fn write(clause: &Clause<'_>) -> Option<Order> {
    if clause.says("写了什么, 写着什么, 写的什么, 写的是什么, 写了些什么, 写些什么")
    {
        return None;
    }
    let (_, verb_end) = words::find_any(&clause.bare, p::WRITE)?;
    let target = target(clause, verb_end)?;
    let path = target.text.clone();
    if let Some(text) = quoted(clause, target) {
        return Some(Order { path, content: Content::Text(text), words: None });
    }
    let is_empty = clause.says("empty file, blank file, 空文件, 空的文件, 空白文件");
    let content =
        if is_empty { Content::Text(String::new()) } else { content(clause, target, verb_end)? };
    let words = match &content {
        Content::Text(text) => Some(text.clone()),
        Content::Last => None,
    };
    Some(Order { path, content, words })
}

/// A content that is quoted or set apart; the latter may stand in a clause of its own.
fn quoted(clause: &Clause<'_>, target: &Token) -> Option<String> {
    let mut quotes = clause.tokens.iter().filter(|token| token.kind == Kind::Quote);
    if let Some(quote) = quotes.find(|token| token.start != target.start) {
        return Some(quote.text.clone());
    }
    let mut quotes = clause.masked.quotes.iter();
    quotes.find(|quote| quote.kind == quotes::Kind::Content).map(|quote| quote.inner.clone())
}

/// The file that is written to: the one behind "to", else the first one.
fn target<'a>(clause: &'a Clause<'_>, verb_end: usize) -> Option<&'a Token> {
    let files: Vec<&Token> =
        clause.places.files.iter().filter_map(|(at, _)| clause.tokens.get(*at)).collect();
    let is_behind = |token: &Token, list: &str| {
        let before = clause.bare[..token.start].trim_end();
        words::each(list).any(|phrase| {
            let at = before.len().checked_sub(phrase.len());
            at.filter(|at| before.is_char_boundary(*at))
                .is_some_and(|at| words::find(&before[at..], phrase).is_some())
        })
    };
    // A content may speak of files, too; it comes behind its own word.
    let limit = words::find_any(&clause.bare, p::CONTAINING).map_or(usize::MAX, |(at, _)| at);
    let into = files.iter().rev().copied().find(|token| is_behind(token, p::INTO));
    let first = files.iter().copied().find(|token| token.start < limit);
    let quoted = clause.tokens.iter().find(|token| {
        token.kind == Kind::Quote && is_behind(token, p::INTO) && !token.text.contains(' ')
    });
    // `in the file total`: what stands there is a name, whatever it looks like.
    let named = clause.tokens.iter().find(|token| {
        token.kind == Kind::Word && is_behind(token, FILE) && !is_polite(&token.text)
    });
    let chosen =
        if limit < verb_end { into.or(first) } else { first.filter(|_| into.is_none()).or(into) };
    chosen.or(quoted).or_else(|| files.first().copied()).or(named)
}

/// A content in plain words, or what was found before.
fn content(clause: &Clause<'_>, target: &Token, verb_end: usize) -> Option<Content> {
    if let Some((_, end)) = words::find_any(&clause.bare, p::CONTAINING) {
        let until =
            if target.start > end { into_before(clause, target.start) } else { clause.text.len() };
        return said(clause, clause.text.get(end..until)?);
    }
    // `write X to PATH`, `把 X 写入 PATH`.
    let from = match words::find_any(clause.text, "把, 将") {
        Some((_, end)) if end <= target.start => end,
        _ => verb_end,
    };
    let until = into_before(clause, target.start);
    // `PATH 写入 X`
    let behind =
        clause.text[target.end.max(verb_end)..].trim_start_matches([' ', ':', '：', ',', '，']);
    if until > from {
        let part = said(clause, &clause.text[from..until]);
        // `save this to PATH: X`
        let points_on = matches!(part, None | Some(Content::Last)) && !behind.is_empty();
        return if points_on { said(clause, behind) } else { part };
    }
    said(clause, behind).or(Some(Content::Last))
}

/// Where the word before the path begins.
fn into_before(clause: &Clause<'_>, path: usize) -> usize {
    let before = clause.bare[..path].trim_end();
    let found = words::each(p::INTO).filter_map(|phrase| {
        let at = before.len().checked_sub(phrase.len())?;
        (before.is_char_boundary(at) && words::find(&before[at..], phrase).is_some()).then_some(at)
    });
    found.min().unwrap_or(before.len())
}

fn said(clause: &Clause<'_>, part: &str) -> Option<Content> {
    let part = part.trim_matches([' ', ':', '：', ',', '，']);
    let mut part = part;
    while let Some(rest) = without_article(part) {
        part = rest;
    }
    // A point behind the name of a file is no content.
    let is_sign = |one: char| one.is_ascii_punctuation() || "。！？".contains(one);
    if !part.is_empty() && part.chars().all(is_sign) && part.chars().count() == 1 {
        return None;
    }
    if part.is_empty() || words::each(p::RESULT).any(|word| part.eq_ignore_ascii_case(word)) {
        return Some(Content::Last).filter(|_| !part.is_empty());
    }
    Some(Content::Text(clause.masked.said(part)))
}

/// What is left of a content behind a word that only says what kind of thing it is.
fn without_article(part: &str) -> Option<&str> {
    let is_other = |rest: &str| {
        rest.starts_with('的')
            || words::each("of, count, counts")
                .any(|word| matches!(words::find(rest, word), Some((0, _))))
    };
    let behind = |list: &'static str| {
        words::each(list).find_map(|article| match words::find(part, article) {
            Some((0, end)) => Some(part[end..].trim()).filter(|rest| !is_other(rest)),
            _ => None,
        })
    };
    behind(ARTICLES).or_else(|| behind(NOUNS).filter(|rest| !rest.is_empty()))
}

/// Whether a text begins with the order to run something.
pub(super) fn is_command(text: &str) -> bool {
    words::find_any(text, p::RUN)
        .is_some_and(|(start, _)| text[..start].split_whitespace().all(is_polite))
}

/// A command to run.
pub(super) fn run(clause: &Clause<'_>) -> Option<Goal> {
    let is_here = |kind| {
        clause.tokens.iter().find_map(|token| {
            let mark = clause.text[token.start..].chars().next()?;
            clause.masked.quote(mark).filter(|quote| quote.kind == kind)
        })
    };
    if let Some(quote) = is_here(quotes::Kind::Command) {
        return Some(Goal::Run(quote.inner.clone()));
    }
    let code = is_here(quotes::Kind::Code);
    let starts = clause.says("start, launch, invoke, running, executing, 启动, 跑");
    if let Some(code) = code.filter(|_| starts || asks_for_output(clause)) {
        return Some(Goal::Run(code.inner.clone()));
    }
    let (start, end) = words::find_any(&clause.bare, p::RUN)?;
    if !clause.text[..start].split_whitespace().all(is_polite) {
        return None;
    }
    if let Some(code) = code {
        return Some(Goal::Run(code.inner.clone()));
    }
    let rest = without_lead(&clause.text[end..]);
    let command = clause.masked.said(without_tail(rest));
    let first = command.split_whitespace().next()?;
    let is_loop = command.starts_with("for ") && command.contains("; do ");
    let is_program = first.starts_with(|one: char| {
        one.is_ascii_alphanumeric() || matches!(one, '.' | '/' | '~' | '_')
    }) && (is_loop
        || !words::each(p::NO_COMMANDS).any(|word| first.eq_ignore_ascii_case(word)))
        && !first.bytes().all(|byte| byte.is_ascii_digit());
    is_program.then_some(Goal::Run(command))
}

/// `What does … print?`
fn asks_for_output(clause: &Clause<'_>) -> bool {
    clause.says(
        "print, prints, output of, result of, return, returns, say, \
                        give, 输出, 结果, 返回, 命令",
    ) && clause.places.files.is_empty()
}

fn is_polite(word: &str) -> bool {
    // `用shell执行`: both languages in one word.
    let mut parts = word.split(|one: char| is_han(one) || matches!(one, ',' | '，' | ':'));
    parts.all(|part| {
        part.is_empty() || words::each(p::BEFORE_RUN).any(|known| part.eq_ignore_ascii_case(known))
    })
}

/// Without "the command" and the like.
fn without_lead(text: &str) -> &str {
    let mut rest = text.trim_start_matches([' ', ':', '：']);
    while let Some(end) = words::each(p::AFTER_RUN).find_map(|lead| match words::find(rest, lead) {
        Some((0, end)) => Some(end),
        _ => None,
    }) {
        rest = rest[end..].trim_start_matches([' ', ':', '：']);
    }
    rest
}

/// Without what is said about the command.
fn without_tail(text: &str) -> &str {
    const TAILS: &str = "in the shell, in the terminal, in a shell, in a terminal, for me, please, \
    on this machine, 这个命令, 这条命令, 命令";
    const BEHIND: &str = "看看, 看一下, 看结果, 并告诉, 告诉我, 把结果, 把输出, 给我";
    let mut kept = text.trim().trim_end_matches(['。', '?', '？', '!', '！']);
    if kept.ends_with('.')
        && !kept.ends_with(" .")
        && !kept.ends_with("..")
        && !kept.ends_with("/.")
    {
        kept = &kept[..kept.len() - 1];
    }
    // `运行ls看看结果`: a command ends where Chinese follows without a space.
    let bytes = kept.as_bytes();
    let is_joint = |at: &usize| *at > 0 && bytes[*at - 1].is_ascii_alphanumeric();
    let joint = words::each(BEHIND).filter_map(|word| kept.find(word)).filter(is_joint).min();
    kept = kept[..joint.unwrap_or(kept.len())].trim_end();
    while let Some(shorter) = words::each(TAILS).find_map(|tail| kept.strip_suffix(tail)) {
        kept = shorter.trim_end_matches([' ', ',', '，']);
    }
    kept
}
