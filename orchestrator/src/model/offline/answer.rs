//! The words of the answers, in the language of the question. Every value in them was given by a
//! tool.

use super::{
    goals::Order,
    need::Skill,
    sums::Topic,
    words::{Language, each},
};

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Nothing that is offered can do it.
    NoTool(Skill),
    /// No tool may be called any more.
    NoMoreTools,
    /// The tool could not.
    Failed { skill: Skill, message: String },
    /// A person or a rule did not want it.
    Refused { skill: Skill, message: String },
    /// Nobody knows whether it was done.
    Unknown { skill: Skill, message: String },
    /// It is not said which file is meant.
    WhichFile,
    /// It is not said which file something is to be kept in.
    WhereTo,
    /// It is not said what is meant.
    WhichResult,
    /// There is nothing of the kind.
    Nothing(String),
    /// The result does not say what was asked for.
    Untold,
    /// It takes a language model.
    Beyond,
    /// It was not understood.
    Unclear,
    /// A part of it was not understood, so that an answer would be one to something else.
    LeftOut(String),
}

/// A skill in words.
fn skill(language: Language, skill: Skill) -> &'static str {
    let (english, chinese) = match skill {
        Skill::Calculate => ("calculating", "计算"),
        Skill::Read => ("reading files", "读取文件"),
        Skill::List => ("listing folders", "列出文件夹"),
        Skill::Find => ("finding files", "查找文件"),
        Skill::Search => ("searching text", "搜索文字"),
        Skill::Write => ("writing files", "写文件"),
        Skill::Run => ("running commands", "运行命令"),
        Skill::LookUpTools => ("looking up tools", "查找工具"),
        Skill::Follow => ("this", "这件事"),
    };
    language.pick(english, chinese)
}

/// The sentence for a request that came to nothing.
pub(super) fn sorry(language: Language, why: &Why) -> String {
    let plain = |english: &str, chinese: &str| language.pick(english, chinese).to_owned();
    let said = match why {
        Why::NoTool(of) => about(language, *of, NO_TOOL, ""),
        Why::NoMoreTools => plain(
            "no more tools can be called in this run, so the work is not finished.",
            "本次运行不能再调用工具，工作没有完成。",
        ),
        Why::Failed { skill: of, message } => {
            // What follows the first line is for whoever made the call.
            let line = message.lines().next().unwrap_or_default();
            // A result that is not there must not seem to be there: no number is passed on.
            let is_sum = *of == Skill::Calculate;
            let said = if is_sum { without_numbers(line) } else { line.to_owned() };
            about(language, *of, FAILED, &said)
        }
        Why::Refused { skill: of, message } => about(language, *of, REFUSED, for_people(message)),
        Why::Unknown { skill: of, message } => about(language, *of, UNKNOWN, message),
        Why::WhichFile => plain(
            "it is not clear which file is meant; name it.",
            "不清楚指的是哪个文件，请写出文件名。",
        ),
        Why::WhereTo => plain(
            "it is not said which file to write, so nothing was done; name it, as in `… to the file \
             NAME`.",
            "没有说明写入哪个文件，因此没有执行；请写出文件名，例如“……写入 NAME.txt”。",
        ),
        Why::WhichResult => {
            plain("there is no earlier result to work with.", "前面没有可以使用的结果。")
        }
        Why::Nothing(what) => match language {
            Language::English => format!("nothing was found: {what}."),
            Language::Chinese => format!("没有找到：{what}。"),
        },
        Why::Untold => {
            plain("the result of the tool does not say that.", "工具的结果没有说明这一点。")
        }
        Why::Beyond => with_abilities(
            language,
            "that takes a language model, which is not configured here.",
            "这需要语言模型，而这里没有配置。",
        ),
        Why::Unclear => with_abilities(language, "this was not understood.", "没有理解这个请求。"),
        Why::LeftOut(part) => {
            let said = match language {
                Language::English => format!(
                    "a part of this was not understood, so nothing was done: {part}. Ask without \
                     it, or in other words."
                ),
                Language::Chinese => {
                    format!("有一部分没有理解，因此没有执行：{part}。请去掉这部分或换一种说法。")
                }
            };
            with_abilities(language, &said, &said)
        }
    };
    format!("offline: {}", said.trim())
}

const NO_TOOL: (&str, &str) = (
    "needs a tool, and none for it is available at the moment, so there is no result. Check that its \
     service is running (`callboard status`).",
    "需要工具，而目前没有可用的工具，因此没有结果。请检查相应的服务是否在运行（`callboard status`）。",
);
const FAILED: (&str, &str) = ("failed, so there is no result.", "失败，因此没有结果。");
const REFUSED: (&str, &str) = ("was not allowed, so nothing was done.", "未获允许，没有执行。");
const UNKNOWN: (&str, &str) = ("was begun and its outcome is not known.", "已开始，但结果未知。");

/// What became of something, in both languages, and the words of whoever said so.
fn about(language: Language, of: Skill, what: (&str, &str), words: &str) -> String {
    let (of, words) = (skill(language, of), words.trim());
    match language {
        Language::English => format!("{of} {} {words}", what.0),
        Language::Chinese => format!("{of}{}{words}", what.1),
    }
}

/// What a tool said, up to the first number: whole sentences, or else its first words.
fn without_numbers(message: &str) -> String {
    let Some(at) = message.find(char::is_numeric) else { return message.to_owned() };
    let before = &message[..at];
    if let Some(end) = before.rfind(". ") {
        return message[..=end].to_owned();
    }
    let words: Vec<&str> = before.split_whitespace().collect();
    let is_loose = |word: &&str| {
        let list = "a, at, in, of, after, to, is, the, near, on, with, for, by";
        !word.chars().any(char::is_alphabetic) || each(list).any(|one| one == *word)
    };
    let loose = words.iter().rev().take_while(|word| is_loose(word)).count();
    let kept = words[..words.len() - loose].join(" ");
    let kept = kept.trim_end_matches(|one: char| !one.is_alphanumeric());
    if kept.is_empty() { String::new() } else { format!("{kept}.") }
}

/// What was said about a refusal, without what only a model needs to be told.
fn for_people(message: &str) -> &str {
    let ends = [" Do not ", "; do not ", " Nothing overrides "];
    let end = ends.iter().filter_map(|words| message.find(words)).min();
    &message[..end.unwrap_or(message.len())]
}

fn with_abilities(language: Language, english: &str, chinese: &str) -> String {
    format!("{}\n{}", language.pick(english, chinese), abilities(language))
}

/// Who speaks.
pub(super) fn introduction(language: Language) -> String {
    let who = language.pick(
        "This is `offline`, a small planner without a language model.",
        "我是 `offline`，一个没有语言模型的小型规划器。",
    );
    format!("{who}\n{}", abilities(language))
}

fn abilities(language: Language) -> &'static str {
    language.pick(
        "It understands requests to calculate (percentages, loans and interest included), to read \
         files, count their lines and list their headings, to list folders, to find files by name, \
         size or age, to search text, to write a file, and to run a command, also several in a row. \
         For anything else configure a model: `--model openai:NAME` with OPENAI_API_KEY or \
         OPENAI_BASE_URL.",
        "可以理解的请求有：计算（包括百分比、贷款和利息），读取文件、统计行数、列出标题，列出文件夹，按名称、大小或时间查找文件，\
         搜索文字，写文件，运行命令，也可以连续做几件事。其他请求请配置模型：`--model openai:NAME`，并设置 OPENAI_API_KEY 或 \
         OPENAI_BASE_URL。",
    )
}

/// The answer where what was asked for is blank.
pub(super) fn blank(language: Language) -> &'static str {
    language.pick("(There is nothing but white space.)", "（没有文字，是空白的。）")
}

/// A number as it came, and with its thousands apart where that helps to read it.
pub(super) fn number(value: &str) -> String {
    let grouped = grouped(value);
    let digits = value.bytes().take_while(|byte| *byte != b'.').filter(u8::is_ascii_digit).count();
    if digits > 4 && grouped != value { format!("{value} ({grouped})") } else { value.to_owned() }
}

/// A number with its thousands apart.
pub(super) fn grouped(value: &str) -> String {
    let (sign, bare) = match value.strip_prefix('-') {
        Some(bare) => ("-", bare),
        None => ("", value),
    };
    let (whole, fraction) = bare.split_once('.').map_or((bare, None), |(a, b)| (a, Some(b)));
    if whole.is_empty() || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.to_owned();
    }
    let mut grouped = String::with_capacity(value.len() + value.len() / 3);
    grouped.push_str(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if let Some(fraction) = fraction {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

/// The result of a calculation.
pub(super) fn sum(language: Language, topic: Topic, expression: &str, value: &str) -> String {
    let what = match topic {
        Topic::Plain => {
            return format!("{expression} = {}{}", number(value), of_whom(language, expression));
        }
        Topic::Percent => return format!("{value}% ({expression} = {value})"),
        Topic::MonthlyPayment => language.pick("The monthly payment is", "每月还款额为"),
        Topic::YearlyPayment => language.pick("The yearly payment is", "每年还款额为"),
        Topic::FirstPayment => language.pick("The payment of the first month is", "首月还款额为"),
        Topic::TotalInterest => language.pick("The interest in total is", "总利息为"),
        Topic::TotalPaid => language.pick("The repayment in total is", "还款总额为"),
        Topic::FinalAmount => language.pick("The final amount is", "最终金额为"),
        Topic::InterestEarned => language.pick("The interest is", "利息为"),
    };
    let stop = language.pick(".", "。");
    format!("{what} {}{stop}\n{expression} = {value}", grouped(value))
}

/// Whose spread was worked out: a sample's and a population's are two numbers.
fn of_whom(language: Language, expression: &str) -> &'static str {
    let is_of = |names: [&str; 2]| names.iter().any(|name| expression.starts_with(name));
    if is_of(["var(", "stdev("]) {
        language.pick(" (of a sample)", "（样本）")
    } else if is_of(["varp(", "stdevp("]) {
        language.pick(" (of the whole population)", "（总体）")
    } else {
        ""
    }
}

/// A count and what it counts, in English.
pub(super) fn count(value: &str, one: &str, many: &str) -> String {
    format!("{} {}", number(value), if value == "1" { one } else { many })
}

/// An order in words, and which one of it.
pub(super) fn order(language: Language, order: Order, nth: usize) -> String {
    let (english, chinese) = match order {
        Order::Newest => ("newest", "最新"),
        Order::Oldest => ("oldest", "最旧"),
        Order::Largest => ("largest", "最大"),
        Order::Smallest => ("smallest", "最小"),
    };
    match (language, nth) {
        (_, 1) => language.pick(english, chinese).to_owned(),
        (Language::English, 2) => format!("second {english}"),
        (Language::English, 3) => format!("third {english}"),
        (Language::English, nth) => format!("{nth}th {english}"),
        (Language::Chinese, nth) => format!("{chinese}（第 {nth} 位）"),
    }
}

/// Where files are, in words.
pub(super) fn place(language: Language, folder: Option<&str>, is_flat: bool) -> String {
    match (language, folder.filter(|folder| *folder != ".")) {
        (Language::English, Some(folder)) if is_flat => format!("in {folder}"),
        (Language::English, Some(folder)) => format!("under {folder}"),
        (Language::English, None) => "in the workspace".to_owned(),
        (Language::Chinese, Some(folder)) if is_flat => format!("{folder} 里"),
        (Language::Chinese, Some(folder)) => format!("{folder} 下"),
        (Language::Chinese, None) => "工作区里".to_owned(),
    }
}

/// Files of a kind, in words.
pub(super) fn files(language: Language, pattern: Option<&str>, is_one: bool) -> String {
    let (english, chinese) = if is_one { ("file", "文件") } else { ("files", "文件") };
    match (language, pattern) {
        (Language::English, Some(pattern)) => format!("{english} matching {pattern}"),
        (Language::English, None) => english.to_owned(),
        (Language::Chinese, Some(pattern)) => format!("匹配 {pattern} 的{chinese}"),
        (Language::Chinese, None) => chinese.to_owned(),
    }
}

/// A heading and the lines below it.
pub(super) fn list(head: &str, lines: impl IntoIterator<Item = String>) -> String {
    let mut text = head.to_owned();
    for line in lines {
        text.push_str("\n- ");
        text.push_str(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (value, expected) in [
            ("7591.79", "7,591.79"),
            ("-1234567", "-1,234,567"),
            ("999", "999"),
            ("1.5e30", "1.5e30"),
            ("1/3", "1/3"),
            ("7,591.79", "7,591.79"),
        ] {
            assert_eq!(grouped(value), expected);
        }
        assert_eq!(number("4242"), "4242");
        assert_eq!(number("3600000"), "3600000 (3,600,000)");
        assert_eq!(number("0.000125"), "0.000125");
    }

    #[test]
    fn reasons_are_told_up_to_the_first_number() {
        for (message, expected) in [
            ("Division by zero in `10/0`.", "Division by zero."),
            ("no answer after 3 tries", "no answer."),
            ("The expression is empty.", "The expression is empty."),
            ("Division by zero. At character 3: 10/0.", "Division by zero."),
            ("3", ""),
        ] {
            assert_eq!(without_numbers(message), expected);
        }
    }

    #[test]
    fn a_failed_calculation_tells_no_number() {
        for language in [Language::English, Language::Chinese] {
            for why in [
                Why::NoTool(Skill::Calculate),
                Why::Failed { skill: Skill::Calculate, message: "gave up after 3 tries".into() },
                Why::Failed { skill: Skill::Calculate, message: "division by zero".into() },
            ] {
                let said = sorry(language, &why);
                assert!(!said.chars().any(char::is_numeric), "{said}");
                assert!(said.starts_with("offline: "), "{said}");
            }
        }
    }
}
