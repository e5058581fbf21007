//! Rounding to digits after the point; a negative number of digits rounds before it.

use dashu::rational::RBig;

use super::{Outcome, or};
use crate::{
    fault::Trouble,
    number::{DIGITS, Machine, Number, power_of_ten},
    rounding::Rounding,
};

pub(super) fn half_up(machine: &mut Machine, values: &[Number]) -> Outcome {
    rounded(machine, values, Rounding::HalfUp)
}

pub(super) fn half_even(machine: &mut Machine, values: &[Number]) -> Outcome {
    rounded(machine, values, Rounding::HalfEven)
}

pub(super) fn up(machine: &mut Machine, values: &[Number]) -> Outcome {
    rounded(machine, values, Rounding::AwayFromZero)
}

pub(super) fn down(machine: &mut Machine, values: &[Number]) -> Outcome {
    rounded(machine, values, Rounding::TowardZero)
}

pub(super) fn floor(machine: &mut Machine, values: &[Number]) -> Outcome {
    rounded(machine, values, Rounding::Floor)
}

pub(super) fn ceiling(machine: &mut Machine, values: &[Number]) -> Outcome {
    rounded(machine, values, Rounding::Ceiling)
}

fn rounded(machine: &mut Machine, values: &[Number], rounding: Rounding) -> Outcome {
    let digits = or(values, 1, 0);
    let digits = digits.whole().and_then(|digits| i64::try_from(digits).ok());
    let Some(digits) = digits.filter(|digits| digits.unsigned_abs() <= DIGITS as u64) else {
        return Err(Trouble::Invalid(format!(
            "The number of digits to round to is a whole number from -{DIGITS} to {DIGITS}."
        )));
    };
    let power = RBig::from(power_of_ten(digits.unsigned_abs()));
    let unit = Number::Exact(if digits < 0 { power } else { RBig::ONE / power });
    let units = machine.divide(&values[0], &unit)?;
    let whole = machine.round(&units, rounding)?;
    machine.multiply(&whole.into(), &unit)
}
