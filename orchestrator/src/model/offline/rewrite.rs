//! How people word calculations, and the expressions that they mean: a table, English then Chinese.
//!
//! A row that matches is replaced by its template until none matches any more. Templates are
//! expressions for a tool; nothing is worked out here.

use std::sync::LazyLock;

use super::{
    pattern::{Caught, Pattern},
    signs,
};

/// More replacements than any honest request needs.
const MOST: usize = 200;

/// Wordings that become a value of their own, in brackets.
const VALUES: &[(&str, &str)] = &[
    ("百分之 {p}", "{p}%"),
    ("{p} (percent|per cent|pct)", "{p}%"),
    // English: percentages.
    ("(increase|raise|grow|mark up) {b} by {p}%", "({b}*(1+{p}/100))"),
    ("(decrease|reduce|lower|cut|discount) {b} by {p}%", "({b}*(1-{p}/100))"),
    ("{b} [is] (increased|raised) by {p}%", "({b}*(1+{p}/100))"),
    ("{b} [is] (decreased|reduced|discounted|lowered) by {p}%", "({b}*(1-{p}/100))"),
    ("{b} (with|after|at|less|minus) [a|an] {p}% (discount|off|reduction)", "({b}*(1-{p}/100))"),
    ("(add|adding) {p}% to {b}", "({b}*(1+{p}/100))"),
    (
        "total (with|including|after) {p}% (tax|sales tax|vat|tip|service charge) on {b}",
        "({b}*(1+{p}/100))",
    ),
    ("{p}% (sales tax|vat|service charge|commission|interest) on {b}", "({b}*{p}/100)"),
    ("{b} minus {p}%", "({b}*(1-{p}/100))"),
    ("{b} plus {p}%", "({b}*(1+{p}/100))"),
    ("{b} (减|减去) {p}%", "({b}*(1-{p}/100))"),
    ("{b} (加|加上) {p}%", "({b}*(1+{p}/100))"),
    ("{b} (with|plus|after) [a|an] {p}% (tip|tax|vat|markup|increase|fee)", "({b}*(1+{p}/100))"),
    ("{p}% (off|discount on|less than) [of] {b}", "({b}*(1-{p}/100))"),
    ("{p}% more than {b}", "({b}*(1+{p}/100))"),
    ("{b} (and is|but is|is|and) {p}% off", "({b}*(1-{p}/100))"),
    ("{p}% (of|on|tip on|tax on|commission on|fee on) {b}", "({b}*{p}/100)"),
    ("(percent|percentage|share|%) of {b} is {a}", "({a}/{b}*100)"),
    ("{a} is [what|which] (percent|percentage|share|%) of {b}", "({a}/{b}*100)"),
    ("{a} (as|in) [a] (percent|percentage|share) of {b}", "({a}/{b}*100)"),
    (
        "(percent|percentage|%) (change|increase|decrease|difference|growth) from {a} to {b}",
        "(({b}-{a})/{a}*100)",
    ),
    ("{a} (of|out of) {b} (as|in) [a] (percent|percentage|%)", "({a}/{b}*100)"),
    ("(percent|percentage|%) is {a} (of|out of) {b}", "({a}/{b}*100)"),
    ("{a} less than {b}", "({b} - {a})"),
    ("{a} more than {b}", "({b} + {a})"),
    // English: fractions.
    ("{a} and a half", "({a}+0.5)"),
    ("{a} and a quarter", "({a}+0.25)"),
    ("how much (more|greater|larger|bigger|higher) is {a} than {b}", "({a} - {b})"),
    ("how much (less|smaller|lower|fewer) is {a} than {b}", "({b} - {a})"),
    ("{a}/{b} of {c}", "({c}*{a}/{b})"),
    ("{a} (thirds|third) of {c}", "({c}*{a}/3)"),
    ("{a} (quarters|quarter|fourths) of {c}", "({c}*{a}/4)"),
    ("{a} fifths of {c}", "({c}*{a}/5)"),
    ("{a} (tenths|tenth) of {c}", "({c}*{a}/10)"),
    // English: functions.
    ("[the] (log|logarithm) [to] [the] base {b} of {a}", "log({a}, {b})"),
    ("[the] (ln|natural log|natural logarithm) of {a}", "ln({a})"),
    ("[the] (log|logarithm) of {a}", "log({a})"),
    ("[the] (sine|sin) of {a}", "sin({a})"),
    ("[the] (cosine|cos) of {a}", "cos({a})"),
    ("[the] (tangent|tan) of {a}", "tan({a})"),
    ("以 {b} 为 底 [，] {a} 的 对数", "log({a}, {b})"),
    ("{a} [的] 自然对数", "ln({a})"),
    ("{a} [的] 常用对数", "log({a})"),
    ("{a} [的] (正弦值|正弦)", "sin({a})"),
    ("{a} [的] (余弦值|余弦)", "cos({a})"),
    ("{a} [的] (正切值|正切)", "tan({a})"),
    ("[the] (square root of|sqrt of) {a}", "sqrt({a})"),
    ("[the] cube root of {a}", "cbrt({a})"),
    ("[the] square of {a}", "({a})^2"),
    ("[the] cube of {a}", "({a})^3"),
    ("{a} squared", "({a})^2"),
    ("{a} cubed", "({a})^3"),
    (
        "{a} (to the power of|raised to the power of|raised to the power|to the power|raised to) {b}",
        "({a})^({b})",
    ),
    ("[raise] {a} [raised] to the {b} power", "({a})^({b})"),
    ("[the] {b} power of {a}", "({a})^({b})"),
    ("[the] {b} root of {a}", "({a})^(1/({b}))"),
    ("[the] factorial of {a}", "({a})!"),
    ("{a} factorial", "({a})!"),
    ("[the] absolute value of {a}", "abs({a})"),
    ("[the] (sum|total) of {x*}", "({x* + })"),
    ("(sum|total) [up] {x*}", "({x* + })"),
    ("[the] product of {x*}", "({x* * })"),
    ("[the] (average|mean|arithmetic mean) [value] [of] {x*}", "(({x* + })/{x#})"),
    ("[the] difference (between|of) {a} and {b}", "({a} - {b})"),
    ("[the] quotient of {a} and {b}", "({a} / {b})"),
    ("[the] ratio of {a} to {b}", "({a} / {b})"),
    ("[the] (maximum|max|largest|biggest|greatest|highest) (of|among) {x*}", "max({x*, })"),
    ("[the] (minimum|min|smallest|least|lowest) (of|among) {x*}", "min({x*, })"),
    ("[the] (greatest common divisor|gcd) of {a} and {b}", "gcd({a}, {b})"),
    ("[the] (least common multiple|lcm) of {a} and {b}", "lcm({a}, {b})"),
    ("[the] remainder (when|if|of|after) [dividing] {a} [is] (divided by|by) {b}", "({a} % {b})"),
    ("{a} (mod|modulo) {b}", "({a} % {b})"),
    ("half of {a}", "({a}/2)"),
    ("(a third|1 third) of {a}", "({a}/3)"),
    ("(a quarter|1 quarter) of {a}", "({a}/4)"),
    ("(twice|double) {a}", "({a}*2)"),
    ("triple {a}", "({a}*3)"),
    // English: orders.
    ("(subtract|take|deduct) {a} (from|away from) {b}", "({b} - {a})"),
    ("add {a} (to|with) {b}", "({a} + {b})"),
    ("add [up|together] {x*}", "({x* + })"),
    ("multiply {a} (by|with) {b}", "({a} * {b})"),
    ("multiply {x*}", "({x* * })"),
    ("divide {a} by {b}", "({a} / {b})"),
    // Chinese: fractions and differences.
    ("{c} 的 {b} 分之 {a}", "({c}*{a}/{b})"),
    ("{b} 分之 {a} 的 {c}", "({c}*{a}/{b})"),
    ("{b} 分之 {a}", "({a}/{b})"),
    ("{a} 比 {b} (多|大|高) [了] (多少|几)", "({a} - {b})"),
    ("{a} 比 {b} (少|小|低) [了] (多少|几)", "({b} - {a})"),
    ("从 {b} [里面|里|中] (减去|减|扣除|扣掉) {a}", "({b} - {a})"),
    (
        "{a} 比 {b} (多|高|大|增加|增长|贵) [了] (百分之几|百分之多少|多少百分比)",
        "(({a}-{b})/{b}*100)",
    ),
    (
        "{a} 比 {b} (少|低|小|减少|下降|便宜) [了] (百分之几|百分之多少|多少百分比)",
        "(({b}-{a})/{b}*100)",
    ),
    // Chinese: percentages.
    ("{a} (是|占|为|相当于) {b} 的 (百分之几|百分之多少|百分比|多少百分比|%)", "({a}/{b}*100)"),
    ("{b} (增加|上涨|提高|涨价|涨|上调|增长|加价) [了] {p}%", "({b}*(1+{p}/100))"),
    ("{b} (减少|降低|下降|降价|降|下调|优惠|便宜) [了] {p}%", "({b}*(1-{p}/100))"),
    ("{b} 打 {d} 折", "({b}*{d}/10)"),
    ("{b} 的 {p}%", "({b}*{p}/100)"),
    ("{p}% 的 {b}", "({b}*{p}/100)"),
    (
        "从 {a} (到|增加到|增长到|涨到|降到|变为|变成) {b} [的] (增长率|变化率|涨幅|增幅|降幅|百分比变化)",
        "(({b}-{a})/{a}*100)",
    ),
    // Chinese: functions.
    ("{a} [的] (算术平方根|平方根)", "sqrt({a})"),
    ("(根号|√) {a}", "sqrt({a})"),
    ("{a} [的] 立方根", "cbrt({a})"),
    ("{a} [的] (开平方|开方|开根号)", "sqrt({a})"),
    ("{a} [的] 开立方", "cbrt({a})"),
    ("{a} 开 {b} 次方", "({a})^(1/({b}))"),
    ("{a} [的] {b} 次 方根", "({a})^(1/({b}))"),
    ("{a} [的] 平方", "({a})^2"),
    ("{a} [的] 立方", "({a})^3"),
    ("{a} [的] {b} 次 (方|幂)", "({a})^({b})"),
    ("{a} [的] 阶乘", "({a})!"),
    ("{a} [的] 绝对值", "abs({a})"),
    ("{a} [的] 一半", "({a}/2)"),
    ("{a} [的] {b} 倍", "({a}*{b})"),
    ("{a} 除以 {b} [的] (余数|余多少|余几)", "({a} % {b})"),
    ("{x*} [这些数|这几个数|这些数字|这几个数字] 的 (总和|和|合计|总计)", "({x* + })"),
    ("{x*} [这些数|这几个数|这些数字|这几个数字] (总和|之和|合计|总计)", "({x* + })"),
    (
        "{x*} [这些数|这几个数|这些数字|这几个数字] [的] (平均数|平均值|均值|平均)",
        "(({x* + })/{x#})",
    ),
    ("{x*} [的] (乘积|之积|积)", "({x* * })"),
    ("{x*} [的] 最大公约数", "gcd({x*, })"),
    ("{x*} [的] 最小公倍数", "lcm({x*, })"),
    ("{x*} (中|里|当中|之中) [的] (最大值|最大的数|最大的)", "max({x*, })"),
    ("{x*} (中|里|当中|之中) [的] (最小值|最小的数|最小的)", "min({x*, })"),
    ("{x*} [的] (最大值|最大数)", "max({x*, })"),
    ("{x*} [的] (最小值|最小数)", "min({x*, })"),
    ("{a} (和|与|跟|减|减去) {b} [的] (差|之差|差值)", "({a} - {b})"),
    ("{a} (和|与|跟|除以) {b} [的] (商|之商)", "({a} / {b})"),
    ("(求|计算|算) [一下] {x*} [的] (总和|和)", "({x* + })"),
    ("(把|将|用) {a} (加上|加) {b}", "({a} + {b})"),
    ("(平均数|平均值) [是|：|:] {x*}", "(({x* + })/{x#})"),
];

/// Wordings that are only an operator; how tightly it binds is the tool's affair.
const OPERATORS: &[(&str, &str)] = &[
    ("{a} (multiplied by|multiplied with|times|乘以|乘上|乘|×|·|∗) {b}", "{a} * {b}"),
    ("{a} (divided by|over|除以|÷) {b}", "{a} / {b}"),
    ("{a} (plus|added to|加上|加) {b}", "{a} + {b}"),
    ("{a} (minus|less|减去|减) {b}", "{a} - {b}"),
    ("{a} (×|÷) {b}", "{a} * {b}"),
];

/// How many places people want.
const PLACES: &[(&str, &str)] = &[
    (
        "[and] [round|rounded|rounding] [it|the result] (to|with|at) {n} (decimal places|decimal place|decimals|decimal|places|digits)",
        "{n}",
    ),
    ("[and] [round|rounded] [it|the result] to the nearest (whole number|integer)", "0"),
    ("[and] [round|rounded] [it|the result] to the nearest (cent|hundredth)", "2"),
    ("[结果] [请] (保留|精确到|四舍五入到|取) [小数点后] {n} 位 [小数]", "{n}"),
    ("[结果] [请] (取整|四舍五入到整数|保留整数|精确到整数)", "0"),
    ("[结果] (精确到|保留到) 分", "2"),
];

/// A table with its patterns taken apart.
type Table = LazyLock<Vec<(Pattern, &'static str)>>;

static VALUE_TABLE: Table = LazyLock::new(|| prepared(VALUES));
static OPERATOR_TABLE: Table = LazyLock::new(|| prepared(OPERATORS));
static PLACES_TABLE: Table = LazyLock::new(|| prepared(PLACES));

fn prepared(table: &'static [(&str, &str)]) -> Vec<(Pattern, &'static str)> {
    table.iter().map(|(row, template)| (Pattern::new(row), *template)).collect()
}

/// The text with every wording of the tables replaced.
pub(super) fn rewrite(text: &str) -> String {
    let mut text = signs::plain(text);
    // Every wording is about numbers.
    if !text.contains(|one: char| one.is_ascii_digit()) {
        return text;
    }
    for table in [&VALUE_TABLE, &OPERATOR_TABLE] {
        for _ in 0..MOST {
            let Some((caught, template)) = first(table, &text) else { break };
            text.replace_range(caught.start..caught.end, &caught.fill(template));
        }
    }
    text
}

/// How many decimal places are wanted, and the text without saying so.
pub(super) fn places(text: &str) -> (String, Option<String>) {
    match first(&PLACES_TABLE, text) {
        Some((caught, template)) => {
            let without = format!("{} {}", &text[..caught.start], &text[caught.end..]);
            (without, Some(caught.fill(template)))
        }
        None => (text.to_owned(), None),
    }
}

/// The first row of a table that matches.
fn first(table: &[(Pattern, &'static str)], text: &str) -> Option<(Caught, &'static str)> {
    table.iter().find_map(|(row, template)| Some((row.find(text)?, *template)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wordings_become_expressions() {
        let rows = [
            ("12 times 7 plus 3", "12 * 7 + 3"),
            ("3 x 4 and 12x7", "3 * 4 and 12*7"),
            ("15 percent of 80 plus 20", "(80*15/100) + 20"),
            ("what percentage of 80 is 20", "what (20/80*100)"),
            ("20 is what percent of 80", "(20/80*100)"),
            ("increase 200 by 10%", "(200*(1+10/100))"),
            ("20% off 350", "(350*(1-20/100))"),
            ("the sum of 3, 4 and 5", "(3 + 4 + 5)"),
            ("average of 3, 4, 5", "((3 + 4 + 5)/3)"),
            ("square root of 144", "sqrt(144)"),
            ("2 to the power of 10", "(2)^(10)"),
            ("raise 2 to the 5th power", "(2)^(5)"),
            ("2 to the 5th?", "(2)^(5)?"),
            ("2/3 of 90", "(90*2/3)"),
            ("3 quarters of 200", "(200*3/4)"),
            ("90的3分之2", "(90*2/3)"),
            ("what is minus 5 times 3 minus 2", "what is (-5) * 3 - 2"),
            ("负5乘以3", "(-5) * 3"),
            ("log base 2 of 1024", "log(1024, 2)"),
            ("the 3rd root of 27", "(27)^(1/(3))"),
            ("27开平方", "sqrt(27)"),
            ("27的3次方根", "(27)^(1/(3))"),
            ("the remainder when 17 is divided by 5", "(17 % 5)"),
            ("subtract 3 from 10", "(10 - 3)"),
            ("divide 10 by 4", "(10 / 4)"),
            ("240 的 15%", "(240*15/100)"),
            ("240的百分之15", "(240*15/100)"),
            ("20是80的百分之几", "(20/80*100)"),
            ("12乘以7再加3", "12 * 7再加3"),
            ("12乘7加3", "12 * 7 + 3"),
            ("144的平方根", "sqrt(144)"),
            ("2的10次方", "(2)^(10)"),
            ("3、4和5的平均数", "((3 + 4 + 5)/3)"),
            ("17除以5的余数", "(17 % 5)"),
            ("350打8折", "(350*8/10)"),
            ("10与3的差", "(10 - 3)"),
        ];
        for (text, expected) in rows {
            assert_eq!(rewrite(text), expected, "{text}");
        }
    }

    #[test]
    fn wanted_places_are_taken_out() {
        let rows = [
            ("10/3 rounded to 2 decimal places", "10/3", Some("2")),
            ("10/3，保留2位小数", "10/3，", Some("2")),
            ("10/3 to the nearest integer", "10/3", Some("0")),
            ("10/3", "10/3", None),
        ];
        for (text, expected, wanted) in rows {
            let (without, places) = places(text);
            assert_eq!((without.trim(), places.as_deref()), (expected, wanted), "{text}");
        }
    }
}
