//! Powers, roots and logarithms. What has an exact value gets it.

use std::cmp::Ordering;

use dashu::{
    base::{BitTest as _, PowerOfTwo as _, Signed as _, UnsignedAbs as _},
    integer::UBig,
    rational::RBig,
};

use super::Outcome;
use crate::{
    fault::Trouble,
    near::{Cost, magnitude},
    number::{Machine, Number, absolute, check_magnitude, negate, power_of_ten},
};

/// Highest degree of a root.
const DEGREE: usize = 10_000;

pub(super) fn abs(machine: &mut Machine, values: &[Number]) -> Outcome {
    machine.charge(1)?;
    Ok(absolute(&values[0]))
}

pub(super) fn sign(machine: &mut Machine, values: &[Number]) -> Outcome {
    Ok(match machine.sign(&values[0])? {
        Ordering::Less => negate(&Number::from(1)),
        Ordering::Equal => Number::from(0),
        Ordering::Greater => Number::from(1),
    })
}

pub(super) fn sqrt(machine: &mut Machine, values: &[Number]) -> Outcome {
    machine.root(&values[0], 2)
}

pub(super) fn cbrt(machine: &mut Machine, values: &[Number]) -> Outcome {
    machine.root(&values[0], 3)
}

pub(super) fn root(machine: &mut Machine, values: &[Number]) -> Outcome {
    let degree = values[1].whole().and_then(|degree| usize::try_from(degree).ok());
    match degree {
        Some(degree) if (1..=DEGREE).contains(&degree) => machine.root(&values[0], degree),
        Some(_) | None => Err(Trouble::Invalid(format!(
            "The degree of a root is a whole number from 1 to {DEGREE}."
        ))),
    }
}

pub(super) fn pow(machine: &mut Machine, values: &[Number]) -> Outcome {
    machine.power(&values[0], &values[1])
}

pub(super) fn exp(machine: &mut Machine, values: &[Number]) -> Outcome {
    if values[0].is_zero() {
        return Ok(Number::from(1));
    }
    machine.charge_function(Cost::EXPONENTIAL, 0)?;
    let near = machine.near(&values[0])?;
    check_magnitude(near.value.to_f64().value(), std::f64::consts::LOG10_E)?;
    let result = machine.context().exp(near.value.repr(), Some(&mut machine.constants));
    machine.derived(result, |size| size + near.error + 0.1)
}

pub(super) fn ln(machine: &mut Machine, values: &[Number]) -> Outcome {
    logarithm(machine, &values[0])
}

pub(super) fn log10(machine: &mut Machine, values: &[Number]) -> Outcome {
    if let Number::Exact(value) = &values[0]
        && let Some(exponent) = whole_power(value, |part| {
            let digits = part.bit_len() as u64 * 30_103 / 100_000;
            [digits, digits + 1].into_iter().find(|exponent| power_of_ten(*exponent) == *part)
        })
    {
        return Ok(exponent);
    }
    log(machine, &[values[0].clone(), Number::from(10)])
}

pub(super) fn log2(machine: &mut Machine, values: &[Number]) -> Outcome {
    if let Number::Exact(value) = &values[0]
        && let Some(exponent) =
            whole_power(value, |part| part.is_power_of_two().then(|| part.bit_len() as u64 - 1))
    {
        return Ok(exponent);
    }
    log(machine, &[values[0].clone(), Number::from(2)])
}

pub(super) fn log(machine: &mut Machine, values: &[Number]) -> Outcome {
    let Some(base) = values.get(1) else { return log10(machine, values) };
    let above = logarithm(machine, &values[0])?;
    let below = logarithm(machine, base)?;
    if below.is_zero() {
        return Err(Trouble::invalid("There is no logarithm to base 1."));
    }
    let quotient = machine.divide(&above, &below)?;
    exact_logarithm(machine, &values[0], base, &quotient)?.map_or(Ok(quotient), Ok)
}

pub(super) fn hypot(machine: &mut Machine, values: &[Number]) -> Outcome {
    let mut squares = Number::from(0);
    for value in values {
        let square = machine.multiply(value, value)?;
        squares = machine.add(&squares, &square)?;
    }
    machine.root(&squares, 2)
}

fn logarithm(machine: &mut Machine, number: &Number) -> Outcome {
    match machine.sign(number)? {
        Ordering::Less => {
            return Err(Trouble::invalid("A negative number has no real logarithm."));
        }
        Ordering::Equal => return Err(Trouble::invalid("Zero has no logarithm.")),
        Ordering::Greater => {}
    }
    if matches!(number, Number::Exact(value) if value.is_one()) {
        return Ok(Number::from(0));
    }
    machine.charge_function(Cost::LOGARITHM, 0)?;
    let near = machine.near(number)?;
    let (low, _) = magnitude(&near.value);
    let result = machine.context().ln(near.value.repr(), Some(&mut machine.constants));
    machine.rounded(result, near.error - low + 0.1)
}

/// The exponent of a whole power or of one over it.
fn whole_power(value: &RBig, exponent: impl Fn(&UBig) -> Option<u64>) -> Option<Number> {
    if value.is_negative() || value.is_zero() {
        return None;
    }
    if value.is_int() {
        return exponent(&value.numerator().clone().unsigned_abs())
            .map(|exponent| RBig::from(exponent).into());
    }
    if value.numerator().is_one() {
        let exponent = exponent(value.denominator())?;
        return Some(negate(&Number::Exact(RBig::from(exponent))));
    }
    None
}

/// A logarithm that is whole or one over a whole number: `about` is what it is about.
fn exact_logarithm(
    machine: &mut Machine,
    number: &Number,
    base: &Number,
    about: &Number,
) -> Result<Option<Number>, Trouble> {
    let (Number::Exact(value), Number::Exact(root), Number::Near(near)) = (number, base, about)
    else {
        return Ok(None);
    };
    let about = near.value.to_f64().value();
    for (power, from, is_inverse) in [(about, root, false), (about.recip(), value, true)] {
        let whole = power.round();
        if (power - whole).abs() > 1e-9 || whole == 0.0 || whole.abs() > 40_000.0 {
            continue;
        }
        #[expect(clippy::cast_possible_truncation, reason = "checked against 40,000")]
        let whole = whole as i32;
        let power = Number::Exact(RBig::from(whole));
        let expected = if is_inverse { root } else { value };
        if let Ok(Number::Exact(result)) = machine.power(&Number::Exact(from.clone()), &power)
            && result == *expected
        {
            return if is_inverse {
                machine.divide(&Number::from(1), &power).map(Some)
            } else {
                Ok(Some(power))
            };
        }
    }
    Ok(None)
}
