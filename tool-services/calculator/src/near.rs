//! Decimals that know their own error. Each operation adds what it rounds and carries on what its
//! operands did not know, so an answer never shows a digit that is not known, and a difference that
//! drowns in errors is noticed. The arithmetic itself is correctly rounded by the library.

use std::cmp::Ordering;

use dashu::{
    base::{Abs as _, Approximation, EstimatedLog2 as _, Sign},
    float::{Context, FBig, FpError, FpResult, Repr, round::mode::HalfEven},
    integer::IBig,
    rational::RBig,
};

use crate::{
    fault::Trouble,
    number::{Machine, Number, check_magnitude, float, words},
    rounding::{Rounding, whole},
};

/// A decimal of some precision.
pub(crate) type Decimal = FBig<HalfEven, 10>;

/// Why a decimal cannot be rounded to a whole number.
#[derive(Debug)]
pub(crate) enum Doubt {
    /// It may lie right on an edge; then this is what the rounding chooses.
    Edge(IBig),
    /// Its error spans more than one whole number.
    Wide,
    Trouble(Trouble),
}

/// What a function of the library costs: steps for a digit and for a digit's square. Measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    digit: usize,
    square: usize,
}

impl Cost {
    pub(crate) const EXPONENTIAL: Self = Self { digit: 2_500, square: 15 };
    pub(crate) const LOGARITHM: Self = Self { digit: 3_000, square: 170 };
    pub(crate) const POWER: Self = Self { digit: 15_000, square: 80 };
    pub(crate) const CIRCLE: Self = Self { digit: 11_500, square: 8 };
    pub(crate) const ARC: Self = Self { digit: 32_000, square: 60 };
    pub(crate) const HYPERBOLA: Self = Self { digit: 15_000, square: 38 };
}

/// A decimal and how far off it may be.
#[derive(Clone, Debug)]
pub(crate) struct Near {
    pub(crate) value: Decimal,
    /// Base-10 logarithm of the bound on the error; minus infinity if there is none.
    pub(crate) error: f64,
}

impl Near {
    /// An exact value.
    pub(crate) fn exact(value: Decimal) -> Self {
        Self { value, error: f64::NEG_INFINITY }
    }

    /// A fraction to so many digits.
    pub(crate) fn from_fraction(value: &RBig, digits: usize) -> Self {
        if value.is_int() {
            return Self::exact(Decimal::from(value.numerator().clone()));
        }
        match value.to_float::<HalfEven, 10>(digits) {
            Approximation::Exact(value) => Self::exact(value),
            Approximation::Inexact(value, _) => {
                let error = rounding_error(&value, digits);
                Self { value, error }
            }
        }
    }

    /// Compared with zero, if the error leaves no doubt.
    pub(crate) fn sign(&self) -> Option<Ordering> {
        let (low, _) = magnitude(&self.value);
        if low <= self.error {
            return self.is_exact().then_some(Ordering::Equal);
        }
        Some(if self.value.sign() == Sign::Negative { Ordering::Less } else { Ordering::Greater })
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.error == f64::NEG_INFINITY
    }

    pub(crate) fn negate(&self) -> Self {
        Self { value: -self.value.clone(), error: self.error }
    }

    /// The whole number that the rounding chooses, if the error leaves no doubt.
    pub(crate) fn round(&self, rounding: Rounding) -> Result<IBig, Doubt> {
        let (_, high) = magnitude(&self.value);
        check_magnitude(high, 1.0).map_err(Doubt::Trouble)?;
        let value = RBig::try_from(self.value.clone())
            .map_err(|_| Doubt::Trouble(Trouble::invalid("This has no value.")))?;
        if !self.is_exact() && self.error > -1.0 {
            return Err(Doubt::Wide);
        }
        // The edges lie at whole numbers, or halfway between them.
        let halves = matches!(rounding, Rounding::HalfUp | Rounding::HalfEven);
        let scale = RBig::from(if halves { 2 } else { 1 });
        let scaled = &value * &scale;
        let edge = RBig::from(whole(&scaled, Rounding::HalfUp)) / scale;
        let is_edge = !halves || !edge.is_int();
        let distance = Decimal::try_from((value.clone() - &edge).abs());
        let distance = distance.map_or_else(
            |_| magnitude(&(value.clone() - &edge).abs().to_float::<HalfEven, 10>(8).value()).0,
            |distance| magnitude(&distance).0,
        );
        if !is_edge || distance > self.error || self.is_exact() {
            return Ok(whole(&value, rounding));
        }
        Err(Doubt::Edge(whole(&edge, rounding)))
    }
}

impl Machine {
    /// The number as a decimal.
    pub(crate) fn near(&mut self, number: &Number) -> Result<Near, Trouble> {
        match number {
            Number::Exact(value) => {
                self.charge(words(value).pow(2))?;
                Ok(Near::from_fraction(value, self.digits))
            }
            Number::Near(near) => Ok(near.clone()),
        }
    }

    pub(crate) fn context(&self) -> Context<HalfEven> {
        Context::new(self.digits)
    }

    /// Charges for an operation that costs as much as so many products.
    pub(crate) fn charge_near(&mut self, products: usize) -> Result<(), Trouble> {
        let words = self.digits / 19 + 1;
        self.charge(products.saturating_mul(2400 + words * (200 + words * 12)))
    }

    /// Charges for a function of the library, whose argument takes so many digits more.
    pub(crate) fn charge_function(&mut self, cost: Cost, more: usize) -> Result<(), Trouble> {
        let digits = self.digits + more;
        self.charge(digits * (cost.digit + digits * cost.square))
    }

    /// Charges for a rounding to a whole number, whose fraction may be far longer than the decimal.
    pub(crate) fn charge_round(&mut self, near: &Near) -> Result<(), Trouble> {
        let shift = near.value.repr().exponent().unsigned_abs();
        self.charge_near(8)?;
        self.charge(((self.digits + shift) / 19).saturating_pow(2).saturating_mul(2))
    }

    /// A result of the library, with what its operands did not know: the logarithm of that error.
    pub(crate) fn rounded(
        &self,
        result: FpResult<Decimal>,
        inherited: f64,
    ) -> Result<Number, Trouble> {
        self.derived(result, |_| inherited)
    }

    /// The same where that error depends on the logarithm of the result.
    pub(crate) fn derived(
        &self,
        result: FpResult<Decimal>,
        inherited: impl FnOnce(f64) -> f64,
    ) -> Result<Number, Trouble> {
        // A value that was rounded may have left the domain by that alone.
        let no_value = |inherited: f64| {
            if inherited == f64::NEG_INFINITY {
                Trouble::invalid("This has no value among the real numbers.")
            } else {
                Trouble::Undecided
            }
        };
        let (value, rounding) = match result {
            Ok(Approximation::Exact(value)) => (value, f64::NEG_INFINITY),
            Ok(Approximation::Inexact(value, _)) => {
                let error = rounding_error(&value, self.digits);
                (value, error)
            }
            Err(FpError::Overflow(_)) => return Err(infinite(1.0)),
            Err(FpError::Underflow(_)) => return Err(infinite(-1.0)),
            Err(FpError::ZivRetryLimitExceeded) => return Err(Trouble::Undecided),
            Err(FpError::InfiniteInput | FpError::OutOfDomain | FpError::Indeterminate) => {
                return Err(no_value(inherited(0.0)));
            }
        };
        if value.repr().is_infinite() {
            return Err(no_value(inherited(0.0)));
        }
        let (_, size) = magnitude(&value);
        if size > f64::NEG_INFINITY {
            check_magnitude(size, 1.0)?;
        }
        Ok(Number::Near(Near { value, error: sum(rounding, inherited(size)) }))
    }

    pub(crate) fn near_sum(&mut self, left: &Number, right: &Number) -> Result<Number, Trouble> {
        self.charge_near(1)?;
        let (left, right) = (self.near(left)?, self.near(right)?);
        let result = self.context().add(left.value.repr(), right.value.repr());
        self.rounded(result, sum(left.error, right.error))
    }

    pub(crate) fn near_product(
        &mut self,
        left: &Number,
        right: &Number,
    ) -> Result<Number, Trouble> {
        self.charge_near(1)?;
        let (left, right) = (self.near(left)?, self.near(right)?);
        let (_, left_size) = magnitude(&left.value);
        let (_, right_size) = magnitude(&right.value);
        let inherited =
            sum(sum(left_size + right.error, right_size + left.error), left.error + right.error);
        let result = self.context().mul(left.value.repr(), right.value.repr());
        self.rounded(result, inherited)
    }

    /// The divisor is known not to be zero.
    pub(crate) fn near_quotient(
        &mut self,
        left: &Number,
        right: &Number,
    ) -> Result<Number, Trouble> {
        self.charge_near(2)?;
        let (left, right) = (self.near(left)?, self.near(right)?);
        let (_, left_size) = magnitude(&left.value);
        let (right_low, _) = magnitude(&right.value);
        // The true divisor may be smaller than its value by the error.
        let divisor = difference(right_low, right.error).ok_or(Trouble::Undecided)?;
        let inherited = sum(left.error - divisor, left_size - right_low + right.error - divisor);
        let result = self.context().div(left.value.repr(), right.value.repr());
        self.rounded(result, inherited)
    }
}

fn infinite(sign: f64) -> Trouble {
    match check_magnitude(f64::INFINITY * sign, 1.0) {
        Err(trouble) => trouble,
        Ok(()) => Trouble::Undecided,
    }
}

/// Bounds on the base-10 logarithm of the value without its sign; minus infinity for zero.
#[expect(clippy::cast_precision_loss, reason = "exponents are limited to some 10^4")]
pub(crate) fn magnitude(value: &Decimal) -> (f64, f64) {
    let repr: &Repr<10> = value.repr();
    if repr.significand().is_zero() {
        return (f64::NEG_INFINITY, f64::NEG_INFINITY);
    }
    let (low, high) = repr.significand().log2_bounds();
    let shift = repr.exponent() as f64;
    let scale = std::f64::consts::LOG10_2;
    // The slack covers the rounding of these very sums.
    (f64::from(low) * scale + shift - 1e-9, f64::from(high) * scale + shift + 1e-9)
}

/// Half a unit in the last of so many digits.
fn rounding_error(value: &Decimal, digits: usize) -> f64 {
    magnitude(value).1 - float(digits) + 0.7
}

/// Logarithm of the sum of what two logarithms stand for.
pub(crate) fn sum(left: f64, right: f64) -> f64 {
    let (high, low) = if left >= right { (left, right) } else { (right, left) };
    if low == f64::NEG_INFINITY {
        high
    } else {
        high + (10f64.powf(low - high)).ln_1p() / std::f64::consts::LN_10
    }
}

/// Logarithm of the difference of what two logarithms stand for, if it is clearly positive.
fn difference(high: f64, low: f64) -> Option<f64> {
    let share = 10f64.powf(low - high);
    (share < 0.9).then(|| high + (-share).ln_1p() / std::f64::consts::LN_10)
}
