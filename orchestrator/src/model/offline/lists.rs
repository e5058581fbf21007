//! A list of numbers and what is asked of it, wherever the words for that stand: "I scored 3, 4 and 5;
//! what is the average?". Wordings in which both stand together are in `rewrite.rs`.

use super::{pattern, words::has_any};

/// What may be asked of a list, and the expression for it. The first that is said counts.
const ASKED: &[(&str, &str)] = &[
    ("standard deviation, stdev, 标准差", "stdev({x*, })"),
    ("variance, 方差", "var({x*, })"),
    ("median, 中位数, 中值", "median({x*, })"),
    ("众数", "mode({x*, })"),
    ("average*, mean, 平均, 均值", "(({x* + })/{x#})"),
    ("range of, spread of, 极差", "(max({x*, }) - min({x*, }))"),
    ("product, multiply, multiplied, 乘积, 相乘, 连乘, 之积, 乘起来", "({x* * })"),
    (
        "larger, bigger, greater, higher, 哪个大, 更大, 较大, largest, biggest, greatest, highest, maximum, max, 最大, 最高, 最多",
        "max({x*, })",
    ),
    (
        "smaller, lower, 哪个小, 更小, 较小, smallest, littlest, lowest, least, minimum, min, 最小, 最低, 最少",
        "min({x*, })",
    ),
    (
        "sum, total, totals, add, adds, adding, added, in all, altogether, combined, together, 之和, \
         总和, 求和, 相加, 加起来, 加在一起, 合计, 总共, 一共, 总计, 加总, 的和",
        "({x* + })",
    ),
];

/// The same where the numbers are all there are, not a sample of more.
const ASKED_OF_ALL: &[(&str, &str)] =
    &[("standard deviation, stdev, 标准差", "stdevp({x*, })"), ("variance, 方差", "varp({x*, })")];
const ALL: &str = "population, populations, population's, 总体, 全体";

/// The expression for what a text asks of the one list in it.
pub(super) fn find(text: &str) -> Option<String> {
    let list = pattern::find("{x*}", text)?;
    if pattern::find("{x*}", &text[list.end..]).is_some() {
        return None;
    }
    // The words around the list, not those that a number could hold.
    let around = format!("{} {}", &text[..list.start], &text[list.end..]);
    let of_all = ASKED_OF_ALL.iter().filter(|_| has_any(&around, ALL));
    let (_, template) = of_all.chain(ASKED).find(|(words, _)| has_any(&around, words))?;
    Some(list.fill(template))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_of_a_list_may_stand_anywhere() {
        let rows = [
            ("What do 3, 4 and 5 add up to?", Some("(3 + 4 + 5)")),
            ("Add these up: 3 4 5", Some("(3 + 4 + 5)")),
            ("I scored 3, 4, and 5. What's my average?", Some("((3 + 4 + 5)/3)")),
            ("the median of the values 3, 4.5, 6", Some("median(3, 4.5, 6)")),
            ("Which of these is the largest: 3, 4, 5?", Some("max(3, 4, 5)")),
            ("请把下面几个数相加：3、4、5", Some("(3 + 4 + 5)")),
            ("成绩是3、4、5，平均分是多少", Some("((3 + 4 + 5)/3)")),
            ("3、4、5哪个最小", Some("min(3, 4, 5)")),
            ("the variance of 3, 4, 5", Some("var(3, 4, 5)")),
            ("the sample variance of 3, 4, 5", Some("var(3, 4, 5)")),
            ("the population variance of 3, 4, 5", Some("varp(3, 4, 5)")),
            ("population standard deviation of 3, 4, 5", Some("stdevp(3, 4, 5)")),
            ("3、4、5的样本标准差", Some("stdev(3, 4, 5)")),
            ("3、4、5的总体方差", Some("varp(3, 4, 5)")),
            ("What is 3?", None),
            ("lines 3, 4 and 5", None),
        ];
        for (text, expected) in rows {
            assert_eq!(find(text).as_deref(), expected, "{text}");
        }
    }
}
