//! Numbers: exact fractions as long as there is an exact value, else decimals that know their own
//! error (`near.rs`). A [`Machine`] works on them within limits that are checked before computing;
//! which operation is wanted is `eval.rs`' and `functions.rs`' business. Powers are in `power.rs`.

use std::cmp::Ordering;

use dashu::{
    base::{Abs as _, BitTest as _, Signed as _},
    float::ConstCache,
    integer::{IBig, UBig},
    rational::RBig,
};

use crate::{
    fault::Trouble,
    near::{Doubt, Near},
    rounding::{Rounding, whole},
};

/// Most digits of a result, and of the two halves of a fraction.
pub(crate) const DIGITS: usize = 10_000;
/// The same in bits: 10^4 digits times log2(10).
const BITS: usize = 33_220;
/// Work that one expression may cause, in steps. A step is some 4 ns where nothing is optimized, so
/// that all of it is about 120 ms there, and well below 50 ms in a release.
pub(crate) const WORK: u64 = 30_000_000;
/// Work that is done at once, where the runtime's thread waits for it: a thirtieth of that. What
/// people ask takes less.
pub(crate) const AT_ONCE: u64 = 1_000_000;

/// A number.
#[derive(Clone, Debug)]
pub(crate) enum Number {
    /// Exactly this.
    Exact(RBig),
    /// About this.
    Near(Near),
}

/// Works on numbers with some number of digits and a rest of work.
pub(crate) struct Machine {
    /// Digits of decimals.
    pub(crate) digits: usize,
    /// Last attempt: what lies within the error of being equal is equal.
    pub(crate) settles: bool,
    /// Whether that was needed.
    pub(crate) has_settled: bool,
    work: u64,
    /// Digits of pi and logarithms that were computed already.
    pub(crate) constants: ConstCache,
}

impl From<RBig> for Number {
    fn from(value: RBig) -> Self {
        Self::Exact(value)
    }
}

impl From<IBig> for Number {
    fn from(value: IBig) -> Self {
        Self::Exact(RBig::from(value))
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Self {
        Self::Exact(RBig::from(value))
    }
}

impl Number {
    /// The number, if it is an exact whole one.
    pub(crate) fn whole(&self) -> Option<&IBig> {
        match self {
            Self::Exact(value) if value.is_int() => Some(value.numerator()),
            Self::Exact(_) | Self::Near(_) => None,
        }
    }

    /// Whether it is exactly zero.
    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Self::Exact(value) if value.is_zero())
    }
}

impl Machine {
    /// A machine for at most so much work.
    pub(crate) fn new(digits: usize, work: u64) -> Self {
        Self { digits, settles: false, has_settled: false, work, constants: ConstCache::new() }
    }

    /// Takes some work from the rest.
    pub(crate) fn charge(&mut self, work: usize) -> Result<(), Trouble> {
        let work = u64::try_from(work).unwrap_or(u64::MAX);
        self.work = self.work.checked_sub(work).ok_or(Trouble::Spent)?;
        Ok(())
    }

    /// A new attempt with more digits, on what is left of the work.
    pub(crate) fn again(&mut self, digits: usize, settles: bool) {
        (self.digits, self.settles) = (digits, settles);
    }

    pub(crate) fn add(&mut self, left: &Number, right: &Number) -> Result<Number, Trouble> {
        match (left, right) {
            (Number::Exact(left), Number::Exact(right)) => {
                self.charge_exact(left, right)?;
                self.bounded(left + right)
            }
            _ => self.near_sum(left, right),
        }
    }

    pub(crate) fn subtract(&mut self, left: &Number, right: &Number) -> Result<Number, Trouble> {
        self.add(left, &negate(right))
    }

    pub(crate) fn multiply(&mut self, left: &Number, right: &Number) -> Result<Number, Trouble> {
        match (left, right) {
            (Number::Exact(left), Number::Exact(right)) => {
                self.charge_exact(left, right)?;
                self.bounded(left * right)
            }
            (zero, _) | (_, zero) if zero.is_zero() => Ok(zero.clone()),
            _ => self.near_product(left, right),
        }
    }

    pub(crate) fn divide(&mut self, left: &Number, right: &Number) -> Result<Number, Trouble> {
        if self.sign(right)? == Ordering::Equal {
            return Err(Trouble::invalid("Division by zero."));
        }
        match (left, right) {
            (Number::Exact(left), Number::Exact(right)) => {
                self.charge_exact(left, right)?;
                self.bounded(left / right)
            }
            _ => self.near_quotient(left, right),
        }
    }

    /// The greatest whole number that is not above the quotient.
    pub(crate) fn floor_divide(
        &mut self,
        left: &Number,
        right: &Number,
    ) -> Result<Number, Trouble> {
        let quotient = self.divide(left, right)?;
        Ok(self.round(&quotient, Rounding::Floor)?.into())
    }

    /// What a floor division leaves; it has the divisor's sign.
    pub(crate) fn modulo(&mut self, left: &Number, right: &Number) -> Result<Number, Trouble> {
        let quotient = self.floor_divide(left, right)?;
        let taken = self.multiply(&quotient, right)?;
        self.subtract(left, &taken)
    }

    /// Which is greater. Decimals whose errors overlap are equal at the last attempt.
    pub(crate) fn compare(&mut self, left: &Number, right: &Number) -> Result<Ordering, Trouble> {
        let difference = match (left, right) {
            (Number::Exact(left), Number::Exact(right)) => {
                self.charge(60 + words(left) * words(right))?;
                return Ok(left.cmp(right));
            }
            _ => self.subtract(left, right)?,
        };
        self.sign(&difference)
    }

    /// Compared with zero.
    pub(crate) fn sign(&mut self, number: &Number) -> Result<Ordering, Trouble> {
        match number {
            Number::Exact(value) if value.is_zero() => Ok(Ordering::Equal),
            Number::Exact(value) if value.is_negative() => Ok(Ordering::Less),
            Number::Exact(_) => Ok(Ordering::Greater),
            Number::Near(near) => match near.sign() {
                Some(sign) => Ok(sign),
                None if self.settles => {
                    self.has_settled = true;
                    Ok(Ordering::Equal)
                }
                None => Err(Trouble::Undecided),
            },
        }
    }

    /// The whole number that the rounding chooses.
    pub(crate) fn round(&mut self, number: &Number, rounding: Rounding) -> Result<IBig, Trouble> {
        match number {
            Number::Exact(value) => {
                self.charge_exact(value, value)?;
                Ok(whole(value, rounding))
            }
            Number::Near(near) => {
                self.charge_round(near)?;
                match near.round(rounding) {
                    Ok(whole) => Ok(whole),
                    Err(Doubt::Edge(whole)) if self.settles => {
                        self.has_settled = true;
                        Ok(whole)
                    }
                    Err(Doubt::Edge(_) | Doubt::Wide) => Err(Trouble::Undecided),
                    Err(Doubt::Trouble(trouble)) => Err(trouble),
                }
            }
        }
    }

    /// A fraction of any size: as it is, if it keeps the limits; as a decimal, if only its halves
    /// are too long.
    pub(crate) fn bounded(&mut self, value: RBig) -> Result<Number, Trouble> {
        let (above, below) = (value.numerator().bit_len(), value.denominator().bit_len());
        if above <= BITS && below <= BITS {
            return Ok(Number::Exact(value));
        }
        check_magnitude(float(above) - float(below), std::f64::consts::LOG10_2)?;
        self.near(&Number::Exact(value)).map(Number::Near)
    }

    fn charge_exact(&mut self, left: &RBig, right: &RBig) -> Result<(), Trouble> {
        // A product and a greatest common divisor, both quadratic.
        self.charge(150 + words(left) * words(right) + (words(left) + words(right)).pow(2) / 2)
    }
}

/// How long a fraction is, in words.
pub(crate) fn words(value: &RBig) -> usize {
    (value.numerator().bit_len() + value.denominator().bit_len()) / 64 + 2
}

/// Refuses a magnitude of `exponent` (times `unit` powers of ten) beyond the limit.
pub(crate) fn check_magnitude(exponent: f64, unit: f64) -> Result<(), Trouble> {
    let magnitude = exponent * unit;
    if magnitude > float(DIGITS) {
        let message = format!("The result has more than {DIGITS} digits, which is the limit.");
        return Err(Trouble::TooLarge(message));
    }
    if magnitude < -float(DIGITS) {
        let message =
            format!("The result is closer to zero than 10^-{DIGITS}, which is the limit.");
        return Err(Trouble::TooLarge(message));
    }
    Ok(())
}

/// A count as a machine float.
pub(crate) fn float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// The number with the other sign.
pub(crate) fn negate(number: &Number) -> Number {
    match number {
        Number::Exact(value) => Number::Exact(-value),
        Number::Near(near) => Number::Near(near.negate()),
    }
}

/// The number without its sign.
pub(crate) fn absolute(number: &Number) -> Number {
    match number {
        Number::Exact(value) => Number::Exact(value.clone().abs()),
        Number::Near(near) if near.value.sign() == dashu::base::Sign::Negative => {
            Number::Near(near.negate())
        }
        Number::Near(near) => Number::Near(near.clone()),
    }
}

pub(crate) fn power_of_ten(exponent: u64) -> UBig {
    UBig::from(10u8).pow(usize::try_from(exponent).unwrap_or(DIGITS))
}
