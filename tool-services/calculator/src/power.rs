//! Powers and roots. Exact where the result is: whole powers within the limits, and roots that come
//! out even. How long a power gets is known before it is computed.

use std::cmp::Ordering;

use dashu::{
    base::{Abs as _, BitTest as _, EstimatedLog2 as _, Signed as _},
    integer::{IBig, UBig},
    rational::RBig,
};

use crate::{
    fault::Trouble,
    near::{Cost, magnitude, sum},
    number::{DIGITS, Machine, Number, check_magnitude, float, negate},
};

/// Highest degree of a root that is tried for an exact result.
const ROOT: usize = 1000;
/// Highest degree of a root that is cheaper than a power.
const DIRECT: usize = 8;

impl Machine {
    pub(crate) fn power(&mut self, base: &Number, exponent: &Number) -> Result<Number, Trouble> {
        if exponent.is_zero() {
            return Ok(Number::from(1));
        }
        if base.is_zero() {
            return match self.sign(exponent)? {
                Ordering::Less => {
                    Err(Trouble::invalid("Division by zero: zero has no negative power."))
                }
                Ordering::Equal | Ordering::Greater => Ok(Number::from(0)),
            };
        }
        match (base, exponent) {
            (Number::Exact(base), Number::Exact(exponent)) if exponent.is_int() => {
                self.whole_power(base, exponent.numerator())
            }
            (Number::Exact(value), Number::Exact(fraction)) if value.is_negative() => {
                Err(Trouble::Invalid(format!(
                    "A negative number has no real power {fraction}; \
                     roots of odd degree are written root(x, n)."
                )))
            }
            (Number::Exact(value), Number::Exact(fraction)) => {
                match self.exact_root_power(value, fraction)? {
                    Some(exact) => Ok(exact),
                    None => self.near_power(base, exponent),
                }
            }
            _ => self.near_power(base, exponent),
        }
    }

    /// The root of that degree, negative for a negative number where the degree is odd.
    pub(crate) fn root(&mut self, number: &Number, degree: usize) -> Result<Number, Trouble> {
        match self.sign(number)? {
            Ordering::Equal => Ok(Number::from(0)),
            Ordering::Less if degree % 2 == 1 => {
                let root = self.root(&negate(number), degree)?;
                Ok(negate(&root))
            }
            Ordering::Less => {
                Err(Trouble::invalid("A negative number has no real root of even degree."))
            }
            Ordering::Greater => {
                if let Number::Exact(value) = number
                    && let Some(root) = self.exact_root(value, degree)?
                {
                    return Ok(Number::Exact(root));
                }
                if degree > DIRECT {
                    let share = RBig::from_parts(IBig::ONE, degree.into());
                    return self.near_power(number, &Number::Exact(share));
                }
                self.charge_near(2 * degree)?;
                let near = self.near(number)?;
                let result = self.context().nth_root(degree, near.value.repr());
                // d(x^(1/n)) = x^(1/n) / (n x) dx, and the root is x^(1/n).
                let (low, high) = magnitude(&near.value);
                let inherited = near.error + high / float(degree) - low;
                self.rounded(result, inherited)
            }
        }
    }

    fn whole_power(&mut self, base: &RBig, exponent: &IBig) -> Result<Number, Trouble> {
        let (above, below) = (base.numerator(), base.denominator());
        let is_unit = base.is_int() && above.bit_len() == 1;
        if is_unit {
            let is_odd = exponent.bit(0);
            return Ok(Number::Exact(if is_odd { base.clone() } else { RBig::ONE }));
        }
        let times = exponent.to_f64().value();
        check_magnitude(log10(base) * times, 1.0)?;
        let bits = f64::from(above.log2_bounds().1.max(below.log2_bounds().1));
        let longest = bits * times.abs() * std::f64::consts::LOG10_2;
        if longest <= float(DIGITS) {
            let power = isize::try_from(exponent)
                .map_err(|_| Trouble::too_large("The exponent is too large."))?;
            let words = to_usize(longest) / 19 + 2;
            self.charge(60 + 4 * words * words)?;
            return self.bounded(base.pow(power));
        }
        // Only its halves are too long, as in (1 + 0.045/365)^7300.
        let (base, exponent) = (Number::Exact(base.clone()), Number::from(exponent.clone()));
        self.near_power(&base, &exponent)
    }

    fn near_power(&mut self, base: &Number, exponent: &Number) -> Result<Number, Trouble> {
        let is_whole = exponent.whole().is_some();
        if !is_whole && self.sign(base)? != Ordering::Greater {
            return Err(Trouble::invalid("Only a positive number has a power that is not whole."));
        }
        self.sign(base)?;
        match exponent.whole() {
            // Squares and products.
            Some(whole) => self.charge_near(20 + 4 * whole.bit_len())?,
            None => self.charge_function(Cost::POWER, 0)?,
        }
        let (base, exponent) = (self.near(base)?, self.near(exponent)?);
        let times = exponent.value.to_f64().value();
        let size = RBig::try_from(base.value.clone()).map_or(0.0, |base| log10(&base));
        check_magnitude(size * times, 1.0)?;
        let result = self.context().powf(
            base.value.repr(),
            exponent.value.repr(),
            Some(&mut self.constants),
        );
        // d(b^x) / b^x = x db/b + ln(b) dx
        let from_base = times.abs().log10() + base.error - size;
        let from_exponent = (size.abs() * std::f64::consts::LN_10).log10() + exponent.error;
        let inherited = size * times + sum(from_base, from_exponent) + 0.1;
        self.rounded(result, inherited)
    }

    /// b^(p/q), if the root comes out even.
    fn exact_root_power(&mut self, base: &RBig, power: &RBig) -> Result<Option<Number>, Trouble> {
        let Ok(degree) = usize::try_from(power.denominator()) else { return Ok(None) };
        match self.exact_root(base, degree)? {
            Some(root) => self.whole_power(&root, power.numerator()).map(Some),
            None => Ok(None),
        }
    }

    /// The root of a positive fraction, if it comes out even.
    fn exact_root(&mut self, value: &RBig, degree: usize) -> Result<Option<RBig>, Trouble> {
        if degree > ROOT {
            return Ok(None);
        }
        let words = (value.numerator().bit_len() + value.denominator().bit_len()) / 64 + 2;
        self.charge(100 + 20 * words * words)?;
        let exact = |whole: &UBig| {
            let root = whole.nth_root(degree);
            (root.pow(degree) == *whole).then_some(root)
        };
        let Some(below) = exact(value.denominator()) else { return Ok(None) };
        let above = UBig::try_from(value.numerator().clone()).ok();
        let above = above.as_ref().and_then(exact);
        Ok(above.map(|above| RBig::from_parts(above.into(), below)))
    }
}

/// Base-10 logarithm of a fraction without its sign, precise also for one that is close to one.
fn log10(value: &RBig) -> f64 {
    let value = value.clone().abs();
    let above_one = (&value - RBig::ONE).to_f64_fast();
    if above_one.abs() < 0.5 {
        return above_one.ln_1p() / std::f64::consts::LN_10;
    }
    let plain = value.to_f64_fast();
    if plain.is_normal() {
        return plain.log10();
    }
    let middle = |(low, high): (f32, f32)| f64::midpoint(f64::from(low), f64::from(high));
    let bits = middle(value.numerator().log2_bounds()) - middle(value.denominator().log2_bounds());
    bits * std::f64::consts::LOG10_2
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "digits, checked against the limit"
)]
fn to_usize(value: f64) -> usize {
    value as usize
}
