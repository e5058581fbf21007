//! What the calculator is for.

use super::{
    draw::{Draw, Value, Values, same},
    scene::Scene,
    table::{Check, Intent},
};

pub(super) const INTENTS: [Intent; 8] = [
    Intent {
        name: "arithmetic",
        english: &[
            ("What is {a} * {b} - {c}?", "{a}*{b}-{c}"),
            ("Can you multiply {a} by {b} and then add {c}?", "{a}*{b}+{c}"),
            ("How much is {a} divided by {b}?", "{a}/{b}"),
            ("{a} + {b} + {c} = ?", "{a}+{b}+{c}"),
            ("Please work out ({a} - {c}) / {b} for me", "({a}-{c})/{b}"),
            ("compute {a} minus {b} plus {c}", "{a}-{b}+{c}"),
            ("I bought {b} boxes at {x} each, what's the total?", "{b}*{x}"),
            ("what's {a} times {x}", "{a}*{x}"),
            ("Subtract {b} from {a}.", "{a}-{b}"),
        ],
        chinese: &[
            ("{a}乘以{b}等于多少？", "{a}*{b}"),
            ("请计算 ({a} + {b}) × {c}", "({a}+{b})*{c}"),
            ("{a} 除以 {b} 是多少", "{a}/{b}"),
            ("帮我算算{a}减去{b}再加上{c}", "{a}-{b}+{c}"),
            ("{a}加{b}等于几?", "{a}+{b}"),
            ("每箱{x}元，买了{b}箱，一共多少钱？", "{b}*{x}"),
        ],
        values: arithmetic,
        check: Check::Calculated,
    },
    Intent {
        name: "percentage",
        english: &[
            ("What is {p}% of {a}?", "{a}*{p}/100"),
            ("How much is {p} percent of {a}?", "{a}*{p}/100"),
            ("What percentage of {a} is {b}?", "{b}/{a}*100"),
            ("Increase {a} by {p}%", "{a}*(1+{p}/100)"),
            ("If something costs {a} and I get {p}% off, what do I pay?", "{a}*(1-{p}/100)"),
            ("{b} is what percent of {a}?", "{b}/{a}*100"),
            ("What's {a} plus {p}% tax?", "{a}*(1+{p}/100)"),
        ],
        chinese: &[
            ("{a}的{p}%是多少？", "{a}*{p}/100"),
            ("{b}占{a}的百分之几？", "{b}/{a}*100"),
            ("百分之{p}的{a}是多少", "{a}*{p}/100"),
            ("原价{a}元，打{z}折后多少钱？", "{a}*{z}/10"),
            ("{a}增加{p}%之后是多少", "{a}*(1+{p}/100)"),
            ("求{a}的百分之{p}", "{a}*{p}/100"),
        ],
        values: percentage,
        check: Check::Calculated,
    },
    Intent {
        name: "one operation after the other",
        english: &[
            ("Multiply {b} by {c} and then subtract {a}", "{b}*{c}-{a}"),
            ("Take {a}, subtract {c}, then multiply by {b}", "({a}-{c})*{b}"),
            ("Add {a} and {b}, then divide the result by {c}", "({a}+{b})/{c}"),
            ("What is {a} minus {c}, and then times {b}?", "({a}-{c})*{b}"),
            ("start with {a}, add {b}, divide by {c}, then add {b}", "({a}+{b})/{c}+{b}"),
        ],
        chinese: &[
            ("{a}减{c}再乘以{b}是多少", "({a}-{c})*{b}"),
            ("先算{a}加{b}，再除以{c}", "({a}+{b})/{c}"),
            ("{b}乘以{c}，然后减去{a}", "{b}*{c}-{a}"),
            ("把{a}减去{c}，再除以{b}，等于多少？", "({a}-{c})/{b}"),
            ("{a}除以{b}再加{c}", "{a}/{b}+{c}"),
        ],
        values: arithmetic,
        check: Check::Calculated,
    },
    Intent {
        name: "shares, prices and changes",
        english: &[
            ("A jacket was {a} and is now {p}% cheaper. What's the new price?", "{a}*(1-{p}/100)"),
            ("Split a bill of {a} evenly among {n} people. How much is that each?", "{a}/{n}"),
            ("By what percentage did sales grow from {b} to {a}?", "({a}-{b})/{b}*100"),
            (
                "There are {n} boxes and each holds {b} bottles. How many bottles are there altogether?",
                "{n}*{b}",
            ),
            ("My rent of {a} goes up by {p} percent. What will I pay?", "{a}*(1+{p}/100)"),
        ],
        chinese: &[
            ("把{a}元平均分给{n}个人，每人多少？", "{a}/{n}"),
            ("销售额从{b}增长到{a}，增长率是多少？", "({a}-{b})/{b}*100"),
            ("一件衣服原价{a}元，现在便宜{p}%，现价多少？", "{a}*(1-{p}/100)"),
            ("工资{a}元，涨了{p}%，现在是多少？", "{a}*(1+{p}/100)"),
            ("每本书{b}元，买{n}本一共要多少钱", "{b}*{n}"),
        ],
        values: |draw, scene, is_chinese| {
            let mut values = percentage(draw, scene, is_chinese);
            values.push(("n", draw.number(3, 40)));
            values
        },
        check: Check::Calculated,
    },
    Intent {
        name: "power and root",
        english: &[
            ("What is {b} to the power of {e}?", "{b}**{e}"),
            ("{b} ^ {e}", "{b}**{e}"),
            ("Square root of {q}?", "root({q}, 2)"),
            ("What's the cube root of {c}?", "root({c}, 3)"),
            ("Raise {b} to the {e}th power", "{b}**{e}"),
            ("what is {b} squared", "{b}**2"),
        ],
        chinese: &[
            ("{b}的{e}次方是多少", "{b}**{e}"),
            ("{q}的平方根是多少？", "root({q}, 2)"),
            ("{q}开平方等于多少", "root({q}, 2)"),
            ("求{c}的立方根", "root({c}, 3)"),
            ("{b}的平方是多少", "{b}**2"),
        ],
        values: |draw, _, _| {
            vec![
                ("b", draw.number(3, 40)),
                ("e", draw.number(4, 9)),
                ("q", draw.number(200, 9000)),
                ("c", draw.number(200, 9000)),
            ]
        },
        check: Check::Calculated,
    },
    Intent {
        name: "average",
        english: &[
            ("What is the average of {list}?", "mean([{list}])"),
            ("Find the mean of the numbers {list}", "mean([{list}])"),
            ("average {list}", "mean([{list}])"),
            ("My test scores were {list}. What's my average?", "mean([{list}])"),
            ("Compute the arithmetic mean of these values: {list}.", "mean([{list}])"),
            ("What is the median of {list}?", "median([{list}])"),
        ],
        chinese: &[
            ("{list}的平均数是多少", "mean([{list}])"),
            ("计算这几个数的平均值：{list}", "mean([{list}])"),
            ("求 {list} 的平均", "mean([{list}])"),
            ("我的考试成绩是{list}，平均分是多少？", "mean([{list}])"),
            ("{list}这些数平均下来是多少？", "mean([{list}])"),
        ],
        values: |draw, _, is_chinese| vec![("list", list(draw, is_chinese))],
        check: Check::Calculated,
    },
    Intent {
        name: "sum of a list",
        english: &[
            ("Add these up: {list}", "sum([{list}])"),
            ("Sum of {list}", "sum([{list}])"),
            ("What's the total of {list}?", "sum([{list}])"),
            ("What do {list} add up to?", "sum([{list}])"),
            ("Please total the following amounts: {list}", "sum([{list}])"),
        ],
        chinese: &[
            ("求{list}的和", "sum([{list}])"),
            ("把{list}加起来是多少", "sum([{list}])"),
            ("{list} 总共是多少？", "sum([{list}])"),
            ("{list}的总和是多少", "sum([{list}])"),
            ("请把下面几个数相加：{list}", "sum([{list}])"),
        ],
        values: |draw, _, is_chinese| vec![("list", list(draw, is_chinese))],
        check: Check::Calculated,
    },
    Intent {
        name: "greatest and least of a list",
        english: &[
            ("Which is the largest of {list}?", "max({list})"),
            ("What's the maximum of {list}?", "max({list})"),
            ("What is the smallest number among {list}?", "min({list})"),
            ("Find the minimum of {list}", "min({list})"),
            ("the highest of the numbers {list}?", "max({list})"),
        ],
        chinese: &[
            ("{list}中最大的是哪个数？", "max({list})"),
            ("求{list}的最大值", "max({list})"),
            ("{list}里面最小的数是多少", "min({list})"),
            ("{list}的最小值是什么", "min({list})"),
            ("这几个数哪个最大：{list}", "max({list})"),
        ],
        values: |draw, _, is_chinese| vec![("list", list(draw, is_chinese))],
        check: Check::Calculated,
    },
];

fn arithmetic(draw: &mut Draw, _: &Scene, _: bool) -> Values {
    vec![
        ("a", draw.number(1200, 98000)),
        ("b", draw.number(12, 97)),
        ("c", draw.number(101, 999)),
        ("x", draw.decimal(2, 60)),
    ]
}

fn percentage(draw: &mut Draw, _: &Scene, _: bool) -> Values {
    vec![
        ("a", draw.money()),
        ("b", draw.number(120, 4000)),
        ("p", draw.decimal(2, 60)),
        ("z", same(draw.pick(&["8", "7.5", "9", "6", "8.5"]))),
    ]
}

/// Numbers as a person lists them in that language.
fn list(draw: &mut Draw, is_chinese: bool) -> Value {
    let count = draw.whole(3, 6);
    let numbers: Vec<String> = (0..count).map(|_| draw.decimal(11, 900).plain).collect();
    let separator = draw.pick(if is_chinese { &["、", "，", ", "] } else { &[", ", ", ", " "] });
    let mut shown = numbers.join(separator);
    if !is_chinese && separator == ", " && draw.coin() {
        let at = shown.rfind(", ").unwrap();
        let and = draw.pick(&[" and ", ", and "]);
        shown.replace_range(at..at + 2, and);
    }
    Value { shown, plain: numbers.join(", ") }
}
