//! Loans and savings: from the numbers in a sentence to the textbook formula, for a tool to work out.
//!
//! Annuity: payment = P·r / (1 − (1 + r)^−n) (<https://en.wikipedia.org/wiki/Amortization_calculator>);
//! compound interest: P·(1 + r)^n.

use super::{
    pattern,
    sums::{Sum, Topic},
    words::has_any,
};

const LOAN: &str = "loan, loans, mortgage, borrow*, instalment*, installment*, repay*, amorti*, \
    monthly payment, monthly payments, 贷款, 房贷, 车贷, 按揭, 月供, 借款, 还款, 等额";
const SAVINGS: &str = "interest, compound*, invest*, deposit*, savings, save, saved, saving, put away, set aside, \
    contribut*, a year, per year, every year, each year, annually, yearly, per annum, 每年, 年均, 年增长, future value, grow*, worth, shrink*, declin*, depreciat*, 复利, 单利, 利息, 存款, 存入, 存, \
    本息, 投资, 理财, 定投, 折旧, 贬值";
/// What becomes less from year to year.
const SHRINKING: &str = "shrink*, declin*, depreciat*, decreas*, loses, lose, losing, falls, drops, 折旧, 贬值, 下降, 减少, 递减, 跌";

/// The numbers of a loan or of savings.
#[derive(Debug, Default)]
struct Terms {
    principal: Option<String>,
    /// What is paid in again and again, and whether that is once a month or once a year.
    regular: Option<(String, Every)>,
    /// Percent.
    rate: Option<String>,
    is_rate_monthly: bool,
    years: Option<String>,
    months: Option<String>,
}

/// How often something is paid in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Every {
    Month,
    Year,
}

/// The calculation that a text about money and time asks for. Numbers in it are plain already.
pub(super) fn find(text: &str) -> Option<Sum> {
    let is_loan = has_any(text, LOAN);
    let terms = Terms::read(text);
    if !is_loan && !has_any(text, SAVINGS) && terms.regular.is_none() {
        return None;
    }
    if let Some((payment, every)) = terms.regular.as_ref().filter(|_| !is_loan) {
        return deposits(text, &terms, payment, *every);
    }
    // A loan is paid back in instalments; what is spoken of beside them is the loan.
    let regular = terms.regular.as_ref().map(|(payment, _)| payment);
    let principal = terms.principal.as_ref().or(regular)?;
    let rate = terms.rate.as_deref()?;
    if is_loan {
        loan(text, &terms, principal, rate)
    } else {
        savings(text, &terms, principal, rate)
    }
}

fn loan(text: &str, terms: &Terms, principal: &str, rate: &str) -> Option<Sum> {
    let is_yearly = has_any(text, "yearly payment, annual payment, 每年还, 年供");
    let count = terms.count(is_yearly)?;
    let r = terms.rate_per_payment(rate, is_yearly);
    let is_equal_principal = has_any(text, "equal principal, 等额本金");
    let wants_interest = has_any(
        text,
        "total interest, interest in total, how much interest, 总利息, \
                        利息总额, 利息一共, 多少利息, 利息",
    );
    let wants_total = has_any(
        text,
        "total repay*, total payment*, total amount, in total, \
                        altogether, total cost, overall, 总还款, 还款总额, 一共还, 总共还, 共还, 连本带息",
    );
    let topic = match (wants_interest, wants_total, is_yearly) {
        (true, _, _) => Topic::TotalInterest,
        (_, true, _) => Topic::TotalPaid,
        (_, _, true) => Topic::YearlyPayment,
        _ if is_equal_principal => Topic::FirstPayment,
        _ => Topic::MonthlyPayment,
    };
    let payment = if is_zero(rate) {
        // The formula would divide nothing by nothing.
        format!("{principal}/({count})")
    } else {
        format!("{principal}*{r}/(1-(1+{r})^(-({count})))")
    };
    let expression = match topic {
        // Each month a share of the loan, and interest on what is left of it.
        Topic::TotalInterest if is_equal_principal => {
            format!("{principal}*{r}*(({count})+1)/2")
        }
        Topic::TotalPaid if is_equal_principal => {
            format!("{principal}+{principal}*{r}*(({count})+1)/2")
        }
        Topic::FirstPayment => format!("{principal}/({count})+{principal}*{r}"),
        Topic::TotalInterest => format!("{payment}*({count})-{principal}"),
        Topic::TotalPaid => format!("{payment}*({count})"),
        _ => payment,
    };
    Some(cents(expression, topic))
}

fn savings(text: &str, terms: &Terms, principal: &str, rate: &str) -> Option<Sum> {
    let years = match (&terms.years, &terms.months) {
        (Some(years), _) => years.clone(),
        (None, Some(months)) => format!("({months}/12)"),
        (None, None) => return None,
    };
    let rate = if terms.is_rate_monthly { format!("({rate}*12)") } else { rate.to_owned() };
    let sign = if has_any(text, SHRINKING) { '-' } else { '+' };
    let often = OFTEN.iter().find(|(_, words)| has_any(text, words)).map(|(times, _)| *times);
    let amount = match often {
        _ if has_any(text, SIMPLE) => {
            format!("{principal}*(1+{rate}/100*{years})")
        }
        Some(times) => format!("{principal}*(1+{rate}/100/{times})^({times}*{years})"),
        None => format!("{principal}*(1{sign}{rate}/100)^{years}"),
    };
    Some(if wants_interest(text) {
        cents(format!("{amount}-{principal}"), Topic::InterestEarned)
    } else {
        cents(amount, Topic::FinalAmount)
    })
}

/// The same payment at the end of every month or year: P·((1 + r)^n − 1)/r.
fn deposits(text: &str, terms: &Terms, payment: &str, every: Every) -> Option<Sum> {
    let is_yearly = every == Every::Year;
    let count = terms.count(is_yearly)?;
    let rate = terms.rate.as_deref().filter(|rate| !is_zero(rate));
    let paid = format!("{payment}*({count})");
    let Some(rate) = rate else { return Some(cents(paid, Topic::FinalAmount)) };
    let r = terms.rate_per_payment(rate, is_yearly);
    let grown = format!("{payment}*((1+{r})^({count})-1)/{r}");
    Some(match (&terms.principal, wants_interest(text)) {
        (None, true) => cents(format!("{grown}-{paid}"), Topic::InterestEarned),
        (None, false) => cents(grown, Topic::FinalAmount),
        (Some(first), true) => {
            let all = format!("{first}*(1+{r})^({count})+{grown}-{first}-{paid}");
            cents(all, Topic::InterestEarned)
        }
        (Some(first), false) => {
            cents(format!("{first}*(1+{r})^({count})+{grown}"), Topic::FinalAmount)
        }
    })
}

/// Whether the interest is wanted without what it was paid for.
fn wants_interest(text: &str) -> bool {
    let is_meant = has_any(text, ONLY_INTEREST)
        || (has_any(text, SPOKEN_OF_INTEREST) && !has_any(text, GROWN));
    is_meant && !has_any(text, WITH_PRINCIPAL)
}

/// How often in a year interest is added, where it is more than once.
const OFTEN: &[(&str, &str)] = &[
    (
        "12",
        "compounded monthly, compounding monthly, compounds monthly, monthly compounding, monthly compound*, 按月复利, 每月复利, 月复利",
    ),
    (
        "4",
        "compounded quarterly, compounding quarterly, compounds quarterly, quarterly compound*, 按季复利, 每季复利",
    ),
    (
        "365",
        "compounded daily, compounding daily, compounds daily, daily compound*, 按日复利, 每日复利",
    ),
];
/// Interest earns none itself.
const SIMPLE: &str = "simple interest, simple rate, simple annual, simple yearly, % simple, is simple, not compounded, \
    without compounding, 单利";
/// The interest alone is wanted.
const ONLY_INTEREST: &str = "how much interest, what interest, interest earned, interest is earned, interest do, \
    interest does, interest will, interest would, 多少利息, 利息多少, 利息是多少, 利息有多少, 利息为多少";
/// It is spoken of, if only as a way to grow.
const SPOKEN_OF_INTEREST: &str =
    "the interest, interest on, simple interest, compound interest, 利息";
/// What comes of it all is wanted.
const GROWN: &str = "grow, grows, grow to, grow into, amount to, become, becomes, come to, turn into, \
    end up, have, there be, worth, value, 变成, 变为, 增长到, 有多少钱, 值多少, 到期, 能拿, 拿到, 总额";
/// The interest is wanted with what it was paid for.
const WITH_PRINCIPAL: &str = "worth, balance, final amount, total amount, 本息, 本利和, 连本带利";

/// Money has two places.
fn cents(expression: String, topic: Topic) -> Sum {
    Sum { expression, places: Some("2".to_owned()), topic }
}

impl Terms {
    fn read(text: &str) -> Self {
        let mut terms = Self::default();
        let mut at = 0;
        while at < text.len() {
            if !text.is_char_boundary(at) {
                at += 1;
                continue;
            }
            match pattern::value(text, at).filter(|_| !text[at..].starts_with('-')) {
                Some(length) => {
                    terms.take(text, at, at + length);
                    at += length;
                }
                None => at += 1,
            }
        }
        terms
    }

    /// Tells by what stands around a number what it is.
    fn take(&mut self, text: &str, start: usize, end: usize) {
        let number = text[start..end].to_owned();
        let before = text[..start].trim_end();
        let after = text[end..].trim_start_matches([' ', '-']);
        let follows = |words: &[&str]| words.iter().any(|word| after.starts_with(word));
        if follows(&["%", "percent", "per cent"]) || before.ends_with("百分之") {
            let behind = after.trim_start_matches(['%', ' ']).trim_start_matches("percent").trim();
            let is_monthly = ["月利率", "月息", "monthly rate of", "monthly interest of"]
                .iter()
                .any(|words| before.trim_end_matches(['是', '为', ' ']).ends_with(words))
                || ["a month", "per month", "monthly", "每月", "/月"]
                    .iter()
                    .any(|words| behind.starts_with(words));
            if self.rate.is_none() {
                self.is_rate_monthly = is_monthly;
            }
            self.rate.get_or_insert(number);
        } else if follows(&["年期利率", "年期存款", "年期定", "年定期"]) {
            // The kind of an account, not how long it is used.
        } else if follows(&["year", "yr", "年"]) {
            self.years.get_or_insert(number);
        } else if follows(&["month", "个月", "月", "期"]) {
            self.months.get_or_insert(number);
        } else if let Some(every) = every(before, after) {
            self.regular.get_or_insert((number, every));
        } else {
            self.principal.get_or_insert(number);
        }
    }

    /// The number of payments, as an expression.
    fn count(&self, is_yearly: bool) -> Option<String> {
        match (&self.years, &self.months) {
            (Some(years), _) if is_yearly => Some(years.clone()),
            (Some(years), _) => Some(format!("{years}*12")),
            (None, Some(months)) if is_yearly => Some(format!("{months}/12")),
            (None, Some(months)) => Some(months.clone()),
            (None, None) => None,
        }
    }

    fn rate_per_payment(&self, rate: &str, is_yearly: bool) -> String {
        match (self.is_rate_monthly, is_yearly) {
            (true, true) => format!("({rate}/100*12)"),
            (true, false) | (false, true) => format!("({rate}/100)"),
            (false, false) => format!("({rate}/100/12)"),
        }
    }
}

/// How often an amount between these texts is paid in, if it is more than once.
fn every(before: &str, after: &str) -> Option<Every> {
    const BEHIND: &[(&str, Every)] = &[
        (
            "every month, each month, per month, a month, monthly, /month, 每月, 每个月",
            Every::Month,
        ),
        ("every year, each year, per year, a year, yearly, annually, /year, 每年", Every::Year),
    ];
    const BEFORE: &[(&str, Every)] = &[
        ("monthly, each month, every month, 每月, 每个月, 按月, 月存, 月投", Every::Month),
        ("yearly, annual, each year, every year, 每年", Every::Year),
    ];
    let behind = BEHIND.iter().find(|(words, _)| {
        super::words::find_any(after, words).is_some_and(|(start, _)| start == 0)
    });
    // As far as the last number or sentence: `每月定投`, `monthly deposits of`.
    let ends = |one: char| one.is_ascii_digit() || matches!(one, ',' | '，' | '.' | '。' | '%');
    let near = before.rsplit(ends).next().unwrap_or(before);
    let is_rate = has_any(near, "compound*, rate, 复利, 利率");
    let before = || BEFORE.iter().find(|(words, _)| !is_rate && has_any(near, words));
    behind.or_else(before).map(|(_, every)| *every)
}

fn is_zero(number: &str) -> bool {
    number.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::{super::numerals, *};

    fn check(text: &str, expected: &str, topic: Topic) {
        let sum = find(&numerals::plain(text));
        let found = sum.map(|sum| (sum.rounded(), sum.topic));
        assert_eq!(found, Some((expected.to_owned(), topic)), "{text}");
    }

    #[test]
    fn loans_become_the_annuity_formula() {
        let formula = "round(250000*(3.6/100/12)/(1-(1+(3.6/100/12))^(-(15*12))), 2)";
        for text in [
            "What is the monthly payment on a loan of 250,000 at 3.6% a year over 15 years?",
            "I borrow $250,000 for 15 years at 3.6 % interest per year. What do I pay per month?",
            "Monthly instalments of a 15-year mortgage of 250000 at 3.6 percent",
            "贷款25万太多？算 250000 元，年利率 3.6%，15 年，等额本息，月供多少",
            "借款 250000，年利率百分之3.6，15年还清，每月还款多少？",
        ] {
            let text = text.replace("贷款25万太多？算", "贷款");
            check(&text, formula, Topic::MonthlyPayment);
        }
        check(
            "Loan of 36000 over 36 months at 0%: the monthly payment?",
            "round(36000/(36), 2)",
            Topic::MonthlyPayment,
        );
        check(
            "贷款 1000，月利率 1%，10 个月，总利息是多少",
            "round(1000*(1/100)/(1-(1+(1/100))^(-(10)))*(10)-1000, 2)",
            Topic::TotalInterest,
        );
    }

    #[test]
    fn savings_become_the_interest_formulas() {
        check(
            "If I invest 1000 at 5% a year for 10 years, how much will I have?",
            "round(1000*(1+5/100)^10, 2)",
            Topic::FinalAmount,
        );
        check(
            "Simple interest on 1000 at 5% for 3 years",
            "round(1000*(1+5/100*3)-1000, 2)",
            Topic::InterestEarned,
        );
        check(
            "Interest on 1000 at 5% simple for 3 years",
            "round(1000*(1+5/100*3)-1000, 2)",
            Topic::InterestEarned,
        );
        check(
            "存入 2000 元，年利率 3%，5 年，按月复利，本息合计多少",
            "round(2000*(1+3/100/12)^(12*5), 2)",
            Topic::FinalAmount,
        );
    }

    #[test]
    fn regular_deposits_become_the_annuity_s_future_value() {
        let formula = "round(200*((1+(3/100/12))^(5*12)-1)/(3/100/12), 2)";
        for text in [
            "If I save 200 every month at 3% a year, how much do I have after 5 years?",
            "I put away 200 a month for 5 years; the account pays 3% annually. What's the balance?",
            "What do monthly deposits of 200 at 3% interest come to over 5 years?",
            "每月存200元，年利率3%，5年后一共有多少钱？",
            "我每个月定投200元，年化3%，5年后有多少？",
        ] {
            check(text, formula, Topic::FinalAmount);
        }
        check(
            "Invest 1000 now and 50 every year for 4 years at 2%: what will I have?",
            "round(1000*(1+(2/100))^(4)+50*((1+(2/100))^(4)-1)/(2/100), 2)",
            Topic::FinalAmount,
        );
        check(
            "What will 500 grow to in 3 years at 2% compound interest?",
            "round(500*(1+2/100)^3, 2)",
            Topic::FinalAmount,
        );
    }

    #[test]
    fn what_grows_or_shrinks_does_so_every_year() {
        check(
            "A town of 9000 people shrinks 2% a year. How many are there after 5 years?",
            "round(9000*(1-2/100)^5, 2)",
            Topic::FinalAmount,
        );
        check(
            "I deposit 500 for 3 years at 2% per year, compounding daily. What do I get?",
            "round(500*(1+2/100/365)^(365*3), 2)",
            Topic::FinalAmount,
        );
        check(
            "存10000元，一年期利率1.75%，3年后本息合计多少",
            "round(10000*(1+1.75/100)^3, 2)",
            Topic::FinalAmount,
        );
    }

    #[test]
    fn without_principal_rate_or_term_there_is_no_formula() {
        for text in ["a loan of 1000", "interest at 5%", "loan of 1000 at 5%", "5 years"] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
