//! What a search is for: the words that are looked for in files, or the name of a file.

use super::{
    clause::Clause,
    folders, pattern, phrases as p,
    tokens::{Kind, Token},
    words::{self, is_han},
};

/// Words at the edge of what is looked for that do not belong to it.
const EDGES: &str = "in, under, below, within, inside, of, for, the, a, an, word, words, term, text, string, phrase, \
    keyword, function, it, on, does, do, is, are, say, says, has, have, line, lines, number, and, file, files, \
    any, all, to, at, from, please, there, that, occurrences, anywhere, where, which, what, find, with, me, \
    tell, show, name, folder, directory";
const HAN_EDGES: &str = "统计一下, 统计, 数一数, 数一下, 数数, 请问, 帮我, 告诉我, 看看, 哪里, 哪儿, 哪些地方, 什么地方, 何处, 怎么说的, 怎么说, 说了什么, 说了些什么, 怎么写的, 怎么写, 写了什么, 说什么, 讲了什么, 是怎么, 关键词, 关键字, 字符串, 这个单词, 这个字符串, 这几个字, 这个词, 一词, 单词, 文字, 文本, 内容, 词语, 函数, \
    的所有文件, 的文件, 的地方, 的位置, 的行, 有哪些, 是哪些, 哪些文件, 哪些, 文件夹, 目录, 文件, 在哪里, 位于, 出现, \
    一共, 总共, 分别, 都, 下面, 里面, 底下, 在, 里, 中, 下, 内, 的, 了, 过, 吗, 呢, 词, 有, 是, 请, 一下, 与, 和, 第, 查, 找";
/// Stands where a name was taken out.
const GAP: char = '\u{1}';

/// The words that are looked for.
pub(super) fn query(clause: &Clause<'_>) -> Option<String> {
    if let Some(quote) = quoted(clause) {
        return Some(quote);
    }
    if clause.says(p::LINE_OF) {
        let lists = [p::LINE_OF, p::MENTION, p::SEARCH, p::WHERE, p::STANDS];
        return longest(&lists.iter().fold(unnamed(clause), |text, list| without(&text, list)));
    }
    between(clause).or_else(|| behind(clause)).or_else(|| bare(clause))
}

/// `find X in FOLDER`, where X is no name of a file.
pub(super) fn bare(clause: &Clause<'_>) -> Option<String> {
    let at = clause.tokens.iter().position(|token| token.is("find"))?;
    let [word, preposition, ..] = clause.tokens.get(at + 1..)? else { return None };
    let is_word = word.kind == Kind::Word
        && !folders::is_plain_word(word)
        && !word.is_file()
        && word.text.chars().all(char::is_alphanumeric)
        && !word.is_any("all, everything, something, anything, folders, documents");
    let is_place = preposition.is_any("in, under, below, within, inside");
    (is_word && is_place && clause.places.folder.is_some()).then(|| word.text.clone())
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
    let text = clause.bare.as_str();
    let start = words::find_any(text, p::WHERE).map(|(_, end)| end).or_else(|| {
        // `in which files of the folder does X appear`
        let (_, from) = words::find_any(text, "which file*, what file*, how many file*")?;
        let (_, end) = words::find_any(&text[from..], "does, do, is, are")?;
        Some(from + end)
    });
    let (start, is_question) = (start.unwrap_or(0), start.is_some());
    // `in which file is X?`
    let is_open =
        words::find_any(text, "in which file is, in what file is, in which files is").is_some();
    let stands = words::find_any(&text[start..], p::STANDS);
    let (end, _) = stands.or_else(|| is_open.then(|| (text.len() - start, 0)))?;
    let inner = text[start..start + end].trim();
    // Only Chinese puts it before the verb without asking where.
    let is_chinese = clause.bare[start..start + end].chars().any(is_han);
    if !is_question && !is_chinese {
        return None;
    }
    // `搜索 X，出现在哪些文件`
    let verb = words::find_any(inner, p::SEARCH).filter(|_| inner.chars().any(is_han));
    let from = start + verb.map_or(0, |(_, end)| end);
    longest(unnamed(clause).get(from..start + end)?)
}

/// What follows the verb.
fn behind(clause: &Clause<'_>) -> Option<String> {
    let (_, start) =
        [p::MENTION, p::SEARCH].iter().find_map(|set| words::find_any(&clause.bare, set))?;
    let text = unnamed(clause);
    let text = text.get(start..)?;
    // `提到 x 的文件有几个`
    let end = text.find("的文件").filter(|end| *end > 0).unwrap_or(text.len());
    first(&text[..end])
}

/// A clause with gaps, as long, in place of the files, folders and kinds of file that it names.
fn unnamed(clause: &Clause<'_>) -> String {
    let named: Vec<&Token> = clause.places.all().filter_map(|at| clause.tokens.get(at)).collect();
    let mut text = String::with_capacity(clause.text.len());
    for (at, character) in clause.text.char_indices() {
        if named.iter().any(|token| (token.start..token.end).contains(&at)) {
            text.extend(std::iter::repeat_n(GAP, character.len_utf8()));
        } else {
            text.push(character);
        }
    }
    text
}

/// A text with gaps in place of the phrases of a list.
fn without(text: &str, list: &str) -> String {
    let mut text = text.to_owned();
    while let Some((start, end)) = words::find_any(&text, list) {
        text.replace_range(start..end, &GAP.to_string());
    }
    text
}

/// The longest stretch between gaps, without what does not belong to it.
fn longest(text: &str) -> Option<String> {
    let stretches = text.split([GAP, ',', '，']).map(cleaned);
    stretches
        .max_by_key(|stretch| stretch.len())
        .filter(|stretch| !stretch.is_empty())
        .map(str::to_owned)
}

/// The first stretch between gaps that says something.
fn first(text: &str) -> Option<String> {
    let mut stretches = text.split([GAP, ',', '，']).map(cleaned);
    stretches.find(|stretch| !stretch.is_empty()).map(str::to_owned)
}

/// Without words at the edges that are only the sentence around it.
fn cleaned(text: &str) -> &str {
    let mut text = text;
    loop {
        let before = text;
        text = text.trim_matches(|one: char| {
            one.is_whitespace() || "\"',.?!:;，。？！：；、".contains(one)
        });
        let first = text.split_whitespace().next().unwrap_or("");
        // Options that leave what is found as it is.
        let is_option = first.len() > 1
            && first
                .strip_prefix('-')
                .is_some_and(|rest| rest.chars().all(|one| "rRnHsI".contains(one)));
        if is_option || is_one_of(first, EDGES) {
            text = &text[first.len()..];
            continue;
        }
        let last = text.split_whitespace().next_back().unwrap_or("");
        if is_one_of(last, EDGES) {
            text = &text[..text.len() - last.len()];
            continue;
        }
        for edge in words::each(HAN_EDGES) {
            text = text.strip_prefix(edge).or_else(|| text.strip_suffix(edge)).unwrap_or(text);
        }
        if text == before {
            return text;
        }
    }
}

fn is_one_of(word: &str, list: &str) -> bool {
    words::each(list).any(|known| known.eq_ignore_ascii_case(word))
}

/// Whether a clause speaks of words in the names of files.
pub(super) fn speaks_of_names(clause: &Clause<'_>) -> bool {
    clause.says(p::NAME_HOLDS)
        || clause.says("开头的, 打头的, 为前缀的")
        || pattern::find(p::HAN_NAME_HOLDS, &clause.bare).is_some()
}

/// The name of a file that is looked for, as a glob.
pub(super) fn name(clause: &Clause<'_>) -> Option<String> {
    let is_ending = words::has_any(&clause.bare, "扩展名, 后缀名");
    if let Some((_, end)) = words::find_any(&clause.bare, p::NAMED).filter(|_| !is_ending) {
        // What is called so may be the folder.
        let token = next_word(&clause.tokens, end)?;
        return (!clause.is_folder(token)).then(|| token.text.clone());
    }
    // `以 x 开头的文件`
    if let Some((at, _)) = words::find_any(&clause.bare, "开头的, 打头的, 为前缀的") {
        let token =
            clause.tokens.iter().rev().find(|token| {
                token.end <= at && token.kind != Kind::Han && !clause.is_folder(token)
            })?;
        return Some(format!("{}*", token.text));
    }
    let end = match words::find_any(&clause.bare, p::NAME_HOLDS) {
        Some((_, end)) => end,
        None => pattern::find(p::HAN_NAME_HOLDS, &clause.bare)?.end,
    };
    let is_start = clause.says("start, starts, starting, begin, begins, beginning");
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
