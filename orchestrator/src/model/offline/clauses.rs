//! Cuts a request into the things that are asked for one after the other.
//!
//! Only where a new thing plainly begins: "3, 4 and 5" and "files in a and b" stay whole.

use super::words;

/// Words that begin something new after a comma or "and".
const STARTERS: &str = "tell, give, show, count, read, find, list, write, save, store, create, calculate, \
    compute, divide, multiply, add, subtract, how, what, which, report, say, run, execute, \
    search, check, open, print, display, put, return, where, when, summari*, translate, \
    explain, work, let, name, state, who, whose, why, is it, are they, delete, remove, rename, move, send, email, \
    draw, sing, fix, refactor, improve, ignore, skip, leave, do not, don't, 谁, 为什么, 解释, 删除, 重命名, 不要, 别, 忽略, 告诉, 统计, 数一, 数出, 数它, 数其, 读, 计算, 算, 除以, \
    乘以, 加上, 减去, 写, 保存, 存, 列, 找, 搜, 查, 给, 它, 其, 总大小, 总行数, 一共, 有多少, 共有, 把, 将, \
    用, 求, 看, 显示, 打开, 运行, 执行, 说, 总结, 翻译, 输出, 返回, 再, 最后, 哪, 什么";

/// Behind a verb that begins something new, whatever it is.
const OBJECTS: &str = "it, them, me, us, him, her";

/// Words that lead over to the next thing and mean nothing themselves.
const LEADS: &str = "and, then, also, please, finally, next, afterwards, after that, now, so, 并且, 并, 然后, \
    接着, 之后, 随后, 再, 请, 最后, 而且, 同时, 以及";

/// Ends of sentences; a point only before white space.
const ENDS: &[char] = &['。', '；', ';', '?', '？', '!', '！', '\n'];

/// The clauses of a text, without what joins them. In a command a semicolon is part of it.
pub(super) fn split(text: &str, is_command: bool) -> Vec<String> {
    let mut clauses = Vec::new();
    let mut from = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else { break };
        let is_point = first == '.' && rest[1..].starts_with(char::is_whitespace);
        let is_end = is_point || (ENDS.contains(&first) && !(is_command && first == ';'));
        let cut = if is_end { Some(first.len_utf8()) } else { joint(text, at, is_command) };
        match cut {
            Some(length) => {
                push(&mut clauses, &text[from..at]);
                at += length;
                from = at;
            }
            None => at += first.len_utf8(),
        }
    }
    push(&mut clauses, &text[from..]);
    clauses
}

fn push(clauses: &mut Vec<String>, clause: &str) {
    let clause = without_leads(clause);
    if clause.chars().any(char::is_alphanumeric) || clause.chars().any(|one| one >= '\u{e000}') {
        clauses.push(clause.to_owned());
    }
}

/// A clause without the words that lead over to it.
fn without_leads(clause: &str) -> &str {
    let mut clause = clause.trim_matches([' ', ',', '，', '、', ':', '\t']);
    loop {
        let lead = words::each(LEADS).find_map(|lead| match words::find(clause, lead) {
            Some((0, end)) => Some(end),
            _ => None,
        });
        let Some(end) = lead else { return clause };
        let shorter = clause[end..].trim_start_matches([' ', ',', '，']);
        if shorter.is_empty() {
            return clause;
        }
        clause = shorter;
    }
}

/// The length of what joins two clauses at `at`, if a new one begins behind it.
fn joint(text: &str, at: usize, is_command: bool) -> Option<usize> {
    let rest = &text[at..];
    let is_word_start =
        at == 0 || !text[..at].ends_with(|before: char| before.is_ascii_alphanumeric());
    let (length, must_start) = if rest.starts_with([',', '，']) {
        (rest.chars().next().map_or(1, char::len_utf8), true)
    } else {
        let joiners: &[(&str, bool)] = &[
            ("and then", false),
            ("then", false),
            ("and", true),
            ("然后", false),
            ("接着", false),
            ("并且", true),
            ("并", true),
            ("再", true),
        ];
        let found = joiners.iter().find(|(word, _)| {
            matches!(words::find(rest, word), Some((0, _))) && (is_word_start || !word.is_ascii())
        });
        let (word, must_start) = found?;
        (word.len(), *must_start)
    };
    let after = without_leads(&rest[length..]);
    let mut words = after.split_whitespace();
    // `and frame it`
    let has_object = words.next().is_some()
        && words.next().is_some_and(|second| {
            let second = second.trim_end_matches(|one: char| !one.is_alphanumeric());
            words::each(OBJECTS).any(|known| known.eq_ignore_ascii_case(second))
        });
    let starts = has_object || words::each(STARTERS).any(|word| begins(after, word));
    // `then` is a word of the shell, too.
    (starts || !(must_start || is_command)).then_some(length)
}

/// Whether a text begins with a word that is no part of a path: `list/a.txt`.
fn begins(text: &str, word: &str) -> bool {
    let Some((0, end)) = words::find(text, word) else { return false };
    let mut behind = text[end..].chars();
    let is_joint = behind.next().is_some_and(|next| matches!(next, '/' | '.' | '_' | '-'));
    !(is_joint && behind.next().is_some_and(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_begin_where_something_new_is_asked() {
        let rows: &[(&str, &[&str])] = &[
            (
                "Read a.md and tell me how many lines it has",
                &["Read a.md", "tell me how many lines it has"],
            ),
            ("the sum of 3, 4 and 5", &["the sum of 3, 4 and 5"]),
            (
                "Find the largest file under x, count its lines, and divide that by 3.",
                &["Find the largest file under x", "count its lines", "divide that by 3."],
            ),
            (
                "In the folder docs, which is the newest file?",
                &["In the folder docs", "which is the newest file"],
            ),
            ("Which is the newest? Then read it!", &["Which is the newest", "read it"]),
            ("读取 a.md 并告诉我一共有多少行", &["读取 a.md", "告诉我一共有多少行"]),
            ("找出最大的文件，数它的行数，再除以 3。", &["找出最大的文件", "数它的行数", "除以 3"]),
            ("lines of a.md and list/b.md", &["lines of a.md and list/b.md"]),
            ("Take a.md and frame it", &["Take a.md", "frame it"]),
            ("合并两个并行的表", &["合并两个并行的表"]),
            ("What is in a.b.c?", &["What is in a.b.c"]),
            ("", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(split(text, false), *expected, "{text}");
        }
        assert_eq!(split("run echo if then", true), ["run echo if then"]);
        assert_eq!(split("run if true; then echo a; fi", true), ["run if true; then echo a; fi"]);
        assert_eq!(split("run ls then read a.md", true), ["run ls", "read a.md"]);
    }
}
