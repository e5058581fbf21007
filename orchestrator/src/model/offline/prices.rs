//! Everyday sums of two numbers whose words stand apart from them: so many at a price each, a price
//! with a discount or a tax. Wordings in which all stands together are in `rewrite.rs`.

use super::{pattern, words::has_any};

/// A number is a price of one of several things.
const EACH: &str = "each, apiece, a piece, per, every, 每, 单价";
/// All of them are meant.
const ALL: &str = "total, cost, costs, pay, spend, owe, how much, altogether, in all, bill, 一共, 总共, 多少钱, \
    总价, 共, 花, 付";
/// One share is meant, so this is no product.
const SHARED: &str = "split, share*, evenly, equally, 平分, 均分, 平均, 分给";
const LESS: &str = "off, discount*, cheaper, reduc*, decreas*, drop*, fall*, fell, lower*, less, loses, lost, 降, \
    减, 优惠, 便宜, 跌, 折扣, 下调";
const MORE: &str = "tax, taxes, vat, tip, service charge, increas*, rais*, rise*, rose, grow*, grew, goes up, \
    went up, go up, more, markup, surcharge, gain*, 涨, 增, 上调, 提高, 提升, 加价, 税, 小费";
/// Only what is added or taken off is wanted.
const ALONE: &str = "how much tax, how much tip, how much is the tip, how much is the tax, how much vat, \
    how much discount, how much is the discount, how much off, do i save, will i save, would i save, \
    省多少, 省了多少, 优惠多少, 优惠了多少, 便宜多少, 便宜了多少, 税额, 多少税, 小费多少, 小费是多少";

/// The expression for two numbers in everyday words.
pub(super) fn find(text: &str) -> Option<String> {
    let [first, second] = values(text).try_into().ok()?;
    let (base, percent) = match (first.is_percent, second.is_percent) {
        (false, true) => (first.text, second.text),
        (true, false) => (second.text, first.text),
        (true, true) => return None,
        (false, false) => return of_plain(text, &first, &second),
    };
    let (is_less, is_more) = (has_any(text, LESS), has_any(text, MORE));
    if has_any(text, ALONE) && (is_less || is_more) {
        return Some(format!("({base}*{percent}/100)"));
    }
    match (is_less, is_more) {
        (true, _) => Some(format!("({base}*(1-{percent}/100))")),
        (false, true) => Some(format!("({base}*(1+{percent}/100))")),
        (false, false) => None,
    }
}

fn of_plain(text: &str, first: &Value, second: &Value) -> Option<String> {
    // `打八折`: eight tenths of the price are paid.
    if second.is_tenths {
        return Some(format!("({}*{}/10)", first.text, second.text));
    }
    let is_product = has_any(text, EACH) && has_any(text, ALL) && !has_any(text, SHARED);
    is_product.then(|| format!("({} * {})", first.text, second.text))
}

struct Value {
    text: String,
    is_percent: bool,
    is_tenths: bool,
}

fn values(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let length = text.is_char_boundary(at).then(|| pattern::value(text, at)).flatten();
        let Some(length) = length else {
            at += 1;
            continue;
        };
        let (before, after) = (text[..at].trim_end(), text[at + length..].trim_start());
        let words = ["%", "percent", "per cent", "pct"];
        found.push(Value {
            text: text[at..at + length].to_owned(),
            is_percent: words.iter().any(|word| after.starts_with(word))
                || before.ends_with("百分之"),
            is_tenths: after.starts_with('折'),
        });
        at += length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_numbers_in_everyday_words_become_a_sum() {
        let rows = [
            ("I bought 12 pens at 3.5 each, what's the total?", Some("(12 * 3.5)")),
            ("每支3.5元，买了12支，一共多少钱？", Some("(3.5 * 12)")),
            ("A shirt costs 80 and I get 25% off, what do I pay?", Some("(80*(1-25/100))")),
            ("My rent of 900 goes up 4%. What is it then?", Some("(900*(1+4/100))")),
            ("With 25% off a price of 80, how much do I save?", Some("(80*25/100)")),
            ("原价80元，打8.5折后多少钱", Some("(80*8.5/10)")),
            ("12 people share a bill of 90, what does each pay?", None),
            ("Between 3 and 4", None),
            ("80 with 5% and 3% off", None),
        ];
        for (text, expected) in rows {
            assert_eq!(find(text).as_deref(), expected, "{text}");
        }
    }
}
