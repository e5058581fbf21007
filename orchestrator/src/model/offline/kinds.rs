//! Kinds of file: globs, extensions, and the names of languages.

use super::{
    tokens::{Kind, Token},
    words::each,
};

/// Words that say that files are meant.
const FILE_WORDS: &str = "file, files, document, documents, source, sources, script, scripts, 文件, 源文件, 源码, 文档, 脚本, 代码文件";
/// Kinds by the names that people give them.
const KINDS: &[(&str, &str)] = &[
    ("markdown", "md"),
    ("rust", "rs"),
    ("python", "py"),
    ("text", "txt"),
    ("javascript", "js"),
    ("typescript", "ts"),
    ("shell", "sh"),
    ("golang", "go"),
    ("protobuf", "proto"),
];
/// Extensions that are words of their own before "files".
const EXTENSIONS: &str = "md, rs, py, txt, js, ts, sh, go, json, yaml, yml, toml, csv, html, css, java, c, h, \
    cpp, log, proto, xml, sql, pdf, png, jpg, svg, tsv, ini, cfg, conf, lock, tex, rb, php, kt, swift";
/// Before an extension.
const ENDINGS: &str = "ending, end, ends, extension, extensions, suffix, type";
const HAN_ENDINGS: &str = "后缀为, 后缀是, 后缀名为, 后缀名是, 扩展名为, 扩展名是, 后缀, 扩展名";

/// The glob that a word among others stands for, if it names a kind of file.
pub(super) fn pattern(tokens: &[Token], at: usize) -> Option<String> {
    let token = &tokens[at];
    if token.kind == Kind::Han {
        return token.text.contains("文本文件").then(|| "*.txt".to_owned());
    }
    // What is quoted is a glob only if it looks like one for names: `"a*b"` may be text.
    let is_name = token.kind != Kind::Quote || token.text.contains(['.', '/']);
    if is_glob(&token.text) && is_name {
        return Some(token.text.clone());
    }
    let bare = token.text.trim_start_matches('.');
    let is_plain = !bare.is_empty()
        && bare.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !token.is_any("in, with, of, is");
    let speaks_of_files = is_before_files(tokens, at);
    let is_ending = is_plain && is_behind_ending(tokens, at);
    let is_dotted = is_plain && token.text.starts_with('.');
    // `the latest .md in docs`
    let is_known = is_dotted && of_word(bare).is_some();
    if is_ending || is_known || (is_dotted && speaks_of_files) {
        return Some(format!("*.{bare}"));
    }
    let is_word = token.kind == Kind::Word && speaks_of_files;
    let extension = is_word.then(|| of_word(&token.text)).flatten()?;
    Some(format!("*.{extension}"))
}

/// Whether a word says that files are meant.
pub(super) fn is_file_word(token: &Token) -> bool {
    // `文件夹` is no `文件`.
    let begins = |word: &str| token.text.starts_with(word) && !token.text.starts_with("文件夹");
    token.is_any(FILE_WORDS) || (token.kind == Kind::Han && each(FILE_WORDS).any(begins))
}

/// The extension of files that are called so.
pub(super) fn of_word(word: &str) -> Option<&'static str> {
    let known = KINDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    let extension = || each(EXTENSIONS).find(|extension| extension.eq_ignore_ascii_case(word));
    known.map(|(_, extension)| *extension).or_else(extension)
}

/// `*.rs`, `**/a?`, but not `3*4`.
fn is_glob(text: &str) -> bool {
    text.contains('*') && text.len() > 1 && text.contains(char::is_alphabetic)
}

/// `.rs files`, `Rust source files`, `.rs 的文件`.
fn is_before_files(tokens: &[Token], at: usize) -> bool {
    let Some(next) = tokens.get(at + 1) else { return false };
    let is_between = next.is_any("source, code") || next.text.starts_with('的');
    is_file_word(next) || (is_between && tokens.get(at + 2).is_none_or(is_file_word))
}

/// `ending in .rs`, `扩展名为 rs`.
fn is_behind_ending(tokens: &[Token], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| &tokens[before]) else { return false };
    let is_joined = before.is_any("in, with, of, is")
        && at.checked_sub(2).is_some_and(|at| tokens[at].is_any(ENDINGS));
    let is_han =
        before.kind == Kind::Han && each(HAN_ENDINGS).any(|word| before.text.ends_with(word));
    // `以 .py 结尾的文件`
    let next = tokens.get(at + 1).filter(|next| next.kind == Kind::Han);
    let is_between = before.kind == Kind::Han
        && before.text.ends_with('以')
        && next.is_some_and(|next| {
            ["结尾", "为后缀", "为扩展名"].iter().any(|word| next.text.starts_with(word))
        });
    before.is_any(ENDINGS) || is_joined || is_han || is_between
}
