//! The words of a clause, and which of them can be paths.

use super::{
    quotes::Masked,
    words::{self, is_han},
};

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Where it begins and ends in the clause.
    pub(super) start: usize,
    pub(super) end: usize,
    /// What it says; for a quote what is in it.
    pub(super) text: String,
    pub(super) kind: Kind,
}

/// What kind of word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, digits and what may be in a path.
    Word,
    /// A stretch of Chinese.
    Han,
    /// Something quoted.
    Quote,
}

impl Token {
    /// Whether it is this word, whatever its case.
    pub(super) fn is(&self, word: &str) -> bool {
        self.kind != Kind::Quote && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is one of these words.
    pub(super) fn is_any(&self, list: &str) -> bool {
        words::each(list).any(|word| self.is(word))
    }

    /// Whether it can only be the path of a file: it has an extension.
    pub(super) fn is_file(&self) -> bool {
        self.kind != Kind::Han && has_extension(&self.text) && !self.text.contains('*')
    }

    /// Whether it is a path because of its slashes.
    pub(super) fn has_slash(&self) -> bool {
        self.kind != Kind::Han
            && self.text.contains('/')
            && !self.text.contains("//")
            && !self.text.split('/').all(|part| part == "pi" || part.parse::<f64>().is_ok())
            && self.text.contains(char::is_alphabetic)
            && !self.text.contains(['*', '(', ')', ' '])
    }
}

/// The words of a clause in order.
pub(super) fn of(clause: &str, masked: &Masked) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut current: Option<(usize, Kind)> = None;
    let mut close = |current: &mut Option<(usize, Kind)>, end: usize| {
        if let Some((start, kind)) = current.take() {
            push(&mut tokens, clause, (start, end), kind);
        }
    };
    let mut quotes = Vec::new();
    for (at, character) in clause.char_indices() {
        let kind = if masked.quote(character).is_some() {
            Some(Kind::Quote)
        } else if is_han(character) {
            Some(Kind::Han)
        } else {
            is_path_character(clause, at, character).then_some(Kind::Word)
        };
        if current.is_some_and(|(_, open)| Some(open) != kind || open == Kind::Quote) {
            close(&mut current, at);
        }
        if let Some(kind) = kind {
            if kind == Kind::Quote {
                quotes.push(at);
            }
            current.get_or_insert((at, kind));
        }
    }
    close(&mut current, clause.len());
    for token in &mut tokens {
        if token.kind == Kind::Quote && quotes.contains(&token.start) {
            token.text = masked.said(&token.text);
        }
    }
    spaced(joined(tokens, clause), clause)
}

/// `docs/my notes.txt`: two names with only a space between them are one.
fn spaced(tokens: Vec<Token>, clause: &str) -> Vec<Token> {
    let mut kept: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let is_rest = token.kind == Kind::Word && token.is_file() && !token.text.contains('/');
        let before = kept.last_mut().filter(|last| {
            is_rest
                && last.kind == Kind::Word
                && last.has_slash()
                && !last.text.ends_with('/')
                && !last.is_file()
                && clause[last.end..token.start] == *" "
        });
        match before {
            Some(before) => {
                before.end = token.end;
                clause[before.start..token.end].clone_into(&mut before.text);
            }
            None => kept.push(token),
        }
    }
    kept
}

fn push(tokens: &mut Vec<Token>, clause: &str, (start, end): (usize, usize), kind: Kind) {
    let text = clause[start..end].trim_end_matches(['.', ':', '\'']);
    if !text.is_empty() {
        tokens.push(Token { start, end: start + text.len(), text: text.to_owned(), kind });
    }
}

fn is_path_character(clause: &str, at: usize, character: char) -> bool {
    let is_inside = |mark: char| {
        character == mark
            && clause[..at].ends_with(char::is_alphanumeric)
            && clause[at + mark.len_utf8()..].starts_with(char::is_alphanumeric)
    };
    character.is_alphanumeric()
        || matches!(character, '_' | '-' | '.' | '/' | '~' | '*' | '@' | '+' | '#' | '{' | '}')
        || is_inside('\'')
        || (character == ',' && clause[..at].rfind('{') > clause[..at].rfind('}'))
}

/// A Chinese name with an extension, or between slashes, is one path: `会议/记录.md`.
fn joined(tokens: Vec<Token>, clause: &str) -> Vec<Token> {
    let mut kept: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let is_next = kept.last().is_some_and(|last| last.end == token.start);
        let Some(last) = kept.last_mut().filter(|_| is_next) else {
            kept.push(token);
            continue;
        };
        let goes_on = match (last.kind, token.kind) {
            (Kind::Han, Kind::Word) => {
                // `.md` and `980.md` need a name before them, `CHANGES.md` does not.
                let is_rest =
                    token.text.starts_with('.') && has_extension(&format!("x{}", token.text));
                let is_number = token.text.starts_with(|first: char| first.is_ascii_digit())
                    && has_extension(&token.text);
                !name_at_the_end(&last.text).is_empty()
                    && (token.text.starts_with('/') || is_rest || is_number)
            }
            (Kind::Word, Kind::Han) => {
                last.text.ends_with('/')
                    && !last.text.contains('*')
                    && !words::each(BEHIND_FOLDERS).any(|word| token.text.starts_with(word))
            }
            // `docs/会议` and `.md`
            (Kind::Word, Kind::Word) => true,
            _ => false,
        };
        if !goes_on {
            kept.push(token);
        } else if last.kind == Kind::Han {
            let name = name_at_the_end(&last.text);
            let start = last.end - name.len();
            let path = Token {
                start,
                end: token.end,
                text: clause[start..token.end].to_owned(),
                kind: Kind::Word,
            };
            if last.start == start {
                *last = path;
            } else {
                last.end = start;
                clause[last.start..start].clone_into(&mut last.text);
                kept.push(path);
            }
        } else {
            last.end = token.end;
            clause[last.start..token.end].clone_into(&mut last.text);
        }
    }
    kept
}

/// Chinese that stands behind the name of a folder and is not part of it.
const BEHIND_FOLDERS: &str = "里, 下, 中, 内, 目录, 文件夹, 的, 有, 这个";

/// Chinese that stands before a name and is not part of it.
const BEFORE_NAMES: &str = "读取, 读一下, 打开, 查看, 看看, 看一下, 显示, 浏览, 文件, 统计, 数一下, 请, 帮我, \
    把, 将, 在, 从, 到, 写入, 写到, 写进, 保存为, 保存到, 存为, 存到, 列出, 搜索, 查找, 找一下, 找出, 里面, 里, 中, 和, \
    与, 跟, 的, 叫做, 叫, 名为, 创建, 新建, 出, 一下, 为, 下, 所有, 全部, 这些, 每个, 比, 除以, 加上, 减去, 以及, 用";

/// The name that a stretch of Chinese ends with; empty if it ends with a word of the sentence. Short
/// words are parts of names as often as not, so they count only at the beginning and at the end.
fn name_at_the_end(han: &str) -> &str {
    let long = words::each(BEFORE_NAMES).filter(|word| word.chars().count() > 1);
    let ends = long.filter_map(|word| Some(han.rfind(word)? + word.len()));
    let mut name = &han[ends.max().unwrap_or(0)..];
    while let Some(rest) = words::each(BEFORE_NAMES).find_map(|word| name.strip_prefix(word)) {
        name = rest;
    }
    if words::each(BEFORE_NAMES).any(|word| name.ends_with(word)) { "" } else { name }
}

/// Whether the last name of a path has an extension with a letter in it.
pub(super) fn has_extension(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let is_extension = (1..=10).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.bytes().any(|byte| byte.is_ascii_alphabetic());
    // `e.g` is no file, and a sentence in quotes ends in a point but not in a name.
    let is_abbreviation = stem.len() == 1 && extension.len() == 1;
    let is_name = !stem.is_empty() && !stem.ends_with(['.', ' ']);
    // `2.5e3`
    let is_exponent = stem.bytes().all(|byte| byte.is_ascii_digit())
        && extension.split(['e', 'E']).filter(|part| part.parse::<u32>().is_ok()).count() == 2;
    let is_name = is_name && !is_exponent;
    is_extension && is_name && !is_abbreviation
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let masked = Masked::new(text);
        of(&masked.text, &masked).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn words_and_paths_are_told_apart_in_both_languages() {
        let rows: &[(&str, &[&str])] = &[
            ("What's in docs/a.md?", &["What's", "in", "docs/a.md"]),
            ("Read README.md.", &["Read", "README.md"]),
            ("读取CHANGELOG.md并告诉我", &["读取", "CHANGELOG.md", "并告诉我"]),
            ("读取会议记录.md并告诉我", &["读取", "会议记录.md", "并告诉我"]),
            ("列出会议/周一 下的文件", &["列出", "会议/周一", "下的文件"]),
            ("find *.{md,txt} files", &["find", "*.{md,txt}", "files"]),
            ("open \"my notes.txt\" now", &["open", "my notes.txt", "now"]),
        ];
        for (text, expected) in rows {
            assert_eq!(words(text), *expected, "{text}");
        }
    }

    #[test]
    fn an_extension_has_a_letter_and_a_name_before_it() {
        for (text, expected) in [
            ("a.md", true),
            ("src/main.rs", true),
            ("archive.tar.gz", true),
            ("my notes.txt", true),
            ("4.5", false),
            ("e.g", false),
            (".rs", false),
            ("docs", false),
            ("a.b/c", false),
            ("video.mp4", true),
        ] {
            assert_eq!(has_extension(text), expected, "{text}");
        }
    }
}
