//! Files, folders and kinds of file that a clause speaks of. How a folder is known is in `folders.rs`,
//! how a kind of file in `kinds.rs`.

use super::{
    folders::{self, Folder},
    kinds,
    tokens::{Kind, Token},
    words::has_any,
};

/// Words that point at files which were named before.
const SAME: &str = "such files, those files, these files, of them, 该类文件, 此类文件, 这类文件, 这些文件, \
    那些文件, 同类文件, 这种文件";
/// Before "file" these are no name.
const NO_TITLES: &str = "the, which, what, this, that, every, new, largest, newest, oldest, smallest, biggest, \
    latest, read, write, create, a, one, make, find";

/// What a clause says about where and which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Paths of files, with their places among the words.
    pub(super) files: Vec<(usize, String)>,
    pub(super) folder: Option<Folder>,
    /// Glob over names.
    pub(super) pattern: Option<String>,
    /// All globs that are named.
    pub(super) patterns: Vec<String>,
    /// Which words name kinds of file.
    patterns_at: Vec<usize>,
    /// Speaks of files that were named before: "such files".
    pub(super) is_same: bool,
}

impl Places {
    /// Reads the words of a clause.
    pub(super) fn of(clause: &str, tokens: &[Token]) -> Self {
        let patterns: Vec<(usize, String)> =
            (0..tokens.len()).filter_map(|at| Some((at, kinds::pattern(tokens, at)?))).collect();
        let mut taken: Vec<usize> = patterns.iter().map(|(at, _)| *at).collect();
        let folder = folders::find(clause, tokens, &taken);
        taken.extend(folder.iter().filter_map(|folder| folder.at));
        let free = (0..tokens.len()).filter(|at| !taken.contains(at));
        let files = free.filter(|at| is_file(tokens, *at));
        Self {
            files: files.map(|at| (at, tokens[at].text.clone())).collect(),
            folder,
            patterns_at: patterns.iter().map(|(at, _)| *at).collect(),
            pattern: patterns.first().map(|(_, pattern)| pattern.clone()),
            patterns: patterns.into_iter().map(|(_, pattern)| pattern).collect(),
            is_same: has_any(clause, SAME),
        }
    }

    /// The first file that is named.
    pub(super) fn file(&self) -> Option<&str> {
        self.files.first().map(|(_, path)| path.as_str())
    }

    /// The folder that is named.
    pub(super) fn folder(&self) -> Option<&str> {
        self.folder.as_ref().map(|folder| folder.path.as_str())
    }

    /// Places of all words that say where and which.
    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        self.named().chain(self.patterns_at.iter().copied())
    }

    /// Places of the words that name files and folders.
    pub(super) fn named(&self) -> impl Iterator<Item = usize> {
        let folder = self.folder.iter().filter_map(|folder| folder.at);
        self.files.iter().map(|(at, _)| *at).chain(folder)
    }
}

/// Whether a word names a file.
fn is_file(tokens: &[Token], at: usize) -> bool {
    let token = &tokens[at];
    let next = tokens.get(at + 1);
    let is_behind_file = at.checked_sub(1).map(|before| &tokens[before]).is_some_and(|before| {
        before.is("file") || (before.kind == Kind::Han && before.text.ends_with("文件"))
    });
    let is_bare_name =
        is_behind_file && is_name(token) && !next.is_some_and(folders::is_folder_word);
    let is_title = next.is_some_and(|next| next.is("file")) && is_title(token);
    token.is_file()
        || is_bare_name
        || is_title
        || is_shouted(tokens, at)
        || is_dotfile(token)
        || is_makefile(token)
}

/// A name behind the word "file": quoted, or unlike a word of a sentence.
fn is_name(token: &Token) -> bool {
    let is_odd =
        |one: char| one.is_ascii_uppercase() || one.is_ascii_digit() || "_-/".contains(one);
    token.kind == Kind::Quote
        || (token.kind == Kind::Word
            && token.text.contains(is_odd)
            && !folders::is_plain_word(token))
}

/// `Makefile file`
fn is_title(token: &Token) -> bool {
    token.kind == Kind::Word
        && token.text.starts_with(|first: char| first.is_ascii_uppercase())
        && kinds::of_word(&token.text).is_none()
        && !token.is_any(NO_TITLES)
}

/// `LICENSE`: files without extension are often written in capitals; so are requests as a whole, and
/// words that are looked for in files.
pub(super) fn is_shouted(tokens: &[Token], at: usize) -> bool {
    const BEFORE_WORDS: &str = "mention, mentions, mentioning, contain, contains, containing, for, word, words, use, \
        uses, text, string, term, grep";
    let token = &tokens[at];
    let is_lower = |token: &Token| {
        token.kind == Kind::Han || token.text.bytes().any(|byte| byte.is_ascii_lowercase())
    };
    let others = tokens.iter().filter(|token| !token.text.contains('.'));
    let is_all = others.clone().count() > 1 && !others.into_iter().any(is_lower);
    let is_looked_for = at.checked_sub(1).is_some_and(|before| tokens[before].is_any(BEFORE_WORDS));
    token.kind == Kind::Word
        && token.text.len() >= 5
        && token.text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        && !is_all
        && !is_looked_for
}

/// `Makefile`, `Dockerfile`
pub(super) fn is_makefile(token: &Token) -> bool {
    let name = token.text.rsplit('/').next().unwrap_or_default();
    token.kind != Kind::Han
        && name.len() > 4
        && name.ends_with("file")
        && name.starts_with(|first: char| first.is_ascii_uppercase())
}

/// `.gitignore`
pub(super) fn is_dotfile(token: &Token) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    token.kind != Kind::Han
        && token.text.strip_prefix('.').is_some_and(|name| {
            name.len() > 1
                && name.starts_with(|first: char| first.is_ascii_alphabetic())
                && name.bytes().all(is_part)
        })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{quotes::Masked, tokens},
        *,
    };

    fn check(text: &str, file: Option<&str>, folder: Option<&str>, pattern: Option<&str>) {
        let masked = Masked::new(text);
        let places = Places::of(&masked.text, &tokens::of(&masked.text, &masked));
        let found = (places.file(), places.folder(), places.pattern.as_deref());
        assert_eq!(found, (file, folder, pattern), "{text}");
    }

    #[test]
    fn files_folders_and_kinds_are_found() {
        check("What are the section headings of README.md?", Some("README.md"), None, None);
        check("the largest .rs file under orchestrator", None, Some("orchestrator"), Some("*.rs"));
        check("Which is the newest file in meetings?", None, Some("meetings"), None);
        check("How many Markdown files are in the docs folder?", None, Some("docs"), Some("*.md"));
        check("List all *.toml below ./conf.d/x", None, Some("./conf.d/x"), Some("*.toml"));
        check("files ending in .py within src/tools", None, Some("src/tools"), Some("*.py"));
        check("Show the directory \"my docs\"", None, Some("my docs"), None);
        check("Open 'my docs/a b.txt'", Some("my docs/a b.txt"), None, None);
        check("How many lines does the file Makefile have?", Some("Makefile"), None, None);
        check("Read LICENSE", Some("LICENSE"), None, None);
        check("lines in src/main.rs", Some("src/main.rs"), None, None);
        check("what is in it", None, None, None);
        check("how many files are here", None, Some("."), None);
        check("the number of .rs files below that folder", None, None, Some("*.rs"));
        check("show .gitignore", Some(".gitignore"), None, None);
    }

    #[test]
    fn the_same_in_chinese() {
        check("读取 CHANGELOG.md 并告诉我一共有多少行", Some("CHANGELOG.md"), None, None);
        check("orchestrator 下最大的 .rs 文件", None, Some("orchestrator"), Some("*.rs"));
        check("meetings 文件夹里最新的文件是哪个", None, Some("meetings"), None);
        check("在 docs 目录中有多少个 Markdown 文件", None, Some("docs"), Some("*.md"));
        check("列出 src 目录下的文件", None, Some("src"), None);
        check("在会议文件夹里最新的文件", None, Some("会议"), None);
        check("当前目录有哪些文件", None, Some("."), None);
        check("后缀为 py 的文件", None, None, Some("*.py"));
        check("该文件夹下 .rs 文件的数量", None, None, Some("*.rs"));
        check("查找所有 Python 文件", None, None, Some("*.py"));
        check("src/lib 里哪些文件提到了它", None, Some("src/lib"), None);
    }
}
