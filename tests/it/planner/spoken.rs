//! Calculations in words: numerals, fractions, powers of ten, functions, growth, and what is left of
//! them where a sentence asks for more than a calculation.

use super::{
    draw::{Value, same},
    table::{Check, Intent},
};

pub(super) const INTENTS: [Intent; 5] = [
    Intent {
        name: "numbers in words",
        english: &[
            ("What is {words} times {n}?", "{words}*{n}"),
            ("{words} plus {more}", "{words}+{more}"),
            ("Subtract {n} from {words}", "{words}-{n}"),
            ("How much is {words} divided by {n}?", "{words}/{n}"),
            ("work out {more} minus {words}", "{more}-{words}"),
        ],
        chinese: &[
            ("{words}加{more}", "{words}+{more}"),
            ("{words}乘以{n}等于多少", "{words}*{n}"),
            ("{words}的百分之{n}", "{words}*{n}/100"),
            ("帮我算一下{words}减去{n}", "{words}-{n}"),
            ("用{words}除以{n}是多少？", "{words}/{n}"),
        ],
        values: |draw, _, is_chinese| {
            let word = if is_chinese { chinese } else { english };
            vec![
                ("words", word(draw.whole(101, 9999))),
                ("more", word(draw.whole(21, 999))),
                ("n", draw.number(3, 60)),
            ]
        },
        check: Check::Calculated,
    },
    Intent {
        name: "fractions, signs and powers of ten",
        english: &[
            ("What is three quarters of {a}?", "{a}*3/4"),
            ("two thirds of {a}", "{a}*2/3"),
            ("1/{n} of {a}", "{a}/{n}"),
            ("minus {n} times {b}", "-{n}*{b}"),
            ("{n}e3 / {b}", "{n}000/{b}"),
            ("What's -{n} + {a}?", "-{n}+{a}"),
            ("{n} and a half times {b}", "({n}+1/2)*{b}"),
        ],
        chinese: &[
            ("{a}的四分之三是多少", "{a}*3/4"),
            ("三分之二的{a}", "{a}*2/3"),
            ("负{n}乘以{b}", "-{n}*{b}"),
            ("{a}的{n}分之一", "{a}/{n}"),
            ("{a}比{b}多多少？", "{a}-{b}"),
        ],
        values: |draw, _, _| {
            vec![
                ("a", draw.number(1200, 9800)),
                ("b", draw.number(12, 97)),
                ("n", draw.number(3, 9)),
            ]
        },
        check: Check::Calculated,
    },
    Intent {
        name: "functions",
        english: &[
            ("log base 2 of {two}", "{e}"),
            ("What is log10({ten})?", "{d}"),
            ("What is the remainder when {a} is divided by {n}?", "{a}%{n}"),
            ("the square root of {square}, plus {n}", "{b}+{n}"),
            ("{b} squared minus {n} squared", "{b}*{b}-{n}*{n}"),
            ("sine of 30 degrees times {a}", "{a}/2"),
        ],
        chinese: &[
            ("以2为底{two}的对数是多少", "{e}"),
            ("{a}除以{n}的余数是几", "{a}%{n}"),
            ("{square}开平方再加{n}", "{b}+{n}"),
            ("{b}的平方减去{n}的平方", "{b}*{b}-{n}*{n}"),
            ("{a}乘以30度的正弦值", "{a}/2"),
        ],
        values: |draw, _, _| {
            let (b, e, d) = (draw.whole(12, 97), draw.whole(5, 20), draw.whole(3, 9));
            vec![
                ("two", same((1_u64 << e).to_string())),
                ("ten", same(format!("1{}", "0".repeat(d as usize)))),
                ("square", same((b * b).to_string())),
                ("e", same(e.to_string())),
                ("d", same(d.to_string())),
                ("b", same(b.to_string())),
                ("a", draw.number(1200, 9800)),
                ("n", draw.number(3, 9)),
            ]
        },
        check: Check::Calculated,
    },
    Intent {
        name: "one after the other, in other words",
        english: &[
            ("{a} + {b}, then multiply by {n}", "({a}+{b})*{n}"),
            ("({a} - {b}) * {n}, and then minus {b}", "({a}-{b})*{n}-{b}"),
            ("Start with {a}, subtract {b}, then divide by {n}", "({a}-{b})/{n}"),
            ("Add {a} and {b}, then double it", "({a}+{b})*2"),
            ("Multiply {a} by {n}. Then add {b}.", "{a}*{n}+{b}"),
        ],
        chinese: &[
            ("先算{a}加{b}，再乘以{n}，最后减去{b}", "({a}+{b})*{n}-{b}"),
            ("{a}减去{b}，然后除以{n}", "({a}-{b})/{n}"),
            ("用{a}除以{n}，然后加{b}", "{a}/{n}+{b}"),
            ("先把{a}减去{b}，再乘以{n}", "({a}-{b})*{n}"),
            ("{a}加上{b}，再除以{n}", "({a}+{b})/{n}"),
        ],
        values: |draw, _, _| {
            vec![
                ("a", draw.number(1200, 9800)),
                ("b", draw.number(12, 997)),
                ("n", draw.number(3, 40)),
            ]
        },
        check: Check::Calculated,
    },
    Intent {
        name: "what grows, and what is paid",
        english: &[
            (
                "A town of {a} people grows by {p}% a year. How many live there after {n} years?",
                "{a}*(1+{p}/100)**{n}",
            ),
            (
                "A car worth {a} loses {p}% of its value every year. What is it worth after {n} years?",
                "{a}*(1-{p}/100)**{n}",
            ),
            ("{n} mugs at {b} each and {m} plates at {a} each, the total?", "{n}*{b}+{m}*{a}"),
            ("What change do I get if {n} mugs at {b} each are paid with {a}?", "{a}-{n}*{b}"),
            ("add {p}% to {a}", "{a}*(1+{p}/100)"),
        ],
        chinese: &[
            ("人口{a}，每年增长{p}%，{n}年后人口是多少", "{a}*(1+{p}/100)**{n}"),
            ("价值{a}元的车每年折旧{p}%，{n}年后值多少", "{a}*(1-{p}/100)**{n}"),
            ("一支笔{b}元，买{n}支一共多少钱", "{b}*{n}"),
            ("每斤{b}元，买了{n}斤，付了{a}元，找回多少钱？", "{a}-{b}*{n}"),
            ("原价{a}元打七五折多少钱", "{a}*75/100"),
        ],
        values: |draw, _, _| {
            vec![
                ("a", draw.number(1200, 9800)),
                ("b", draw.number(12, 97)),
                ("p", draw.decimal(2, 9)),
                ("n", draw.number(2, 9)),
                ("m", draw.number(2, 9)),
            ]
        },
        check: Check::Calculated,
    },
];

/// Sentences that hold a calculation or a request about files, and more.
pub(super) const LIMITS: [Intent; 2] = [
    Intent {
        name: "more than a calculation",
        english: &[
            ("{a} + {b} but ignore the {b}", ""),
            ("Do not calculate {a} + {b}", ""),
            ("What is {a} + {b}, and who invented it?", ""),
            ("Take {a}, florb it by {n}, then add {b}", ""),
            ("What is {a} plus {b} in hexadecimal?", ""),
            ("{a} plus {b} {word} {n}", ""),
        ],
        chinese: &[
            ("不要计算{a}+{b}", ""),
            ("{a}加{b}等于几只猫和{n}只狗？", ""),
            ("除了{n}以外，把{a}和{b}加起来", ""),
            ("{a}减{b}是多少？为什么？", ""),
            ("{a}加{b}，用二进制表示", ""),
        ],
        values: |draw, _, _| {
            vec![
                ("a", draw.number(1200, 9800)),
                ("b", draw.number(12, 97)),
                ("n", draw.number(2, 9)),
                ("word", same(draw.word())),
            ]
        },
        check: Check::GivenUp,
    },
    Intent {
        name: "more than a request about files",
        english: &[
            ("Which files under {folder} do not mention {word}?", ""),
            ("List the files in {folder} except {name}", ""),
            ("Which files in {folder} are larger than {n} bytes?", ""),
            ("How many lines of {file} are longer than {n} characters?", ""),
            ("Do not run `ls {folder}`", ""),
            ("Count the blank lines in {file}", ""),
            ("Which files mention {word} and start with {name}?", ""),
            ("Run `ls` only if {folder} exists", ""),
            ("Show {file} without its headings", ""),
        ],
        chinese: &[
            ("{folder} 下哪些文件没有提到 {word}？", ""),
            ("列出 {folder} 里除了 {name} 以外的文件", ""),
            ("列出 {folder} 里大于{n}字节的文件", ""),
            ("不要运行 `ls {folder}`", ""),
            ("不要读取 {file}", ""),
        ],
        values: |draw, scene, _| {
            let planted = draw.pick(&scene.planted);
            vec![
                ("word", same(planted.word)),
                ("folder", same(planted.folder)),
                ("name", same(planted.file.rsplit('/').next().unwrap())),
                ("file", same(planted.file)),
                ("n", draw.number(20, 900)),
            ]
        },
        check: Check::GivenUp,
    },
];

const ONES: [&str; 20] = [
    "",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

fn english(number: u64) -> Value {
    let below_hundred = |number: u64| match number {
        0..20 => ONES[number as usize].to_owned(),
        _ if number.is_multiple_of(10) => TENS[number as usize / 10].to_owned(),
        _ => format!("{}-{}", TENS[number as usize / 10], ONES[number as usize % 10]),
    };
    let mut parts = Vec::new();
    if number >= 1000 {
        parts.push(format!("{} thousand", ONES[number as usize / 1000]));
    }
    if number % 1000 >= 100 {
        parts.push(format!("{} hundred", ONES[number as usize % 1000 / 100]));
    }
    let rest = below_hundred(number % 100);
    if !rest.is_empty() && !parts.is_empty() {
        parts.push("and".to_owned());
    }
    parts.push(rest);
    Value { shown: parts.join(" ").trim().to_owned(), plain: number.to_string() }
}

fn chinese(number: u64) -> Value {
    let digits: Vec<char> = "零一二三四五六七八九".chars().collect();
    let mut shown = String::new();
    let mut has_gap = false;
    for (scale, name) in [(1000, "千"), (100, "百"), (10, "十"), (1, "")] {
        let digit = number / scale % 10;
        if digit == 0 {
            has_gap = !shown.is_empty();
            continue;
        }
        if has_gap {
            shown.push('零');
        }
        has_gap = false;
        shown.push(digits[digit as usize]);
        shown.push_str(name);
    }
    Value { shown, plain: number.to_string() }
}
