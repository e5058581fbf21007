//! Angles in radians, `deg` to bring degrees there, and the hyperbolic functions.

use std::cmp::Ordering;

use dashu::base::Sign;

use super::Outcome;
use crate::{
    eval::constant,
    expression::Constant,
    fault::Trouble,
    near::{Cost, Decimal, Near, magnitude, sum},
    number::{Machine, Number, absolute},
};

pub(super) fn sin(machine: &mut Machine, values: &[Number]) -> Outcome {
    if values[0].is_zero() {
        return Ok(Number::from(0));
    }
    let angle = angle(machine, &values[0])?;
    let result = machine.context().sin(angle.value.repr(), Some(&mut machine.constants));
    machine.rounded(result, angle.error)
}

pub(super) fn cos(machine: &mut Machine, values: &[Number]) -> Outcome {
    if values[0].is_zero() {
        return Ok(Number::from(1));
    }
    let angle = angle(machine, &values[0])?;
    let result = machine.context().cos(angle.value.repr(), Some(&mut machine.constants));
    machine.rounded(result, angle.error)
}

pub(super) fn tan(machine: &mut Machine, values: &[Number]) -> Outcome {
    if values[0].is_zero() {
        return Ok(Number::from(0));
    }
    let angle = angle(machine, &values[0])?;
    let result = machine.context().tan(angle.value.repr(), Some(&mut machine.constants));
    let tangent = machine.derived(result, |size| sum(0.0, 2.0 * size) + angle.error)?;
    if let Number::Near(near) = &tangent
        && near.error > magnitude(&near.value).0 - 1.0
        && near.sign() != Some(Ordering::Equal)
        && magnitude(&near.value).1 > 1.0
    {
        // The pole lies within the error of the angle.
        let pole = Trouble::invalid("The tangent has no value at this angle.");
        return Err(if machine.settles { pole } else { Trouble::Undecided });
    }
    Ok(tangent)
}

pub(super) fn asin(machine: &mut Machine, values: &[Number]) -> Outcome {
    let (sine, slope) = sine(machine, &values[0])?;
    if values[0].is_zero() {
        return Ok(Number::from(0));
    }
    let result = machine.context().asin(sine.value.repr(), Some(&mut machine.constants));
    machine.rounded(result, slope)
}

pub(super) fn acos(machine: &mut Machine, values: &[Number]) -> Outcome {
    if matches!(&values[0], Number::Exact(value) if value.is_one()) {
        return Ok(Number::from(0));
    }
    let (sine, slope) = sine(machine, &values[0])?;
    let result = machine.context().acos(sine.value.repr(), Some(&mut machine.constants));
    machine.rounded(result, slope)
}

pub(super) fn atan(machine: &mut Machine, values: &[Number]) -> Outcome {
    if values[0].is_zero() {
        return Ok(Number::from(0));
    }
    machine.charge_function(Cost::ARC, 0)?;
    let near = machine.near(&values[0])?;
    let result = machine.context().atan(near.value.repr(), Some(&mut machine.constants));
    machine.rounded(result, near.error - 2.0 * clear(&near))
}

pub(super) fn atan2(machine: &mut Machine, values: &[Number]) -> Outcome {
    let (vertical, horizontal) = (machine.sign(&values[0])?, machine.sign(&values[1])?);
    if vertical == Ordering::Equal {
        return match horizontal {
            Ordering::Greater => Ok(Number::from(0)),
            Ordering::Less => constant(machine, Constant::Pi),
            Ordering::Equal => Err(Trouble::invalid("The point (0, 0) has no angle.")),
        };
    }
    machine.charge_function(Cost::ARC, 0)?;
    let (y, x) = (machine.near(&values[0])?, machine.near(&values[1])?);
    let size = magnitude(&y.value).0.max(magnitude(&x.value).0);
    let result =
        machine.context().atan2(y.value.repr(), x.value.repr(), Some(&mut machine.constants));
    machine.rounded(result, sum(y.error, x.error) - size)
}

pub(super) fn sinh(machine: &mut Machine, values: &[Number]) -> Outcome {
    if values[0].is_zero() {
        return Ok(Number::from(0));
    }
    let near = exponent(machine, &values[0])?;
    let result = machine.context().sinh(near.value.repr(), Some(&mut machine.constants));
    machine.derived(result, |size| sum(size, 0.0) + near.error + 0.1)
}

pub(super) fn cosh(machine: &mut Machine, values: &[Number]) -> Outcome {
    if values[0].is_zero() {
        return Ok(Number::from(1));
    }
    let near = exponent(machine, &values[0])?;
    let result = machine.context().cosh(near.value.repr(), Some(&mut machine.constants));
    machine.derived(result, |size| size + near.error + 0.1)
}

pub(super) fn tanh(machine: &mut Machine, values: &[Number]) -> Outcome {
    if values[0].is_zero() {
        return Ok(Number::from(0));
    }
    machine.charge_function(Cost::HYPERBOLA, 0)?;
    let near = machine.near(&values[0])?;
    let result = machine.context().tanh(near.value.repr(), Some(&mut machine.constants));
    // The slope is 1 - tanh(x)^2, at most 4 exp(-2 |x|).
    let size = 10f64.powf(clear(&near));
    let slope = 4f64.log10() - 2.0 * size * std::f64::consts::LOG10_E;
    machine.rounded(result, near.error + slope.min(0.0))
}

pub(super) fn asinh(machine: &mut Machine, values: &[Number]) -> Outcome {
    if values[0].is_zero() {
        return Ok(Number::from(0));
    }
    machine.charge_function(Cost::HYPERBOLA, 0)?;
    let near = machine.near(&values[0])?;
    let result = machine.context().asinh(near.value.repr(), Some(&mut machine.constants));
    machine.rounded(result, near.error - clear(&near))
}

pub(super) fn acosh(machine: &mut Machine, values: &[Number]) -> Outcome {
    match machine.compare(&values[0], &Number::from(1))? {
        Ordering::Less => {
            return Err(Trouble::invalid("acosh wants a number from 1."));
        }
        Ordering::Equal => return Ok(Number::from(0)),
        Ordering::Greater => {}
    }
    machine.charge_function(Cost::HYPERBOLA, 0)?;
    let near = machine.near(&values[0])?;
    // d acosh(x) = dx / sqrt(x - 1) sqrt(x + 1), and x + 1 is more than 1.
    let (above_one, _) = magnitude(&(near.value.clone() - Decimal::ONE));
    let result = machine.context().acosh(near.value.repr(), Some(&mut machine.constants));
    machine.rounded(result, near.error - above_one / 2.0)
}

pub(super) fn atanh(machine: &mut Machine, values: &[Number]) -> Outcome {
    if values[0].is_zero() {
        return Ok(Number::from(0));
    }
    if machine.compare(&absolute(&values[0]), &Number::from(1))? != Ordering::Less {
        return Err(Trouble::invalid("atanh wants a number between -1 and 1."));
    }
    machine.charge_function(Cost::HYPERBOLA, 0)?;
    let near = machine.near(&values[0])?;
    let (room, _) = magnitude(&room(&near.value));
    let result = machine.context().atanh(near.value.repr(), Some(&mut machine.constants));
    machine.rounded(result, near.error - room + 0.3)
}

pub(super) fn deg(machine: &mut Machine, values: &[Number]) -> Outcome {
    let turns = machine.divide(&values[0], &Number::from(180))?;
    let pi = constant(machine, Constant::Pi)?;
    machine.multiply(&turns, &pi)
}

pub(super) fn to_deg(machine: &mut Machine, values: &[Number]) -> Outcome {
    let pi = constant(machine, Constant::Pi)?;
    let turns = machine.divide(&values[0], &pi)?;
    machine.multiply(&turns, &Number::from(180))
}

/// An angle that is known well enough to lie somewhere on the circle.
fn angle(machine: &mut Machine, number: &Number) -> Result<Near, Trouble> {
    let near = machine.near(number)?;
    // Digits before the point are spent on finding the place on the circle.
    let turns = magnitude(&near.value).1.max(0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 10,000")]
    let spent = turns as usize;
    machine.charge_function(Cost::CIRCLE, spent)?;
    if near.error > -1.0 { Err(Trouble::Undecided) } else { Ok(near) }
}

/// An exponent whose power of e keeps the limits.
fn exponent(machine: &mut Machine, number: &Number) -> Result<Near, Trouble> {
    machine.charge_function(Cost::HYPERBOLA, 0)?;
    let near = machine.near(number)?;
    let size = near.value.to_f64().value().abs();
    crate::number::check_magnitude(size, std::f64::consts::LOG10_E)?;
    if near.error > -1.0 { Err(Trouble::Undecided) } else { Ok(near) }
}

/// A number from -1 to 1, and the logarithm of what its error means for its angle.
fn sine(machine: &mut Machine, number: &Number) -> Result<(Near, f64), Trouble> {
    let beyond = machine.compare(&absolute(number), &Number::from(1))?;
    if beyond == Ordering::Greater {
        return Err(Trouble::invalid("asin and acos want a number from -1 to 1."));
    }
    machine.charge_function(Cost::ARC, 0)?;
    let mut near = machine.near(number)?;
    if beyond == Ordering::Equal {
        let is_negative = near.value.sign() == Sign::Negative;
        near.value = if is_negative { Decimal::NEG_ONE } else { Decimal::ONE };
    }
    let (room, _) = magnitude(&room(&near.value));
    // d asin(x) = dx / sqrt(1 - x^2); at the very end it grows with the root of the error.
    let slope = near.error - room / 2.0;
    let end = near.error / 2.0 + 0.5;
    Ok((near, if slope.is_nan() { end } else { slope.min(end) }))
}

/// Logarithm of what the number is at least, error and all; 0 if that is not above 1.
fn clear(near: &Near) -> f64 {
    let (low, _) = magnitude(&near.value);
    if near.error < low - 1.0 { (low - 0.05).max(0.0) } else { 0.0 }
}

/// How much is missing to 1.
fn room(value: &Decimal) -> Decimal {
    let is_negative = value.sign() == Sign::Negative;
    if is_negative { Decimal::ONE + value.clone() } else { Decimal::ONE - value.clone() }
}
