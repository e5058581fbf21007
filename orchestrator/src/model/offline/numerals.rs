//! Numbers as people write them, made into numbers as tools read them.
//!
//! Nothing is worked out: `1.2 million` becomes `(1.2*1000000)`, and a tool may multiply.

mod english;

use super::{pattern, words};

/// Magnitudes behind a number.
const SCALES: &[(&str, &str)] = &[
    ("dozen", "12"),
    ("thousand", "1000"),
    ("million", "1000000"),
    ("billion", "1000000000"),
    ("trillion", "1000000000000"),
    ("k", "1000"),
    ("万亿", "1000000000000"),
    ("千万", "10000000"),
    ("百万", "1000000"),
    ("万", "10000"),
    ("亿", "100000000"),
    ("千", "1000"),
    ("百", "100"),
];

/// Chinese digits from 0 on.
const HAN_ONES: &str = "零一二三四五六七八九";

const HAN_SCALES: &[(char, &str)] =
    &[('十', "10"), ('百', "100"), ('千', "1000"), ('万', "10000"), ('亿', "100000000")];

/// Signs and words of money, which a calculation does not need.
const MONEY: &str = "US$, $, €, £, ¥, ￥, RMB, USD, EUR, dollars, dollar, euros, euro, pounds, yuan, 元, 块钱, \
    块, 人民币, 美元, 欧元";

/// Before these characters "one" counts nothing: `一下`, `一共`.
const NOT_A_NUMBER: &[char] = &[
    '下', '共', '些', '起', '般', '样', '定', '直', '点', '次', '个', '遍', '句', '行', '种', '半',
    '律', '切', '旦', '边', '时', '件', '本', '台', '张', '把', '只', '支', '瓶', '箱', '杯', '份',
    '辆', '套', '双', '间', '批', '款', '笔', '家', '位', '名', '条', '辈', '致', '同',
];

/// Before these characters "zero" means small or loose: `零钱`, `零存`.
const AFTER_ZERO: &[char] = &['存', '钱', '售', '食', '件', '头', '用', '散', '星', '碎'];

/// A text in which every number is plain digits or an expression of them.
pub(super) fn plain(text: &str) -> String {
    let text = without_money(text);
    let text = without_groups(&text).replace("圆周率", "pi").replace('π', "pi");
    let text = han(&text);
    let text = english::plain(&text);
    tenths(&scaled(&text))
}

/// `七五折` and `75折` are seven and a half tenths.
fn tenths(text: &str) -> String {
    let mut kept = text.to_owned();
    for (at, _) in text.match_indices('折').rev() {
        let before = text[..at].trim_end();
        let digits = before.bytes().rev().take_while(u8::is_ascii_digit).count();
        let is_part = before[..before.len() - digits].ends_with(['.', ')']);
        if digits == 2 && !is_part {
            kept.insert(before.len() - 1, '.');
        }
    }
    kept
}

/// Ordinals from 1 on.
const ORDINALS: &str = "first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth";

/// A text with plain numbers, in which a place in an order is a number behind `no`: `2nd`, `third`.
/// Chinese has `第` for that.
pub(super) fn ordinals(text: &str) -> String {
    let mut text = text.to_owned();
    for (word, number) in words::each(ORDINALS).zip(1..) {
        while let Some((start, end)) = words::find(&text, word) {
            text.replace_range(start..end, &format!("no {number}"));
        }
    }
    let text = plain(&text.replace('第', "第 "));
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(|one: char| one.is_ascii_digit()) {
        let end = at + rest[at..].bytes().take_while(u8::is_ascii_digit).count();
        let endings = ["st", "nd", "rd", "th"];
        let behind = endings.iter().find_map(|ending| rest[end..].strip_prefix(*ending));
        kept.push_str(&rest[..at]);
        kept.push_str(if behind.is_some() { "no " } else { "" });
        kept.push_str(&rest[at..end]);
        rest = behind.unwrap_or(&rest[end..]);
    }
    kept + rest
}

fn without_money(text: &str) -> String {
    let mut kept = text.to_owned();
    for word in words::each(MONEY) {
        while let Some((start, end)) = words::find(&kept, word) {
            // What is left must not run together: `300元4年`.
            let is_between = kept[..start].ends_with(|one: char| one.is_ascii_digit())
                && kept[end..].starts_with(|one: char| one.is_ascii_digit());
            kept.replace_range(start..end, if word.is_ascii() || is_between { " " } else { "" });
        }
    }
    kept
}

/// `1,200,000` becomes `1200000`; a comma between the values of a call such as `max(1,200)` stays.
fn without_groups(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut kept = String::with_capacity(text.len());
    let mut calls: Vec<bool> = Vec::new();
    for (at, &character) in characters.iter().enumerate() {
        match character {
            '(' => {
                let before = at.checked_sub(1).and_then(|before| characters.get(before));
                calls.push(before.is_some_and(char::is_ascii_alphabetic));
            }
            ')' => drop(calls.pop()),
            ',' if !calls.last().copied().unwrap_or(false) && groups(&characters, at) => {
                continue;
            }
            _ => {}
        }
        kept.push(character);
    }
    kept
}

/// Whether the comma at `at` stands between one to three digits (or whole groups) and exactly
/// three. A comma behind decimals divides a list.
fn groups(characters: &[char], at: usize) -> bool {
    let is_digit = |at: usize| characters.get(at).is_some_and(char::is_ascii_digit);
    let after = (at + 1..characters.len()).take_while(|at| is_digit(*at)).count();
    let before = (0..at).rev().take_while(|at| is_digit(*at)).count();
    let leads = (at - before).checked_sub(1).and_then(|leads| characters.get(leads));
    after == 3 && (1..=3).contains(&before) && leads != Some(&'.')
}

/// Chinese numerals: `三百二十` becomes `(3*100+2*10)`.
fn han(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    while at < characters.len() {
        let length = characters[at..].iter().take_while(|one| is_han_numeral(**one)).count();
        let next = characters.get(at + length);
        let before = at.checked_sub(1).and_then(|before| characters.get(before));
        let follows_a_number =
            before.is_some_and(|before| before.is_ascii_digit() || *before == '第');
        let is_number = length > 0
            && !follows_a_number
            && characters[at..at + length].iter().any(|one| digit(*one).is_some() || *one == '十')
            && !(length == 1 && is_a_word(characters[at], next));
        if is_number {
            let number = han_number(&characters[at..at + length]);
            at += length;
            // `十二点五`
            let decimals: String = characters
                .get(at + 1..)
                .filter(|_| next == Some(&'点'))
                .map(|rest| rest.iter().map_while(|one| digit(*one)).collect())
                .unwrap_or_default();
            at += if decimals.is_empty() { 0 } else { decimals.len() + 1 };
            kept.push_str(&with_decimals(number, &decimals));
        } else {
            // What is no number is passed over as a whole.
            let step = length.max(1);
            kept.extend(&characters[at..at + step]);
            at += step;
        }
    }
    kept
}

/// A numeral and the digits behind its point.
fn with_decimals(number: String, decimals: &str) -> String {
    match number.strip_suffix(')') {
        _ if decimals.is_empty() => number,
        Some(terms) => format!("{terms}+0.{decimals})"),
        None => format!("{number}.{decimals}"),
    }
}

/// Whether a numeral and the character behind it are no number: `一下`, `零钱`.
fn is_a_word(numeral: char, next: Option<&char>) -> bool {
    let words = match numeral {
        '一' => NOT_A_NUMBER,
        '零' => AFTER_ZERO,
        _ => return false,
    };
    next.is_some_and(|next| words.contains(next))
}

fn is_han_numeral(character: char) -> bool {
    digit(character).is_some() || HAN_SCALES.iter().any(|(scale, _)| *scale == character)
}

fn digit(character: char) -> Option<char> {
    let plain = match character {
        '〇' => '零',
        '两' => '二',
        other => other,
    };
    HAN_ONES.chars().zip('0'..='9').find(|(known, _)| *known == plain).map(|(_, digit)| digit)
}

/// One numeral as a sum of products; the tool works it out.
fn han_number(numeral: &[char]) -> String {
    if numeral.iter().all(|character| digit(*character).is_some()) {
        return numeral.iter().filter_map(|character| digit(*character)).collect();
    }
    for large in ['亿', '万'] {
        if let Some(at) = numeral.iter().rposition(|character| *character == large) {
            let scale = HAN_SCALES.iter().find(|(known, _)| *known == large);
            let scale = scale.map_or("1", |(_, scale)| *scale);
            let (above, below) = (&numeral[..at], &numeral[at + 1..]);
            let above = if above.is_empty() { "1".to_owned() } else { han_number(above) };
            return match below {
                [] => format!("({above}*{scale})"),
                below => format!("({above}*{scale}+{})", han_number(below)),
            };
        }
    }
    let mut terms = Vec::new();
    let mut pending: Option<char> = None;
    for character in numeral {
        if let Some((_, scale)) = HAN_SCALES.iter().find(|(known, _)| known == character) {
            terms.push(format!("{}*{scale}", pending.take().unwrap_or('1')));
        } else if let Some(digit) = digit(*character).filter(|digit| *digit != '0') {
            pending = Some(digit);
        }
    }
    terms.extend(pending.map(String::from));
    format!("({})", terms.join("+"))
}

/// `1.2 million` and `120万` become products.
fn scaled(text: &str) -> String {
    let mut kept = text.to_owned();
    for (word, factor) in SCALES {
        let pattern = format!("{{n}} {word}");
        // A single letter is a magnitude only right behind the digits.
        let pattern = if word.len() == 1 { format!("{{n}}{word}") } else { pattern };
        let mut from = 0;
        while let Some((at, end, number)) = number_with(&kept[from..], &pattern, word) {
            let product = format!("({number}*{factor})");
            kept.replace_range(from + at..from + end, &product);
            from += at + product.len();
        }
    }
    kept
}

fn number_with(text: &str, pattern: &str, word: &str) -> Option<(usize, usize, String)> {
    if word.len() == 1 {
        // `12k`: the value and the letter are one word.
        return text
            .match_indices(|character: char| character.eq_ignore_ascii_case(&'k'))
            .find_map(|(at, _)| {
                let digits = text[..at].bytes().rev();
                let length =
                    digits.take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
                let next = text.as_bytes().get(at + 1);
                let before = (at - length).checked_sub(1).and_then(|at| text.as_bytes().get(at));
                let is_word = next.is_some_and(u8::is_ascii_alphanumeric)
                    || before.is_some_and(u8::is_ascii_alphanumeric);
                (length > 0 && !is_word)
                    .then(|| (at - length, at + 1, text[at - length..at].to_owned()))
            });
    }
    let caught = pattern::find(pattern, text)?;
    Some((caught.start, caught.end, caught.fill("{n}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_an_order_become_numbers() {
        for (text, expected) in [
            ("the second largest of 3", "the no 2 largest of 3"),
            ("2nd and 13th", "no 2 and no 13"),
            ("第三大", "第 3大"),
            ("a secondary file", "a secondary file"),
        ] {
            assert_eq!(ordinals(text), expected);
        }
    }

    #[test]
    fn numbers_of_every_form_become_plain_ones() {
        let rows = [
            ("1,200,000 at 4.5%", "1200000 at 4.5%"),
            ("max(1,200) and 1,200", "max(1,200) and 1200"),
            ("3, 400 and 5", "3, 400 and 5"),
            ("849.5,606.75，120，300", "849.5,606.75，120，300"),
            ("本金300元4年，零存整取", "本金300 4年，零存整取"),
            ("$1,250.50 or 30 dollars", " 1250.50 or 30  "),
            ("1.2 million", "(1.2*1000000)"),
            ("120万元", "(120*10000)"),
            ("12k and 5 kg", "(12*1000) and 5 kg"),
            ("twenty-five times four", "(20+5) times 4"),
            ("a hundred minus one", "(1*100) minus 1"),
            ("a dozen times 3, a hundred files", "(1*12) times 3, (1*100) files"),
            ("three hundred and five", "(3*100+5)"),
            ("two thousand", "(2*1000)"),
            ("twelve thousand and one", "(12*1000+1)"),
            ("two hundred thousand six hundred and five", "((2*100)*1000+6*100+5)"),
            ("三百二十加十五", "(3*100+2*10)加(1*10+5)"),
            ("一万二千", "(1*10000+(2*1000))"),
            ("帮我算一下十二乘三", "帮我算一下(1*10+2)乘3"),
            ("一共有多少", "一共有多少"),
            ("二〇二六", "2026"),
            ("十二点五加三点一四", "(1*10+2+0.5)加3.14"),
            ("圆周率乘以二", "pi乘以2"),
            ("一件200", "一件200"),
            ("someone and often", "someone and often"),
        ];
        for (text, expected) in rows {
            assert_eq!(plain(text), expected, "{text}");
        }
    }
}
