//! \[9\] of the path of a tool call, and an example of a tool: `calculate` takes an expression and
//! answers with its value, exact where there is an exact value. Text becomes tokens (`lexer.rs`),
//! an expression (`parser.rs`), a number (`eval.rs`) and text again (`format.rs`). What a user may
//! ask and how often is not known here. Next: `lexer.rs`.

mod eval;
mod expression;
mod fault;
mod format;
mod functions;
mod lexer;
mod near;
mod number;
mod parser;
mod power;
mod rounding;

use std::{num::NonZero, thread::available_parallelism, time::Duration};

use callboard_tool::{About, Call, Example, Failure, Output, Service, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::{sync::Semaphore, task::spawn_blocking};

use crate::{
    fault::{Fault, Trouble},
    number::{AT_ONCE, WORK},
};

/// The service with its one tool.
pub fn service() -> Service {
    Service::new("calculator", env!("CARGO_PKG_VERSION")).tool(Calculator::new())
}

/// Most digits after the point that can be asked for.
const PLACES: u32 = 1000;

/// The tool.
#[derive(Debug)]
struct Calculator {
    /// Places for costly expressions, one for each core.
    places: Semaphore,
}

/// What to work out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The expression, such as `(12000 * 0.045) / 12` or `pmt(0.045/12, 240, 1200000)`.
    expression: String,
    /// Digits after the decimal point to round the value to, half away from zero. Without it the
    /// value is as exact as it can be.
    #[schemars(range(min = 0, max = 1000))]
    precision: Option<u32>,
}

/// A worked-out expression.
#[derive(Debug, Serialize, JsonSchema)]
struct Answer {
    /// The value as decimal text.
    value: String,
    /// The exact value as `p/q`; null where the value is only known in decimals.
    exact: Option<String>,
    /// How the expression was understood.
    read_as: String,
}

const PURPOSE: &str = "Works out an arithmetic expression: exact fractions and decimals of any \
    size (0.1+0.2 is 0.3), at least 28 digits where a function needs them.
Operators: + - * / // % ^ (or **) ! and comparisons, which give 1 or 0. -2^2 is -4, 2^3^2 is 512.
% is a remainder with the divisor's sign before a number, a name or a bracket (7 % 3), and before \
    a sign only as in `7 % -3`; else it is percent and means hundredths: 200 * 15% is 30, and \
    80000 + 8% is 80000.08 (for 8 % more write 80000 * (1 + 8%)).
Functions: sqrt cbrt root exp ln log (base 10, or log(x, base)) log2 sin cos tan asin acos atan \
    atan2 (radians; sin(deg(30)) for degrees) round round_half_even floor ceil trunc abs mod gcd \
    lcm comb perm factorial sum mean median mode min max var stdev varp stdevp percentile if.
Money, as in spreadsheets: pmt(rate, periods, present), fv, pv, nper, rate, npv(rate, flows), \
    irr([flows]); rates are per period, and what is paid is negative.
Constants: pi e tau phi.";

impl Tool for Calculator {
    type Args = Arguments;

    fn about(&self) -> About {
        About::new(
            "calculate",
            PURPOSE,
            "Numbers that merely occur in a text or a document, counting words, lines or files, \
             dates, units, currencies, or solving equations.",
            Example::new("What is 12000 * 0.045 / 12?", r#"{"expression":"(12000 * 0.045) / 12"}"#),
        )
        .example(Example::new(
            "Monthly payment on a loan of 1,200,000 at 4.5% a year over 20 years, in equal \
             instalments?",
            r#"{"expression":"pmt(4.5%/12, 20*12, 1200000)","precision":2}"#,
        ))
        .example(Example::new("帮我算一下 200 的 15% 是多少", r#"{"expression":"200 * 15%"}"#))
        .words(
            "calculate, compute, work out, how much is, sum, average, percent, interest, loan, \
             mortgage, instalment, square root; 计算, 算一下, 等于多少, 加减乘除, 平均, 百分之, \
             利息, 贷款, 月供, 等额本息, 平方根",
        )
        .read_only()
        .timeout(Duration::from_secs(5))
        .output::<Answer>()
    }

    async fn invoke(&self, args: Arguments, _: &Call) -> Result<Output, Failure> {
        let answer = self.answer(args).await?;
        let structured = serde_json::to_value(&answer)
            .map_err(|_| Failure::internal("The answer cannot be written as JSON."))?;
        Ok(Output::text(answer.value).structured(structured))
    }
}

impl Calculator {
    fn new() -> Self {
        Self { places: Semaphore::new(available_parallelism().map_or(1, NonZero::get)) }
    }

    /// What takes little is worked out at once. What turns out to take more begins anew on a thread of
    /// its own: other calls, health checks and the lease must not wait for it.
    async fn answer(&self, args: Arguments) -> Result<Answer, Failure> {
        let Arguments { expression, precision } = args;
        if precision.is_some_and(|places| places > PLACES) {
            let message = format!("At most {PLACES} digits after the point can be asked for.");
            let failure = Failure::invalid_arguments(message.clone());
            return Err(failure.violation("/precision", message));
        }
        match calculate(&expression, precision, AT_ONCE) {
            Err(Fault { trouble: Trouble::Spent, .. }) => {}
            done => return done.map_err(|fault| fault.into_failure(&expression)),
        }
        let closed = |_| Failure::internal("The calculator was ended.");
        let _place = self.places.acquire().await.map_err(closed)?;
        let work = spawn_blocking(move || {
            calculate(&expression, precision, WORK).map_err(|fault| fault.into_failure(&expression))
        });
        work.await.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Failure::cancelled("Cancelled before it was worked out.")),
        })
    }
}

/// The value of an expression, within so much work.
fn calculate(expression: &str, precision: Option<u32>, work: u64) -> Result<Answer, Fault> {
    let tokens = lexer::tokens(expression)?;
    let parsed = parser::parse(&tokens, expression.chars().count())?;
    let number = eval::evaluate(&parsed, precision, work)?;
    Ok(Answer {
        value: format::value(&number, precision),
        exact: format::exact(&number),
        read_as: parsed.read_as(),
    })
}

#[cfg(test)]
mod tests;
