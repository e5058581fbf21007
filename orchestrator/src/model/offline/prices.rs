//! Everyday sums of two numbers whose words stand apart from them: so many at a price each, a price
//! with a discount or a tax, a share of a bill, a change in percent. Wordings in which all stands
//! together are in `rewrite.rs`.

use super::{
    pattern,
    sums::Topic,
    words::{find_any, has_any},
};

/// What is paid too much is wanted.
const CHANGE_BACK: &str = "change do i get, change will i get, change should i get, much change, do i get back, change is due, \
    找回, 找零, 应找, 找多少, 找我多少";
/// A number is a price of one of several things.
const EACH: &str = "each, apiece, a piece, per, every, 每, 单价, 一支, 一个, 一本, 一件, 一斤, 一瓶, 一张, 一杯, 一箱, 一台, 一盒, 一包, 一双, 一块, 一公斤";
/// All of them are meant.
const ALL: &str = "total, cost, costs, pay, spend, owe, how much, how many, altogether, in all, bill, 一共, 总共, \
    多少钱, 总价, 共, 花, 付";
/// One of several is meant, so this is no product.
const ONE: &str = "split, share*, evenly, equally, is each, does each, do each, each cost, each get, each pay, \
    平分, 均分, 平均, 分给, 每人多少, 每个多少, 每件多少, 每份多少, 每人得, 每人付";
/// Behind the number of those who share.
const SHARERS: &[&str] = &[
    "people",
    "person",
    "friends",
    "kids",
    "children",
    "students",
    "ways",
    "of us",
    "parts",
    "groups",
    "teams",
    "guests",
    "人",
    "个人",
    "个孩子",
    "个小朋友",
    "个学生",
    "名",
    "位",
    "份",
    "组",
    "个组",
    "个朋友",
];
/// A change is meant in hundredths of what was there before.
const CHANGE: &str =
    "percent, percentage, %, 增长率, 变化率, 百分之几, 百分之多少, 百分比, 涨幅, 增幅, 降幅, 跌幅";
const FALLEN: &str = "decreas*, drop*, fall*, fell, reduc*, 降幅, 跌幅, 下降, 降低, 减少";
const LESS: &str = "spend, spends, spent, spending, is left, are left, remain*, 花了, 花掉, 用掉, 剩下, off, discount*, deduct*, withh*, take home, 扣, 税后, cheaper, reduc*, decreas*, drop*, fall*, fell, lower*, less, loses, lost, 降, \
    减, 优惠, 便宜, 跌, 折扣, 下调";
const MORE: &str = "tax, taxes, vat, tip, service charge, increas*, rais*, rise*, rose, grow*, grew, goes up, \
    went up, go up, more, markup, surcharge, gain*, 涨, 增, 上调, 提高, 提升, 加价, 税, 小费";
/// Only what is added or taken off is wanted.
const ALONE: &str = "how much tax, how much tip, how much is the tip, how much is the tax, how much vat, \
    how much discount, how much is the discount, how much off, do i save, will i save, would i save, \
    省多少, 省了多少, 优惠多少, 优惠了多少, 便宜多少, 便宜了多少, 税额, 多少税, 小费多少, 小费是多少";

/// The expression for two numbers in everyday words, and what its value is.
pub(super) fn find(text: &str) -> Option<(String, Topic)> {
    let values = values(text);
    if values.len() > 2 {
        return of_several(text, &values);
    }
    let [first, second] = values.try_into().ok()?;
    let (base, percent) = match (first.is_percent, second.is_percent) {
        (false, true) => (first.text, second.text),
        (true, false) => (second.text, first.text),
        (true, true) => return None,
        (false, false) => return of_plain(text, &first, &second),
    };
    let (is_less, is_more) = (has_any(text, LESS), has_any(text, MORE));
    let is_alone = has_any(text, ALONE);
    let found = match (is_less, is_more) {
        (false, false) => return None,
        _ if is_alone => format!("({base}*{percent}/100)"),
        (true, _) => format!("({base}*(1-{percent}/100))"),
        (false, true) => format!("({base}*(1+{percent}/100))"),
    };
    Some((found, Topic::Plain))
}

/// Two products: so many at a price each, and others at another; or what is left of a sum that one
/// product is paid with.
fn of_several(text: &str, values: &[Value]) -> Option<(String, Topic)> {
    if values.iter().any(|value| value.is_percent || value.is_tenths || value.is_sharers) {
        return None;
    }
    let plain = |expression| Some((expression, Topic::Plain));
    match values {
        [a, b, c, d] if repeats(text, EACH) && has_any(text, ALL) && !has_any(text, ONE) => {
            plain(format!("({} * {} + {} * {})", a.text, b.text, c.text, d.text))
        }
        [a, b, paid] if has_any(text, EACH) && has_any(text, CHANGE_BACK) => {
            plain(format!("({} - {} * {})", paid.text, a.text, b.text))
        }
        _ => None,
    }
}

/// Whether a word of a list stands in a text twice, or two of them do.
fn repeats(text: &str, list: &str) -> bool {
    find_any(text, list).is_some_and(|(_, end)| has_any(&text[end..], list))
}

fn of_plain(text: &str, first: &Value, second: &Value) -> Option<(String, Topic)> {
    let (a, b) = (&first.text, &second.text);
    let plain = |expression| Some((expression, Topic::Plain));
    // `打八折`: eight tenths of the price are paid.
    if second.is_tenths {
        return plain(format!("({a}*{b}/10)"));
    }
    let is_from_to = (has_any(text, "from") && has_any(text, "to"))
        || (text.contains('从') && text.contains('到'));
    if is_from_to && has_any(text, CHANGE) {
        let change =
            if has_any(text, FALLEN) { format!("({a}-{b})") } else { format!("({b}-{a})") };
        return Some((format!("({change}/{a}*100)"), Topic::Percent));
    }
    if has_any(text, ONE) {
        return match (first.is_sharers, second.is_sharers) {
            (true, false) => plain(format!("({b} / {a})")),
            (false, true) => plain(format!("({a} / {b})")),
            _ => None,
        };
    }
    let is_product = has_any(text, EACH) && has_any(text, ALL);
    is_product.then(|| (format!("({a} * {b})"), Topic::Plain))
}

struct Value {
    text: String,
    is_percent: bool,
    is_tenths: bool,
    /// The number of those who share.
    is_sharers: bool,
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
            is_sharers: SHARERS.iter().any(|word| after.starts_with(word)),
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
            ("12 people share a bill of 90, what does each pay?", Some("(90 / 12)")),
            ("把90平均分给12个人，每人多少？", Some("(90 / 12)")),
            (
                "3 apples at 1.2 each and 2 loaves at 2.5 each, the total?",
                Some("(3 * 1.2 + 2 * 2.5)"),
            ),
            ("每斤6元，买了3斤，付了50元，找回多少？", Some("(50 - 6 * 3)")),
            ("3 pens cost 12, how much is each?", None),
            ("By what percentage did it grow from 80 to 100?", Some("((100-80)/80*100)")),
            ("价格从100降到80，降幅是多少", Some("((100-80)/100*100)")),
            ("工资80元，扣除5%的税后剩多少", Some("(80*(1-5/100))")),
            ("Between 3 and 4", None),
            ("80 with 5% and 3% off", None),
        ];
        for (text, expected) in rows {
            let found = find(text).map(|(expression, _)| expression);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
