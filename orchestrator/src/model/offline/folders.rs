//! Which word of a clause is a folder.

use super::{
    numerals, places,
    tokens::{Kind, Token},
    words::{each, has_any},
};

const FOLDER_WORDS: &str = "folder, directory, dir, folders, directories";
const HAN_FOLDER_WORDS: &str = "目录, 文件夹";
const HAN_BEHIND: &str =
    "目录, 文件夹, 下, 里, 中, 内, 底下, 之下, 这个目录, 这个文件夹, 及其子目录";
const HAN_BEFORE: &str = "在, 从, 到, 列出, 列一下, 看一下, 看看, 查看";
/// Before a Chinese name of a folder.
const HAN_VERBS: &str = "在, 列出, 查看, 看看, 打开, 显示, 找出, 统计, 把, 将, 从, 请";
/// Chinese words that point at a folder and do not name it.
const HAN_POINTERS: &str = "这个, 那个, 该, 此, 当前, 本, 哪个, 每个, 子, 上述, 某个, 同一";
/// Behind these stands a folder with all that is below it.
const DEEP: &str = "under, below, beneath, within, throughout, across";
/// Before a folder that is searched as a whole.
const SEARCHES: &str = "search, scan, grep, through";
/// Behind these may stand a folder.
const SHALLOW: &str = "in, inside, from, of, into, at, ls";
const ARTICLES: &str =
    "the, a, an, my, our, whole, entire, complete, folder, directory, dir, named, called";
/// Words that stand behind a preposition and are no folder.
const NO_FOLDERS: &str = "contain, contains, have, has, hold, holds, include, includes, everywhere, anywhere, we, i, they, it, its, them, this, that, these, those, there, here, which, what, total, all, \
    order, detail, english, chinese, bytes, lines, line, files, file, size, each, every, any, time, text, \
    words, characters, me, you, markdown, section, sections, headings, contents, content, one, most, more, \
    is, are, does, do, name, names, number, and, or, then, use, largest, smallest, newest, oldest, biggest, \
    latest, same, first, last, case, particular, general, short, full, descending, ascending, \
    alphabetical, percent, year, years, month, months, days, day, code, how, many";
const NO_NAMES: &str = "each, ls, list, show, open, read, what, which, is";
/// Before "folder" these point at one.
const WHOLE: &str = "whole, entire, current, same, new, which, what";
/// Behind "of" stand words that are looked for.
const COUNTED: &str = "occurrence, occurrences, mention, mentions, use, uses, usage, usages, instance, \
    instances, appearances, hits";
/// The folder that everything is in.
const HERE: &str = "here, workspace, project, repo, repository, current folder, current directory, this folder, \
    this directory, working directory, root folder, 当前目录, 当前文件夹, 本目录, 这里, 工作区, 项目, 仓库, 根目录, \
    这个目录, 这个文件夹";

/// Of these words for it, those that mean all that is below it.
const EVERYTHING: &str = "workspace, project, repo, repository, 工作区, 项目, 仓库";

/// A folder that a clause names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folder {
    /// Which word it is, if it is a word of its own.
    pub(super) at: Option<usize>,
    pub(super) path: String,
    /// Meant alone rather than with all below it.
    pub(super) is_alone: bool,
}

/// The folder of a clause; words in `taken` are something else.
pub(super) fn find(clause: &str, tokens: &[Token], taken: &[usize]) -> Option<Folder> {
    let ranked = (0..tokens.len())
        .filter(|at| !taken.contains(at))
        .filter_map(|at| Some((rank(tokens, at)?, at)));
    if let Some((_, at)) = ranked.min() {
        let path = tokens[at].text.trim_end_matches('/').to_owned();
        return Some(Folder { at: Some(at), path, is_alone: is_alone(tokens, at) });
    }
    if let Some(path) = heading(clause, tokens).filter(|_| !taken.contains(&0)) {
        return Some(Folder { at: Some(0), path, is_alone: true });
    }
    if let Some(path) = han_name(tokens) {
        return Some(Folder { at: None, path, is_alone: !clause.contains('下') });
    }
    let is_alone = !has_any(clause, EVERYTHING);
    has_any(clause, HERE).then(|| Folder { at: None, path: ".".to_owned(), is_alone })
}

/// `src: newest file?`
fn heading(clause: &str, tokens: &[Token]) -> Option<String> {
    const NO_PLACES: &str = "question, task, todo, request, please, find, list, show, tell, note, help, search, look, hi, \
        hello, hey, run, execute, read, open, count, answer, quick, urgent, first, next, command, output";
    let [first, _, ..] = tokens else { return None };
    let is_headed = clause[first.end..].trim_start().starts_with([':', '：']);
    let is_name = first.kind == Kind::Word && !is_plain_word(first) && !first.is_any(NO_PLACES);
    let is_about_files = has_any(&clause[first.end..], "file, files, 文件");
    (is_headed && is_name && !first.is_file() && is_about_files).then(|| first.text.clone())
}

/// Whether a word stands where only a folder can.
pub(super) fn is_place(tokens: &[Token], at: usize) -> bool {
    tokens[at].kind == Kind::Word
        && rank(tokens, at).is_some()
        && is_behind(tokens, at, "in, under, below, beneath, within, inside")
}

/// Whether a word is only an article.
pub(super) fn is_article(token: &Token) -> bool {
    token.is_any(ARTICLES)
}

/// Whether a word is a word of the sentence rather than a name.
pub(super) fn is_plain_word(token: &Token) -> bool {
    [NO_FOLDERS, SHALLOW, DEEP, ARTICLES].iter().any(|list| token.is_any(list))
}

pub(super) fn is_folder_word(token: &Token) -> bool {
    token.is_any(FOLDER_WORDS)
}

/// How surely a word is a folder, 0 the surest; `None` if it is none.
fn rank(tokens: &[Token], at: usize) -> Option<u8> {
    let token = &tokens[at];
    let is_called = is_called_folder(tokens, at);
    if cannot_be(tokens, at, is_called) {
        return None;
    }
    let is_word = token.kind == Kind::Word && is_plain_word(token);
    // `the list folder`, but `list folders`
    let is_pointed = at.checked_sub(1).is_some_and(|at| {
        [DEEP, SHALLOW].iter().any(|list| tokens[at].is_any(list)) || tokens[at].is("the")
    });
    let is_verb = token.is_any(NO_NAMES) && (!is_pointed || token.is_any(WHOLE));
    if is_called && !is_word && !is_verb && !(token.is_any(WHOLE)) {
        return Some(0);
    }
    if token.text.ends_with('/') {
        return Some(1);
    }
    // `search x for …`
    let before = at.checked_sub(1).map(|at| &tokens[at]);
    let is_searched = before.is_some_and(|verb| verb.is_any(SEARCHES))
        && tokens.get(at + 1).is_some_and(|next| next.is("for"));
    if is_searched && !token.is_file() && !is_word {
        return Some(1);
    }
    if token.is_file() || is_word {
        return None;
    }
    if is_grepped(tokens, at) {
        return Some(1);
    }
    if is_subject(tokens, at) {
        return Some(2);
    }
    // `the project` is where everything is; `project` may be a folder.
    let is_pointed_at =
        before.is_some_and(|before| before.is_any("the, this, my, our, whole, entire"));
    if is_pointed_at && token.is_any(HERE) {
        return None;
    }
    let is_behind = |list: &str| is_behind(tokens, at, list);
    let next = tokens.get(at + 1).filter(|next| next.kind == Kind::Han);
    if is_behind(DEEP) || next.is_some_and(|next| begins(&next.text, HAN_BEHIND)) {
        return Some(1);
    }
    if token.has_slash() {
        return Some(2);
    }
    // What is quoted behind "of" is mostly no folder: `occurrences of "x"`.
    let is_of_quote = (token.kind == Kind::Quote && is_behind("of, at"))
        || (at.checked_sub(2).is_some_and(|at| tokens[at].is_any(COUNTED)) && is_behind("of"));
    let is_part = begins_as_number(token) && !is_number(token);
    if is_behind(SHALLOW) && !is_part && !is_of_quote {
        return Some(3);
    }
    // `list docs`
    let is_listed = before.is_some_and(|verb| verb.is_any("list, ls, browse"));
    let is_behind_han = before.is_some_and(|before| {
        before.kind == Kind::Han
            && ends(&before.text, HAN_BEFORE)
            && !ends(&before.text, "提到, 用到, 找到, 写到, 谈到, 看到, 说到, 搜到, 得到, 现在")
    });
    ((is_listed && at + 1 == tokens.len()) || is_behind_han).then_some(3)
}

/// `how many files does docs have`, `docs has how many files`
fn is_subject(tokens: &[Token], at: usize) -> bool {
    const HELD: &str =
        "file, files, folders, folder, subfolders, subdirectories, directories, documents, what";
    let before = at.checked_sub(1).map(|at| &tokens[at]);
    let verb = tokens.get(at + 1);
    let is_owner = before.is_none()
        && verb.is_some_and(|verb| verb.is_any("has, contains, holds, includes"))
        && tokens.iter().any(|word| word.is_any("how, which, what"));
    let is_asked = before.is_some_and(|verb| verb.is_any("does, do"))
        && verb.is_some_and(|verb| verb.is_any("have, contain, hold, include"))
        && tokens[..at].iter().any(|word| word.is_any(HELD));
    is_owner || is_asked
}

/// `grep WORD FOLDER`, options left out.
fn is_grepped(tokens: &[Token], at: usize) -> bool {
    let is_option = |token: &&Token| token.text.starts_with('-');
    let mut before = tokens[..at].iter().rev().filter(|token| !is_option(token));
    before.next().is_some_and(|word| !is_plain_word(word))
        && before.next().is_some_and(|verb| verb.is("grep"))
        && tokens[at + 1..].iter().all(|token| is_option(&token))
}

/// Whether a word is something else, whatever stands around it.
fn cannot_be(tokens: &[Token], at: usize, is_called: bool) -> bool {
    let token = &tokens[at];
    // `ls -la docs`, `9 / 2`
    // A Chinese name in an English sentence: `in 资料`.
    let is_han = token.kind == Kind::Han
        && !at.checked_sub(1).is_some_and(|at| {
            let before = &tokens[at];
            before.kind == Kind::Word
                && [DEEP, SHALLOW, ARTICLES, "does, do"].iter().any(|list| before.is_any(list))
        });
    if is_han || token.text.starts_with('-') || token.text == "/" {
        return true;
    }
    // `in 2024` at the end may be a folder, `in 3 words` is none.
    let is_end = at + 1 == tokens.len() && token.text.len() > 2;
    let is_here = is_end && is_behind(tokens, at, "in, under, below, inside");
    let is_file =
        places::is_shouted(tokens, at) || places::is_dotfile(token) || places::is_makefile(token);
    let is_count = is_number(token) && !is_here;
    !is_called && (token.is_any(COUNTED) || is_count || (is_file && !is_behind(tokens, at, DEEP)))
}

fn is_number(token: &Token) -> bool {
    // `from twelve thousand`
    let is_numeral = token.kind == Kind::Word
        && token.text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
        && numerals::plain(&token.text).starts_with(|one: char| one.is_ascii_digit() || one == '(');
    is_numeral
        || (token.text != "."
            && token.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// Whether a word stands behind one of these, articles and options left out.
fn is_behind(tokens: &[Token], at: usize, list: &str) -> bool {
    let mut before = tokens[..at].iter().rev();
    let preposition = before.find(|word| !word.is_any(ARTICLES) && !word.text.starts_with('-'));
    preposition.is_some_and(|word| word.is_any(list))
}

/// `folder x`, `x folder`, `folder called x`, `x 目录`.
fn is_called_folder(tokens: &[Token], at: usize) -> bool {
    let next = tokens.get(at + 1);
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    let is_named = before.is_some_and(|before| before.is_any("named, called"))
        && at.checked_sub(2).is_some_and(|at| tokens[at].is_any(FOLDER_WORDS));
    let is_han = |token: &Token| token.kind == Kind::Han;
    next.is_some_and(|next| {
        next.is_any(FOLDER_WORDS) || (is_han(next) && begins(&next.text, HAN_FOLDER_WORDS))
    }) || before.is_some_and(|before| {
        before.is_any(FOLDER_WORDS) || (is_han(before) && ends(&before.text, HAN_FOLDER_WORDS))
    }) || is_named
}

/// Whether a folder is meant alone: "in" it, `里`, not "under" it, `下`.
fn is_alone(tokens: &[Token], at: usize) -> bool {
    let preposition = tokens[..at].iter().rev().find(|before| !before.is_any(ARTICLES));
    // `search x for …` goes through all of it.
    if preposition.is_some_and(|word| word.is_any(DEEP) || word.is_any(SEARCHES)) {
        return false;
    }
    let next = tokens.get(at + 1).filter(|next| next.kind == Kind::Han);
    let behind =
        next.map_or("", |next| next.text.trim_start_matches("目录").trim_start_matches("文件夹"));
    !begins(behind, "下, 底下, 之下, 及其")
}

/// A folder with a Chinese name: `在会议文件夹里`, `会议 里`, `会议里最新的文件`.
fn han_name(tokens: &[Token]) -> Option<String> {
    let spaced = tokens.windows(2).find_map(|pair| {
        let is_pair = pair.iter().all(|token| token.kind == Kind::Han);
        is_pair.then(|| begins(&pair[1].text, HAN_BEHIND)).filter(|is_name| *is_name)?;
        han_path(&pair[0].text)
    });
    spaced.or_else(|| called_han(tokens)).or_else(|| {
        let first = tokens.iter().find(|token| token.kind == Kind::Han)?;
        each("里最, 下最, 中最, 里有, 下有, 里面, 里的, 下的, 里共, 里一共, 里所有, 下所有, 里都, 下都")
            .find_map(|behind| han_path(&first.text[..first.text.find(behind)?]))
    })
}

/// The name that is left of Chinese words, if it can be one.
fn han_path(text: &str) -> Option<String> {
    let mut name = text.trim_end_matches("目录").trim_end_matches("文件夹");
    let verbs =
        "列一下, 看一下, 数一下, 显示一下, 统计一下, 请问, 帮我, 告诉我, 列举, 浏览, 数数, 看";
    while let Some(rest) =
        each(HAN_VERBS).chain(each(verbs)).find_map(|verb| name.strip_prefix(verb))
    {
        name = rest;
    }
    let is_other = ["文件", "哪", "什么", "几", "多少", "一共", "结果", "标题", "内容", "行"];
    let is_short = (1..=8).contains(&name.chars().count());
    let is_name = is_short
        && !is_other.iter().any(|word| name.contains(word))
        && !ends(name, HAN_POINTERS)
        && !begins(name, "这, 那, 它, 其, 该")
        && each(HERE).all(|here| here != name);
    is_name.then(|| name.to_owned())
}

/// `会议文件夹`
fn called_han(tokens: &[Token]) -> Option<String> {
    tokens.iter().filter(|token| token.kind == Kind::Han).find_map(|token| {
        each(HAN_FOLDER_WORDS).find_map(|word| {
            let before = &token.text[..token.text.find(word)?];
            let starts = each(HAN_VERBS).filter_map(|verb| Some(before.rfind(verb)? + verb.len()));
            han_path(before[starts.max().unwrap_or(0)..].trim_end_matches('的'))
        })
    })
}

fn begins_as_number(token: &Token) -> bool {
    token.text.starts_with(|first: char| first.is_ascii_digit())
        && !token.text.contains(['_', '-', '/'])
}

fn begins(text: &str, list: &str) -> bool {
    each(list).any(|word| text.starts_with(word))
}

fn ends(text: &str, list: &str) -> bool {
    each(list).any(|word| text.ends_with(word))
}
