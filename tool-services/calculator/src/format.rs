//! Writes a number. Whole numbers in full; other exact decimals in full while that is short; what
//! has no end, or is not exact, to [`SHOWN`] digits; very large and very small ones with an exponent.

use dashu::{
    base::{Approximation, BitTest as _, Signed as _, UnsignedAbs as _},
    float::{Context, Repr, round::mode::HalfEven},
    integer::{IBig, UBig},
    rational::RBig,
};

use crate::{
    eval::SHOWN,
    near::{Near, magnitude},
    number::{Number, power_of_ten},
    rounding::{Rounding, whole},
};

/// Longest exact decimal that is written in full, in significant digits.
const EXACT: usize = 60;
/// Zeros between the point and the first digit that are written out.
const ZEROS: usize = 20;

/// The value as a decimal; with `places`, rounded to so many digits after the point.
pub(crate) fn value(number: &Number, places: Option<u32>) -> String {
    match (number, places) {
        (Number::Exact(value), Some(places)) => fixed(value, places),
        (Number::Exact(value), None) => exact_decimal(value),
        (Number::Near(near), Some(places)) => match RBig::try_from(near.value.clone()) {
            Ok(value) => fixed(&value, places),
            Err(_) => decimal(near, SHOWN),
        },
        (Number::Near(near), None) => decimal(near, SHOWN),
    }
}

/// The exact value as `p/q`, if there is one.
pub(crate) fn exact(number: &Number) -> Option<String> {
    match number {
        Number::Exact(value) => Some(format!("{}/{}", value.numerator(), value.denominator())),
        Number::Near(_) => None,
    }
}

/// Rounded half away from zero to so many digits after the point, all of them written.
fn fixed(value: &RBig, places: u32) -> String {
    let scaled = value * RBig::from(power_of_ten(u64::from(places)));
    digits(
        &whole(&scaled, Rounding::HalfUp),
        -isize::try_from(places).unwrap_or(isize::MAX),
        Zeros::Keep,
    )
}

fn exact_decimal(value: &RBig) -> String {
    if value.is_int() {
        return value.numerator().to_string();
    }
    let (above, below) = (value.numerator().bit_len(), value.denominator().bit_len());
    // What has far more than the digits that are written in full is not even multiplied out.
    let is_short = |places: &usize| above + places * 33 / 10 <= below + EXACT * 4;
    if let Some(places) = terminating(value.denominator()).filter(is_short) {
        let scaled = value * RBig::from(power_of_ten(places as u64));
        let digits_only = scaled.numerator().clone().unsigned_abs();
        if digits_only.to_string().len() <= EXACT {
            return digits(scaled.numerator(), -places.cast_signed(), Zeros::Drop);
        }
    }
    // `to_float` rounds twice, the second time from one digit more: that digit must be far behind.
    decimal(&Near::exact(value.to_float::<HalfEven, 10>(SHOWN + 20).value()), SHOWN)
}

/// Digits after the point of a fraction over `denominator`, if its decimal ends.
fn terminating(denominator: &UBig) -> Option<usize> {
    let mut rest = denominator.clone();
    let twos = rest.trailing_zeros().unwrap_or(0);
    rest >>= twos;
    let fives = rest.remove(&UBig::from(5u8)).unwrap_or(0);
    rest.is_one().then_some(twos.max(fives))
}

/// To so many significant digits, or to fewer if fewer are known.
fn decimal(near: &Near, shown: usize) -> String {
    let (low, _) = magnitude(&near.value);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let known = (low - near.error).clamp(1.0, 1e6) as usize;
    let context = Context::<HalfEven>::new(shown.min(known));
    let rounded = match context.add(near.value.repr(), &Repr::zero()) {
        Ok(Approximation::Exact(value) | Approximation::Inexact(value, _)) => value,
        Err(_) => near.value.clone(),
    };
    let (significand, exponent) = rounded.into_repr().into_parts();
    digits(&significand, exponent, Zeros::Drop)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Zeros {
    Keep,
    Drop,
}

/// `significand` times ten to the `exponent`, plain if that is readable.
fn digits(significand: &IBig, exponent: isize, zeros: Zeros) -> String {
    let sign = if significand.is_negative() { "-" } else { "" };
    let mut digits = significand.clone().unsigned_abs().to_string();
    let mut exponent = exponent;
    if zeros == Zeros::Drop {
        while exponent < 0 && digits.len() > 1 && digits.ends_with('0') {
            digits.pop();
            exponent += 1;
        }
    }
    let point = digits.len().cast_signed() + exponent;
    let is_plain = zeros == Zeros::Keep || (-ZEROS.cast_signed() <= point && exponent <= 0);
    if !is_plain {
        let trimmed = digits.trim_end_matches('0');
        let (first, rest) = trimmed.split_at(1);
        let rest = if rest.is_empty() { String::new() } else { format!(".{rest}") };
        return format!("{sign}{first}{rest}e{:+}", point - 1);
    }
    if exponent >= 0 {
        return format!("{sign}{digits}{}", "0".repeat(exponent.unsigned_abs()));
    }
    let places = exponent.unsigned_abs();
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (integer, fraction) = padded.split_at(padded.len() - places);
    format!("{sign}{integer}.{fraction}")
}
