//! Loans and savings.

use super::{
    draw::{Value, same},
    table::{Check, Intent},
};

const LOAN: &str = "payment({a}, {r}/1200, 12*{y})";
const GROWN: &str = "{a}*(1+{r}/100)**{y}";
const EARNED: &str = "{a}*(1+{r}/100)**{y}-{a}";

pub(super) const INTENTS: [Intent; 4] = [
    Intent {
        name: "loan payment",
        english: &[
            ("What is the monthly payment on a loan of {a} at {r}% a year over {y} years?", LOAN),
            (
                "I'm borrowing {a} for {y} years at {r}% interest, how much do I pay back each month?",
                LOAN,
            ),
            (
                "Mortgage of ${a}, {r} % annual rate, {y}-year term: what's my monthly instalment?",
                LOAN,
            ),
            (
                "Calculate the monthly repayment for a {a} loan with {r}% APR paid back over {m} months.",
                "payment({a}, {r}/1200, {m})",
            ),
            (
                "How much would I owe per month if I take out a {y}-year mortgage for {a} at an \
                 interest rate of {r}%?",
                LOAN,
            ),
        ],
        chinese: &[
            ("贷款{a}元，年利率{r}%，{y}年还清，等额本息每月还多少？", LOAN),
            (
                "房贷{w}万，利率{r}%，期限{y}年，月供是多少？",
                "payment({w}*10000, {r}/1200, 12*{y})",
            ),
            (
                "我借了{a}元，分{m}期按月等额还款，年利率{r}%，每期要还多少钱？",
                "payment({a}, {r}/1200, {m})",
            ),
            ("算一下按揭{a}、{y}年、年化{r}%的每月还款额", LOAN),
            ("等额本息贷款{a}，{y}年，年利率百分之{r}，每个月要还多少", LOAN),
        ],
        values: |draw, _, _| {
            vec![
                ("a", draw.money()),
                ("w", draw.number(20, 300)),
                ("r", draw.decimal(2, 9)),
                ("y", draw.number(3, 30)),
                ("m", same((12 * draw.whole(2, 20)).to_string())),
            ]
        },
        check: Check::Calculated,
    },
    Intent {
        name: "compound interest",
        english: &[
            (
                "If I put {a} in the bank at {r}% compounded annually for {y} years, how much will I have?",
                GROWN,
            ),
            ("What will {a} grow to in {y} years at {r}% a year compound interest?", GROWN),
            (
                "Compound interest: principal {a}, rate {r}% per year, {y} years, compounded monthly. \
                 What's the final balance?",
                "{a}*(1+{r}/1200)**(12*{y})",
            ),
            (
                "How much interest do I earn on {a} at {r}% compounded yearly over {y} years?",
                EARNED,
            ),
            (
                "I invest {a} with an annual return of {r}%. What is it worth after {y} years?",
                GROWN,
            ),
        ],
        chinese: &[
            ("本金{a}元，年利率{r}%，按复利计算{y}年后本息一共多少？", GROWN),
            ("{a}元存{y}年，每年复利{r}%，到期能拿多少钱？", GROWN),
            ("按年复利{r}%，{a}元{y}年后变成多少", GROWN),
            ("投资{a}元，年化收益{r}%，{y}年后值多少钱？", GROWN),
            ("复利：本金 {a}，利率 {r}%，{y} 年，利息是多少？", EARNED),
        ],
        values: |draw, _, _| {
            vec![("a", draw.money()), ("r", draw.decimal(1, 9)), ("y", draw.number(2, 12))]
        },
        check: Check::Calculated,
    },
    Intent {
        name: "savings",
        english: &[
            (
                "If I save {m} every month at {r}% a year, how much do I have after {y} years?",
                SAVED,
            ),
            (
                "I put away {m} a month, the account pays {r}% annually. What's the balance in {y} years?",
                SAVED,
            ),
            ("What do monthly deposits of {m} at {r}% interest come to over {y} years?", SAVED),
            (
                "Saving {m} per month for {y} years at {r}% per year: what will I end up with?",
                SAVED,
            ),
            (
                "How much will I have if I deposit {m} each month for {y} years with {r}% interest?",
                SAVED,
            ),
        ],
        chinese: &[
            ("每月存{m}元，年利率{r}%，{y}年后一共有多少钱？", SAVED),
            ("我每个月定投{m}元，年化{r}%，{y}年后有多少？", SAVED),
            ("如果每月存入{m}，年利率{r}%，存{y}年，最后能拿到多少", SAVED),
            ("每月定期存入{m}元，年利率{r}%，{y}年到期本息多少？", SAVED),
            ("按月存{m}元，{y}年，年利率{r}%，到期金额是多少", SAVED),
        ],
        values: |draw, _, _| {
            let m = draw.whole(2, 60) * 50;
            vec![("m", same(m.to_string())), ("r", draw.decimal(1, 9)), ("y", draw.number(2, 20))]
        },
        check: Check::Calculated,
    },
    Intent {
        name: "simple interest",
        english: &[
            ("What's the simple interest on {a} at {r}% for {y} years?", SIMPLE),
            ("How much simple interest does {a} earn in {y} years at {r}% a year?", SIMPLE),
            ("simple interest: {a}, {r}% per annum, {y} years", SIMPLE),
            (
                "Calculate simple interest on a principal of {a} at a rate of {r}% over {y} years",
                SIMPLE,
            ),
            (
                "With simple interest of {r}% a year, what interest do I get on {a} after {y} years?",
                SIMPLE,
            ),
        ],
        chinese: &[
            ("{a}元按单利{r}%存{y}年，利息是多少？", SIMPLE),
            ("单利计算：本金{a}，年利率{r}%，{y}年，利息多少", SIMPLE),
            ("本金{a}元，单利，年利率{r}%，{y}年的利息是多少？", SIMPLE),
            ("存款{a}元，年利率{r}%，{y}年，按单利算利息有多少", SIMPLE),
            ("请按单利计算{a}元{y}年的利息，年利率{r}%", SIMPLE),
        ],
        values: |draw, _, _| {
            let a: Value = draw.money();
            vec![("a", a), ("r", draw.decimal(1, 9)), ("y", draw.number(2, 12))]
        },
        check: Check::Calculated,
    },
];

/// Each deposit at the end of its month.
const SAVED: &str = "saved({m}, {r}/1200, 12*{y})";
const SIMPLE: &str = "{a}*{r}/100*{y}";
