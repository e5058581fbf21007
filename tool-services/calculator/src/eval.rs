//! Works an expression out: once with digits to spare, and again with more where errors ate too many
//! of them. Numbers are `number.rs`' business, functions `functions.rs`'; how the result is written
//! is `format.rs`, next.

use std::{cmp::Ordering, ops::Range};

use dashu::float::round::mode::HalfEven;

use crate::{
    expression::{Comparison, Constant, Expression, Node, Operator},
    fault::{Fault, Trouble},
    functions::{Body, Function, Value, factorial},
    near::{Decimal, Near, magnitude},
    number::{DIGITS, Machine, Number, float, negate},
};

/// Significant digits of an answer that is not exact.
pub(crate) const SHOWN: usize = 34;
/// Digits of the attempts. The first is enough unless differences cancel.
const ATTEMPTS: [usize; 4] = [50, 110, 240, 520];

/// The value of an expression. Its decimals have [`SHOWN`] known digits and `places` known ones
/// after the point, or they are zero as far as anyone can see. All attempts together take `work` at
/// most.
pub(crate) fn evaluate(
    expression: &Expression,
    places: Option<u32>,
    work: u64,
) -> Result<Number, Fault> {
    let mut machine = Machine::new(ATTEMPTS[0], work);
    let mut wanted = ATTEMPTS[0].max(places.unwrap_or(0) as usize + 20);
    for (attempt, digits) in ATTEMPTS.into_iter().enumerate() {
        let is_last = attempt + 1 == ATTEMPTS.len();
        machine.again(wanted.max(digits), is_last);
        match machine.number(expression) {
            Ok(Number::Near(near)) => match missing(&near, places) {
                Some(0) => return Ok(Number::Near(near)),
                Some(missing) if !is_last => wanted = machine.digits + missing + 5,
                Some(_) => return Ok(Number::Near(near)),
                None if is_last => return Ok(Number::Near(Near::exact(Decimal::ZERO))),
                None => {}
            },
            // What was settled within an error is right, but not known to be exact.
            Ok(exact) if machine.has_settled => {
                let near = machine.near(&exact).map_err(|trouble| trouble.at(&expression.at))?;
                return Ok(Number::Near(near));
            }
            Ok(exact) => return Ok(exact),
            Err(Fault { trouble: Trouble::Undecided, .. }) if !is_last => {}
            Err(fault) => return Err(fault),
        }
        if wanted > DIGITS {
            let message = "So many digits are not kept.";
            return Err(Fault::too_large(message, expression.at.clone()));
        }
    }
    Err(Trouble::Undecided.at(&expression.at))
}

/// One attempt with so many digits, which may not be enough.
#[cfg(test)]
pub(crate) fn attempt(expression: &Expression, digits: usize) -> Result<Number, Fault> {
    Machine::new(digits, crate::number::WORK).number(expression)
}

/// Digits that the error has eaten and that the answer should show; none if it could be zero.
fn missing(near: &Near, places: Option<u32>) -> Option<usize> {
    if near.is_exact() {
        return Some(0);
    }
    near.sign()?;
    let (low, _) = magnitude(&near.value);
    // One digit more than is shown, so that it is rounded right.
    let shown = low - near.error - 1.5;
    let short = (float(SHOWN) - shown)
        .max(places.map_or(0.0, |places| near.error + f64::from(places) + 1.5));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let digits = short.max(0.0).ceil().min(float(DIGITS)) as usize;
    Some(digits)
}

/// A constant to all digits.
pub(crate) fn constant(machine: &mut Machine, constant: Constant) -> Result<Number, Trouble> {
    let digits = machine.digits;
    let result = match constant {
        Constant::Pi => {
            machine.charge_near(8)?;
            Ok(machine.constants.pi::<10, HalfEven>(digits))
        }
        Constant::E => {
            machine.charge_near(8)?;
            Ok(machine.context().e::<10>())
        }
        Constant::Tau => {
            let pi = self::constant(machine, Constant::Pi)?;
            return machine.multiply(&pi, &Number::from(2));
        }
        Constant::Phi => {
            let root = machine.root(&Number::from(5), 2)?;
            let twice = machine.add(&root, &Number::from(1))?;
            return machine.divide(&twice, &Number::from(2));
        }
    };
    machine.rounded(result, f64::NEG_INFINITY)
}

impl Machine {
    /// The value of an expression that is one number.
    fn number(&mut self, expression: &Expression) -> Result<Number, Fault> {
        let at = &expression.at;
        match &expression.node {
            Node::Number { value, .. } => Ok(Number::Exact(value.clone())),
            Node::Constant(name) => constant(self, *name).map_err(|trouble| trouble.at(at)),
            Node::List(_) => Err(Fault::invalid(
                "A list is given to a function, as in sum([1, 2, 3]).",
                at.clone(),
            )),
            Node::Negate(inner) => Ok(negate(&self.number(inner)?)),
            Node::Percent(inner) => {
                let inner = self.number(inner)?;
                self.divide(&inner, &Number::from(100)).map_err(|trouble| trouble.at(at))
            }
            Node::Factorial(inner) => {
                let inner = self.number(inner)?;
                factorial(self, &inner).map_err(|trouble| trouble.at(at))
            }
            Node::Power(base, exponent) => {
                let (base, exponent) = (self.number(base)?, self.number(exponent)?);
                self.power(&base, &exponent).map_err(|trouble| trouble.at(at))
            }
            Node::Chain { first, rest } => self.chain(first, rest),
            Node::Compare(left, comparison, right) => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                let order = self.compare(&left, &right).map_err(|trouble| trouble.at(at))?;
                Ok(Number::from(u32::from(holds(*comparison, order))))
            }
            Node::Call(function, arguments) => self.call(function, arguments, at),
        }
    }

    fn chain(
        &mut self,
        first: &Expression,
        rest: &[(Operator, Expression, Range<usize>)],
    ) -> Result<Number, Fault> {
        let mut total = self.number(first)?;
        for (operator, part, at) in rest {
            let part = self.number(part)?;
            let result = match operator {
                Operator::Add => self.add(&total, &part),
                Operator::Subtract => self.subtract(&total, &part),
                Operator::Multiply => self.multiply(&total, &part),
                Operator::Divide => self.divide(&total, &part),
                Operator::FloorDivide => self.floor_divide(&total, &part),
                Operator::Modulo => self.modulo(&total, &part),
            };
            total = result.map_err(|trouble| trouble.at(at))?;
        }
        Ok(total)
    }

    fn call(
        &mut self,
        function: &Function,
        arguments: &[Expression],
        at: &Range<usize>,
    ) -> Result<Number, Fault> {
        let result = match function.body {
            Body::Numbers(body) => {
                let numbers: Result<Vec<_>, _> =
                    arguments.iter().map(|argument| self.number(argument)).collect();
                body(self, &numbers?)
            }
            Body::All(body) => {
                let mut numbers = Vec::new();
                for argument in arguments {
                    match self.value(argument)? {
                        Value::Number(number) => numbers.push(number),
                        Value::List(list) => numbers.extend(list),
                    }
                }
                if numbers.is_empty() {
                    return Err(Fault::invalid("The list is empty.", at.clone()));
                }
                body(self, &numbers)
            }
            Body::Values(body) => {
                let values: Result<Vec<_>, _> =
                    arguments.iter().map(|argument| self.value(argument)).collect();
                body(self, &values?)
            }
            Body::If => {
                let condition = self.number(&arguments[0])?;
                let sign = self.sign(&condition).map_err(|trouble| trouble.at(at))?;
                let branch = if sign == Ordering::Equal { &arguments[2] } else { &arguments[1] };
                return self.number(branch);
            }
        };
        result.map_err(|trouble| trouble.at(at))
    }

    fn value(&mut self, expression: &Expression) -> Result<Value, Fault> {
        let Node::List(items) = &expression.node else {
            return self.number(expression).map(Value::Number);
        };
        let items = items.iter().map(|item| self.number(item));
        items.collect::<Result<Vec<_>, _>>().map(Value::List)
    }
}

fn holds(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Less => order == Ordering::Less,
        Comparison::LessEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterEqual => order != Ordering::Less,
        Comparison::Equal => order == Ordering::Equal,
        Comparison::NotEqual => order != Ordering::Equal,
    }
}
