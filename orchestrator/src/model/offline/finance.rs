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
const SAVINGS: &str = "interest, compound*, invest*, deposit*, savings, saved, 复利, 单利, 利息, 存款, 存入, 存, \
    本息, 投资, 理财";

/// The numbers of a loan or of savings.
#[derive(Debug, Default)]
struct Terms {
    principal: Option<String>,
    /// Percent.
    rate: Option<String>,
    is_rate_monthly: bool,
    years: Option<String>,
    months: Option<String>,
}

/// The calculation that a text about money and time asks for. Numbers in it are plain already.
pub(super) fn find(text: &str) -> Option<Sum> {
    let is_loan = has_any(text, LOAN);
    if !is_loan && !has_any(text, SAVINGS) {
        return None;
    }
    let terms = Terms::read(text);
    let principal = terms.principal.as_deref()?;
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
                        altogether, 总还款, 还款总额, 一共还, 总共还, 共还, 连本带息",
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
    let often = OFTEN.iter().find(|(_, words)| has_any(text, words)).map(|(times, _)| *times);
    let amount = match often {
        _ if has_any(text, "simple interest, 单利") => {
            format!("{principal}*(1+{rate}/100*{years})")
        }
        Some(times) => format!("{principal}*(1+{rate}/100/{times})^({times}*{years})"),
        None => format!("{principal}*(1+{rate}/100)^{years}"),
    };
    let wants_interest = has_any(text, ONLY_INTEREST) && !has_any(text, WITH_PRINCIPAL);
    Some(if wants_interest {
        cents(format!("{amount}-{principal}"), Topic::InterestEarned)
    } else {
        cents(amount, Topic::FinalAmount)
    })
}

/// How often in a year interest is added, where it is more than once.
const OFTEN: &[(&str, &str)] = &[
    ("12", "compounded monthly, monthly compounding, 按月复利, 每月复利, 月复利"),
    ("4", "compounded quarterly, quarterly compounding, 按季复利, 每季复利"),
    ("365", "compounded daily, daily compounding, 按日复利, 每日复利"),
];
/// The interest alone is wanted.
const ONLY_INTEREST: &str = "how much interest, interest earned, interest is earned, the interest, \
    simple interest, compound interest, interest do, interest will, 多少利息, 利息";
/// It is wanted with what it was paid for.
const WITH_PRINCIPAL: &str = "worth, balance, final amount, total amount, 本息, 本利和";

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
        } else if follows(&["year", "yr", "年"]) {
            self.years.get_or_insert(number);
        } else if follows(&["month", "个月", "月", "期"]) {
            self.months.get_or_insert(number);
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
            "存入 2000 元，年利率 3%，5 年，按月复利，本息合计多少",
            "round(2000*(1+3/100/12)^(12*5), 2)",
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
