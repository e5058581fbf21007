//! The functions that an expression may call: their names, how they are used, and which code works
//! them out. A new one is a line here and a function in one of the files below.

mod elementary;
mod finance;
mod integers;
mod rounding;
mod solve;
mod statistics;
mod trigonometry;

use std::ops::RangeInclusive;

use crate::{
    fault::Trouble,
    number::{Machine, Number},
};

pub(crate) use self::integers::factorial;

/// What a function is given.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Number(Number),
    List(Vec<Number>),
}

type Outcome = Result<Number, Trouble>;

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    /// Other names for the same.
    aliases: &'static [&'static str],
    /// A call with its values named, for messages.
    pub(crate) usage: &'static str,
    pub(crate) arity: RangeInclusive<usize>,
    pub(crate) body: Body,
}

/// How a function is worked out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// Of each a number, as many as the arity says.
    Numbers(fn(&mut Machine, &[Number]) -> Outcome),
    /// Of all numbers and the numbers of all lists, at least one.
    All(fn(&mut Machine, &[Number]) -> Outcome),
    /// Of numbers and lists.
    Values(fn(&mut Machine, &[Value]) -> Outcome),
    /// Only the chosen branch is worked out.
    If,
}

const MANY: RangeInclusive<usize> = 1..=usize::MAX;

const fn numbers(
    name: &'static str,
    usage: &'static str,
    arity: RangeInclusive<usize>,
    body: fn(&mut Machine, &[Number]) -> Outcome,
) -> Function {
    Function { name, aliases: &[], usage, arity, body: Body::Numbers(body) }
}

const fn all(
    name: &'static str,
    usage: &'static str,
    body: fn(&mut Machine, &[Number]) -> Outcome,
) -> Function {
    Function { name, aliases: &[], usage, arity: MANY, body: Body::All(body) }
}

const fn values(
    name: &'static str,
    usage: &'static str,
    arity: RangeInclusive<usize>,
    body: fn(&mut Machine, &[Value]) -> Outcome,
) -> Function {
    Function { name, aliases: &[], usage, arity, body: Body::Values(body) }
}

const fn also(function: Function, aliases: &'static [&'static str]) -> Function {
    Function { aliases, ..function }
}

static FUNCTIONS: &[Function] = &[
    numbers("abs", "abs(x)", 1..=1, elementary::abs),
    numbers("sign", "sign(x)", 1..=1, elementary::sign),
    numbers("sqrt", "sqrt(x)", 1..=1, elementary::sqrt),
    numbers("cbrt", "cbrt(x)", 1..=1, elementary::cbrt),
    numbers("root", "root(x, degree)", 2..=2, elementary::root),
    also(numbers("pow", "pow(base, exponent)", 2..=2, elementary::pow), &["power"]),
    numbers("exp", "exp(x)", 1..=1, elementary::exp),
    numbers("ln", "ln(x)", 1..=1, elementary::ln),
    also(numbers("log10", "log10(x)", 1..=1, elementary::log10), &["lg"]),
    numbers("log2", "log2(x)", 1..=1, elementary::log2),
    numbers("log", "log(x, base = 10)", 1..=2, elementary::log),
    all("hypot", "hypot(x, y)", elementary::hypot),
    numbers("sin", "sin(radians)", 1..=1, trigonometry::sin),
    numbers("cos", "cos(radians)", 1..=1, trigonometry::cos),
    numbers("tan", "tan(radians)", 1..=1, trigonometry::tan),
    also(numbers("asin", "asin(x)", 1..=1, trigonometry::asin), &["arcsin"]),
    also(numbers("acos", "acos(x)", 1..=1, trigonometry::acos), &["arccos"]),
    also(numbers("atan", "atan(x)", 1..=1, trigonometry::atan), &["arctan"]),
    numbers("atan2", "atan2(y, x)", 2..=2, trigonometry::atan2),
    numbers("sinh", "sinh(x)", 1..=1, trigonometry::sinh),
    numbers("cosh", "cosh(x)", 1..=1, trigonometry::cosh),
    numbers("tanh", "tanh(x)", 1..=1, trigonometry::tanh),
    numbers("asinh", "asinh(x)", 1..=1, trigonometry::asinh),
    numbers("acosh", "acosh(x)", 1..=1, trigonometry::acosh),
    numbers("atanh", "atanh(x)", 1..=1, trigonometry::atanh),
    also(
        numbers("deg", "deg(degrees), as in sin(deg(30))", 1..=1, trigonometry::deg),
        &["radians"],
    ),
    also(numbers("to_deg", "to_deg(radians)", 1..=1, trigonometry::to_deg), &["degrees"]),
    also(numbers("round", "round(x, digits = 0)", 1..=2, rounding::half_up), &["round_half_up"]),
    numbers("round_half_even", "round_half_even(x, digits = 0)", 1..=2, rounding::half_even),
    also(numbers("round_up", "round_up(x, digits = 0)", 1..=2, rounding::up), &["roundup"]),
    also(numbers("round_down", "round_down(x, digits = 0)", 1..=2, rounding::down), &["rounddown"]),
    numbers("floor", "floor(x, digits = 0)", 1..=2, rounding::floor),
    also(numbers("ceil", "ceil(x, digits = 0)", 1..=2, rounding::ceiling), &["ceiling"]),
    also(numbers("trunc", "trunc(x, digits = 0)", 1..=2, rounding::down), &["int"]),
    numbers("mod", "mod(x, divisor)", 2..=2, integers::modulo),
    also(numbers("factorial", "factorial(n)", 1..=1, integers::factorial_of), &["fact"]),
    also(numbers("comb", "comb(n, k)", 2..=2, integers::comb), &["ncr", "binomial"]),
    also(numbers("perm", "perm(n, k)", 2..=2, integers::perm), &["npr"]),
    all("gcd", "gcd(a, b, ...)", integers::gcd),
    all("lcm", "lcm(a, b, ...)", integers::lcm),
    all("sum", "sum(a, b, ...)", statistics::sum),
    all("product", "product(a, b, ...)", statistics::product),
    all("count", "count(a, b, ...)", statistics::count),
    also(all("mean", "mean(a, b, ...)", statistics::mean), &["average", "avg"]),
    all("median", "median(a, b, ...)", statistics::median),
    all("mode", "mode(a, b, ...)", statistics::mode),
    all("min", "min(a, b, ...)", statistics::min),
    all("max", "max(a, b, ...)", statistics::max),
    also(
        all("var", "var(a, b, ...), of a sample; varp of a whole population", statistics::var),
        &["variance"],
    ),
    all("varp", "varp(a, b, ...), of a whole population", statistics::varp),
    also(
        all(
            "stdev",
            "stdev(a, b, ...), of a sample; stdevp of a whole population",
            statistics::stdev,
        ),
        &["std", "stddev"],
    ),
    all("stdevp", "stdevp(a, b, ...), of a whole population", statistics::stdevp),
    values(
        "percentile",
        "percentile([a, b, ...], share), share from 0 to 1",
        2..=2,
        statistics::percentile,
    ),
    numbers("pmt", "pmt(rate, periods, present, future = 0, due = 0)", 3..=5, finance::pmt),
    numbers("fv", "fv(rate, periods, payment, present = 0, due = 0)", 3..=5, finance::fv),
    numbers("pv", "pv(rate, periods, payment, future = 0, due = 0)", 3..=5, finance::pv),
    numbers("nper", "nper(rate, payment, present, future = 0, due = 0)", 3..=5, finance::nper),
    numbers(
        "rate",
        "rate(periods, payment, present, future = 0, due = 0, guess = 0.1)",
        3..=6,
        finance::rate,
    ),
    values("npv", "npv(rate, flow, flow, ...)", 2..=usize::MAX, finance::npv),
    values("irr", "irr([flow, flow, ...], guess = 0.1)", MANY, finance::irr),
    Function {
        name: "if",
        aliases: &[],
        usage: "if(condition, then, else)",
        arity: 3..=3,
        body: Body::If,
    },
];

impl Function {
    /// The function of that name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        FUNCTIONS.iter().find(|function| function.name == name || function.aliases.contains(&name))
    }
}

/// All names, for hints.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|function| function.name)
}

/// The function behind the root sign.
pub(crate) fn sqrt() -> &'static Function {
    static SQRT: Function = numbers("sqrt", "sqrt(x)", 1..=1, elementary::sqrt);
    &SQRT
}

/// The value at a place, or what it is if it was not given.
fn or(values: &[Number], index: usize, default: u32) -> Number {
    values.get(index).cloned().unwrap_or_else(|| Number::from(default))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_is_there_once_and_its_usage_starts_with_it() {
        let mut names = HashSet::new();
        for function in FUNCTIONS {
            assert!(
                function.usage.starts_with(&format!("{}(", function.name)),
                "{}",
                function.name
            );
            for name in function.aliases.iter().chain([&function.name]) {
                assert!(names.insert(*name), "{name} is there twice");
                assert_eq!(Function::find(name).unwrap().name, function.name);
            }
        }
    }
}
