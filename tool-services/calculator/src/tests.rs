//! The calculator as its callers meet it: an expression in, a value or a failure out. Expected
//! values were worked out by Python's `fractions` and `decimal`, by mpmath, or by hand.

mod functions;
mod money;
mod operators;
mod properties;
mod refusals;
mod served;

use super::*;

/// The value of an expression, or the failure that a caller gets, with all work that is allowed.
fn calculate(expression: &str, precision: Option<u32>) -> Result<Answer, Failure> {
    super::calculate(expression, precision, WORK).map_err(|fault| fault.into_failure(expression))
}

/// The value of an expression; a failure as its kind and message.
fn value(expression: &str) -> String {
    match calculate(expression, None) {
        Ok(answer) => answer.value,
        Err(failure) => format!("{}: {}", failure.kind.as_str(), failure.message),
    }
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(value(expression), *expected, "{expression}");
    }
}

fn failure(expression: &str) -> Failure {
    match calculate(expression, None) {
        Ok(answer) => panic!("{expression} is {}", answer.value),
        Err(failure) => failure,
    }
}
