//! What a search is for: the words that are looked for in files, or the name of a file.

use super::{
    clause::Clause,
    folders, phrases as p,
    tokens::{Kind, Token},
    words::{self, is_han},
};

/// Behind these the place follows and the words that are looked for end.
const PLACE: &[&str] = &[
    " in the",
    " in",
    " under",
    " inside",
    " within",
    " below",
    " across",
    " throughout",
    " anywhere",
    " among",
    " from the",
];
/// Before the words that are looked for.
const ARTICLES: &str = "the words, the word, the text, the string, the phrase, the term, the function, \
    the keyword, the name, all occurrences of, occurrences of, for, the, word, text, any, \
    关键词, 关键字, 字符串, 单词, 文字, 文本, 内容, 词语, 词, 函数, 了, 过, ：, :";
/// Behind them.
const TAILS: &str = "的所有文件, 的文件, 的地方, 的位置, 的行, 这个词, 一词, 这个单词, 这个字符串, 这几个字, \
    吗, 呢, 的, ？, ?, 。, ., !, please, 有哪些, 是哪些, 在哪里, 了, 文件";

/// The words that are looked for.
pub(super) fn query(clause: &Clause<'_>) -> Option<String> {
    quoted(clause).or_else(|| between(clause)).or_else(|| behind(clause)).filter(|query| {
        // A question about nothing in particular is no search.
        query.chars().any(char::is_alphanumeric) || query.chars().any(|one| !one.is_whitespace())
    })
}

/// A quote that names neither file nor folder.
fn quoted(clause: &Clause<'_>) -> Option<String> {
    let named: Vec<usize> = clause.places.named().collect();
    let quotes = clause.tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Quote);
    let free = quotes.clone().find(|(at, _)| !named.contains(at));
    // A quoted file name may be what is looked for, where nothing else is.
    free.or_else(|| quotes.into_iter().next().filter(|_| clause.places.folder.is_none()))
        .map(|(_, token)| token.text.clone())
}

/// `where is X used`, `X 出现在哪些文件`.
fn between(clause: &Clause<'_>) -> Option<String> {
    let text = clause.text;
    let start = words::find_any(text, p::WHERE).map(|(_, end)| end).or_else(|| {
        // `in which files of the folder does X appear`
        let (_, from) = words::find_any(text, "which file*, what file*")?;
        let (_, end) = words::find_any(&text[from..], "does, do, is, are")?;
        Some(from + end)
    });
    let (start, is_question) = (start.unwrap_or(0), start.is_some());
    let (end, _) = words::find_any(&text[start..], p::STANDS)?;
    let inner = text[start..start + end].trim();
    if !is_question && !inner.chars().any(is_han) && text.is_ascii() {
        return None;
    }
    cleaned(without_place(without_articles(inner), clause))
}

/// What follows the verb, up to the place.
fn behind(clause: &Clause<'_>) -> Option<String> {
    let text = clause.text;
    let (_, start) = [p::MENTION, p::SEARCH].iter().find_map(|set| words::find_any(text, set))?;
    let rest = without_articles(&text[start..]);
    cleaned(without_place(rest, clause))
}

fn without_articles(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(end) =
        words::each(ARTICLES).find_map(|article| match words::find(rest, article) {
            Some((0, end)) => Some(end),
            _ => None,
        })
    {
        rest = rest[end..].trim_start();
    }
    rest
}

/// Without "in the folder …", where a folder was found there.
fn without_place<'a>(text: &'a str, clause: &Clause<'_>) -> &'a str {
    let places = &clause.places;
    if places.folder.is_none() && places.pattern.is_none() && places.files.is_empty() {
        return text;
    }
    let cut =
        PLACE.iter().filter_map(|word| words::find(text, word.trim_start()).map(|(at, _)| at));
    let cut = cut.filter(|at| *at > 0).min().unwrap_or(text.len());
    // In Chinese the place stands before: `在 docs 下 超时`.
    let kept = &text[..cut];
    match clause.places.folder().and_then(|folder| Some(kept.rfind(folder)? + folder.len())) {
        Some(end) if kept[end..].chars().any(char::is_alphanumeric) => {
            let behind = kept[end..].trim_start_matches('/').trim_start();
            let places = ["目录", "文件夹", "下面", "里面", "下", "里", "中", "内"];
            places.iter().fold(behind, |text, place| text.strip_prefix(place).unwrap_or(text))
        }
        _ => kept,
    }
}

fn cleaned(text: &str) -> Option<String> {
    let mut text = text.trim();
    loop {
        let before = text;
        for tail in words::each(TAILS) {
            let is_word = tail.is_ascii() && tail.bytes().all(|byte| byte.is_ascii_alphabetic());
            if let Some(kept) = text.strip_suffix(tail)
                && (!is_word || kept.ends_with(' '))
            {
                text = kept.trim_end();
            }
        }
        text = text.trim_matches(['"', '\'', ',', '，', ' ']);
        if text == before {
            break;
        }
    }
    (!text.is_empty()).then(|| text.to_owned())
}

/// The name of a file that is looked for, as a glob.
pub(super) fn name(clause: &Clause<'_>) -> Option<String> {
    if let Some((_, end)) = words::find_any(clause.text, p::NAMED) {
        // What is called so may be the folder.
        let token = next_word(&clause.tokens, end)?;
        let folder = clause.places.folder.as_ref().and_then(|folder| clause.tokens.get(folder.at?));
        let is_folder = folder.is_some_and(|folder| folder.start == token.start);
        return (!is_folder).then(|| token.text.clone());
    }
    let (_, end) = words::find_any(clause.text, p::NAME_HOLDS)?;
    let is_start = clause.says("starting with");
    let token = next_word(&clause.tokens, end).or_else(|| quoted_before(clause, end))?;
    Some(if is_start { format!("{}*", token.text) } else { format!("*{}*", token.text) })
}

fn next_word(tokens: &[Token], from: usize) -> Option<&Token> {
    tokens
        .iter()
        .find(|token| token.start >= from && token.kind != Kind::Han)
        .filter(|token| !folders::is_article(token))
}

/// `with "x" in the name`.
fn quoted_before<'a>(clause: &'a Clause<'_>, end: usize) -> Option<&'a Token> {
    clause.tokens.iter().rev().find(|token| token.end <= end && token.kind == Kind::Quote)
}
