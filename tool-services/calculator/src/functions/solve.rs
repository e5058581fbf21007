//! Finds the rate at which a sum of payments vanishes: first about, in machine floats from a guess
//! or else from a grid, then to all digits by the secant method.

use dashu::{float::FBig, rational::RBig};

use super::Outcome;
use crate::{
    fault::Trouble,
    near::{Near, magnitude, sum},
    number::{Machine, Number, float},
};

/// Steps of a search; both methods need far fewer or do not end.
const STEPS: usize = 100;
/// Points of the grid between -99.99 % and 100,000 %.
const GRID: u32 = 400;

/// The number as a machine float.
pub(super) fn plain(number: &Number) -> Result<f64, Trouble> {
    let plain = match number {
        Number::Exact(value) => value.to_f64_fast(),
        Number::Near(near) => near.value.to_f64().value(),
    };
    if plain.is_finite() {
        return Ok(plain);
    }
    Err(Trouble::invalid("This is too large for a search."))
}

/// The rate where the function vanishes, the one near the guess.
pub(super) fn root(
    machine: &mut Machine,
    about: &dyn Fn(f64) -> f64,
    guess: f64,
    exactly: &dyn Fn(&mut Machine, &Number) -> Outcome,
) -> Outcome {
    machine.charge(20_000)?;
    let start = from_guess(about, guess).or_else(|| from_grid(about, guess));
    let start = start.ok_or_else(|| Trouble::invalid("No rate makes these payments balance."))?;
    let decimal = |machine: &Machine, value: f64| {
        let exact = RBig::try_from(value).unwrap_or(RBig::ZERO);
        Near::from_fraction(&exact, machine.digits.min(20)).value
    };
    let known = |value| Number::Near(Near::exact(value));
    let step = if start == 0.0 { 1e-9 } else { start * 1e-9 };
    let mut before = known(decimal(machine, start + step));
    let mut at = known(decimal(machine, start));
    let mut before_value = exactly(machine, &before)?;
    for _ in 0..STEPS {
        let value = exactly(machine, &at)?;
        let rise = machine.subtract(&value, &before_value)?;
        let run = machine.subtract(&at, &before)?;
        let (off, slope) = (machine.near(&value)?, machine.near(&rise)?);
        let run = machine.near(&run)?;
        let position = machine.near(&at)?;
        // How far the root may be: what is off, and how well that is known, by the slope.
        let slope_size = magnitude(&slope.value).0 - magnitude(&run.value).1;
        let distance = sum(magnitude(&off.value).1, off.error) - slope_size;
        let finest = magnitude(&position.value).1 - float(machine.digits) + 3.0;
        if off.sign().is_none() || distance <= finest || slope.sign().is_none() {
            if slope.sign().is_none() && off.sign().is_some() {
                return Err(Trouble::Undecided);
            }
            return Ok(Number::Near(Near { value: position.value, error: distance }));
        }
        let slope = machine.near_quotient(&Number::Near(slope), &Number::Near(run))?;
        let correction = machine.near_quotient(&value, &slope)?;
        let next = machine.subtract(&at, &correction)?;
        let next = machine.near(&next)?.value;
        (before, before_value) = (at, value);
        at = known(FBig::from_repr(next.repr().clone(), machine.context()));
    }
    Err(Trouble::invalid("The search for the rate does not end; try another guess."))
}

fn from_guess(about: &dyn Fn(f64) -> f64, guess: f64) -> Option<f64> {
    let (mut before, mut at) = (guess, guess + 1e-4);
    let mut before_value = about(before);
    for _ in 0..STEPS {
        let value = about(at);
        if value == 0.0 {
            return Some(at);
        }
        let next = at - value * (at - before) / (value - before_value);
        if !next.is_finite() || next <= -1.0 || next > 1e6 {
            return None;
        }
        if (next - at).abs() <= 1e-13 * next.abs().max(1e-13) {
            return Some(next);
        }
        (before, before_value, at) = (at, value, next);
    }
    None
}

/// The change of sign nearest to the guess, halved until it is one number.
fn from_grid(about: &dyn Fn(f64) -> f64, guess: f64) -> Option<f64> {
    let rate = |step: u32| (-9.2 + 16.1 * f64::from(step) / f64::from(GRID)).exp_m1();
    let mut nearest: Option<(f64, f64)> = None;
    let (mut high, mut above) = (rate(0), about(rate(0)));
    for step in 0..GRID {
        let (low, below) = (high, above);
        high = rate(step + 1);
        above = about(high);
        let is_change = below.is_finite() && above.is_finite() && (below < 0.0) != (above < 0.0);
        let is_nearer =
            nearest.is_none_or(|(known, _)| (low - guess).abs() < (known - guess).abs());
        if is_change && is_nearer {
            nearest = Some((low, high));
        }
    }
    let (mut low, mut high) = nearest?;
    let is_below = about(low) < 0.0;
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if (about(middle) < 0.0) == is_below {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}
