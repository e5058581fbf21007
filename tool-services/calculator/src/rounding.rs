//! How a fraction becomes a whole number.

use std::cmp::Ordering;

use dashu::{
    base::{BitTest as _, Signed as _},
    integer::IBig,
    rational::RBig,
};

/// How a number becomes a whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Floor,
    Ceiling,
    TowardZero,
    AwayFromZero,
    /// Half away from zero, as in commerce and spreadsheets.
    HalfUp,
    /// Half to the even neighbour, as in statistics and banking.
    HalfEven,
}

/// The whole number that the rounding chooses for a fraction.
pub(crate) fn whole(value: &RBig, rounding: Rounding) -> IBig {
    match rounding {
        Rounding::Floor => value.floor(),
        Rounding::TowardZero => value.trunc(),
        Rounding::AwayFromZero if value.is_negative() => value.floor(),
        Rounding::Ceiling | Rounding::AwayFromZero => value.ceil(),
        Rounding::HalfUp | Rounding::HalfEven => {
            let floor = value.floor();
            let twice = (value - RBig::from(floor.clone())) * RBig::from(2);
            let up = match twice.cmp(&RBig::ONE) {
                Ordering::Less => false,
                Ordering::Greater => true,
                Ordering::Equal if rounding == Rounding::HalfUp => !value.is_negative(),
                Ordering::Equal => floor.bit(0),
            };
            if up { floor + IBig::ONE } else { floor }
        }
    }
}
