//! Whole numbers: remainders, factorials, choices, divisors. How long a factorial or a choice gets
//! is estimated before it is computed.

use dashu::{
    base::{BitTest as _, Gcd as _, UnsignedAbs as _},
    integer::{IBig, UBig},
};

use super::Outcome;
use crate::{
    fault::Trouble,
    number::{DIGITS, Machine, Number, float},
};

pub(super) fn modulo(machine: &mut Machine, values: &[Number]) -> Outcome {
    machine.modulo(&values[0], &values[1])
}

pub(super) fn factorial_of(machine: &mut Machine, values: &[Number]) -> Outcome {
    factorial(machine, &values[0])
}

/// The product of all whole numbers up to this one.
pub(crate) fn factorial(machine: &mut Machine, number: &Number) -> Outcome {
    let number = natural(machine, number, "A factorial")?;
    falling(machine, number, number)
}

pub(super) fn perm(machine: &mut Machine, values: &[Number]) -> Outcome {
    let (all, chosen) = choice(machine, values)?;
    if chosen > all {
        return Ok(Number::from(0));
    }
    falling(machine, all, chosen)
}

pub(super) fn comb(machine: &mut Machine, values: &[Number]) -> Outcome {
    let (all, chosen) = choice(machine, values)?;
    if chosen > all {
        return Ok(Number::from(0));
    }
    let chosen = chosen.min(all - chosen);
    let ways = falling(machine, all, chosen)?;
    let orders = falling(machine, chosen, chosen)?;
    machine.divide(&ways, &orders)
}

pub(super) fn gcd(machine: &mut Machine, values: &[Number]) -> Outcome {
    let mut common = UBig::ZERO;
    for value in values {
        let next = whole(machine, value, "gcd")?.unsigned_abs();
        charge(machine, &common, &next)?;
        // Zero and zero have every divisor.
        common = if common.is_zero() {
            next
        } else if next.is_zero() {
            common
        } else {
            common.gcd(next)
        };
    }
    Ok(IBig::from(common).into())
}

pub(super) fn lcm(machine: &mut Machine, values: &[Number]) -> Outcome {
    let mut multiple = UBig::ONE;
    for value in values {
        let next = whole(machine, value, "lcm")?.unsigned_abs();
        if next.is_zero() {
            return Ok(Number::from(0));
        }
        charge(machine, &multiple, &next)?;
        let common = (&multiple).gcd(&next);
        let product: IBig = (multiple / common * next).into();
        match machine.bounded(product.into())? {
            Number::Exact(bounded) => multiple = bounded.numerator().clone().unsigned_abs(),
            Number::Near(_) => return Err(too_long()),
        }
    }
    Ok(IBig::from(multiple).into())
}

/// `all * (all - 1) * ...`, so many factors.
fn falling(machine: &mut Machine, all: u64, factors: u64) -> Outcome {
    #[expect(clippy::cast_precision_loss, reason = "an estimate of the length")]
    let (top, count) = (all as f64, factors as f64);
    // The logarithm of n! / (n - k)! by Stirling's formula.
    let length = |n: f64| {
        if n < 1.0 { 0.0 } else { n * (n.ln() - 1.0) + 0.5 * (std::f64::consts::TAU * n).ln() }
    };
    let digits = (length(top) - length(top - count)) / std::f64::consts::LN_10;
    let limit = float(DIGITS);
    if digits > limit || count > 4.0 * limit {
        return Err(too_long());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 10,000")]
    let words = digits.max(0.0) as usize / 19 + 2;
    let products = usize::try_from(factors).unwrap_or(usize::MAX).saturating_mul(100);
    machine.charge(products.saturating_add(words * words))?;
    machine.bounded(IBig::from(product(all - factors, all)).into())
}

/// The product of `from + 1` to `to`, in halves, so that long factors meet long ones.
fn product(from: u64, to: u64) -> UBig {
    match to - from {
        0 => UBig::ONE,
        1 => UBig::from(to),
        _ => {
            let middle = from.midpoint(to);
            product(from, middle) * product(middle, to)
        }
    }
}

fn choice(machine: &mut Machine, values: &[Number]) -> Result<(u64, u64), Trouble> {
    let all = natural(machine, &values[0], "A choice")?;
    Ok((all, natural(machine, &values[1], "A choice")?))
}

fn natural(machine: &mut Machine, number: &Number, what: &str) -> Result<u64, Trouble> {
    let whole = whole(machine, number, what)?;
    if whole < IBig::ZERO {
        return Err(Trouble::Invalid(format!("{what} wants whole numbers from 0.")));
    }
    u64::try_from(&whole).map_err(|_| too_long())
}

fn whole(machine: &mut Machine, number: &Number, what: &str) -> Result<IBig, Trouble> {
    machine.charge(10)?;
    number.whole().cloned().ok_or_else(|| Trouble::Invalid(format!("{what} wants whole numbers.")))
}

fn charge(machine: &mut Machine, left: &UBig, right: &UBig) -> Result<(), Trouble> {
    let (left, right) = (left.bit_len() / 64 + 2, right.bit_len() / 64 + 2);
    machine.charge((left + right).pow(2))
}

fn too_long() -> Trouble {
    Trouble::TooLarge(format!("The result has more than {DIGITS} digits, which is the limit."))
}
