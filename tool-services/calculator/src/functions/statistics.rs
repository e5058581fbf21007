//! Sums and statistics over lists, with the spreadsheets' meanings.

use std::cmp::Ordering;

use super::{Outcome, Value};
use crate::{
    fault::Trouble,
    number::{Machine, Number},
    rounding::Rounding,
};

pub(super) fn sum(machine: &mut Machine, values: &[Number]) -> Outcome {
    let mut total = Number::from(0);
    for value in values {
        total = machine.add(&total, value)?;
    }
    Ok(total)
}

pub(super) fn product(machine: &mut Machine, values: &[Number]) -> Outcome {
    let mut total = Number::from(1);
    for value in values {
        total = machine.multiply(&total, value)?;
    }
    Ok(total)
}

pub(super) fn count(machine: &mut Machine, values: &[Number]) -> Outcome {
    machine.charge(1)?;
    Ok(how_many(values))
}

pub(super) fn mean(machine: &mut Machine, values: &[Number]) -> Outcome {
    let total = sum(machine, values)?;
    machine.divide(&total, &how_many(values))
}

pub(super) fn median(machine: &mut Machine, values: &[Number]) -> Outcome {
    let sorted = sorted(machine, values)?;
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        return Ok(sorted[middle].clone());
    }
    mean(machine, &sorted[middle - 1..=middle])
}

pub(super) fn mode(machine: &mut Machine, values: &[Number]) -> Outcome {
    let mut best = (0, &values[0]);
    for (index, candidate) in values.iter().enumerate() {
        let mut times = 0;
        // Of equal ones the first counts them all.
        for value in &values[index..] {
            times += usize::from(machine.compare(candidate, value)? == Ordering::Equal);
        }
        if times > best.0 {
            best = (times, candidate);
        }
    }
    Ok(best.1.clone())
}

pub(super) fn min(machine: &mut Machine, values: &[Number]) -> Outcome {
    extreme(machine, values, Ordering::Less)
}

pub(super) fn max(machine: &mut Machine, values: &[Number]) -> Outcome {
    extreme(machine, values, Ordering::Greater)
}

pub(super) fn var(machine: &mut Machine, values: &[Number]) -> Outcome {
    if values.len() < 2 {
        return Err(Trouble::invalid("A sample's spread wants at least two values."));
    }
    let squares = squares(machine, values)?;
    machine.divide(&squares, &how_many(&values[1..]))
}

pub(super) fn varp(machine: &mut Machine, values: &[Number]) -> Outcome {
    let squares = squares(machine, values)?;
    machine.divide(&squares, &how_many(values))
}

pub(super) fn stdev(machine: &mut Machine, values: &[Number]) -> Outcome {
    let variance = var(machine, values)?;
    machine.root(&variance, 2)
}

pub(super) fn stdevp(machine: &mut Machine, values: &[Number]) -> Outcome {
    let variance = varp(machine, values)?;
    machine.root(&variance, 2)
}

/// Between the values by rank, both ends included.
pub(super) fn percentile(machine: &mut Machine, values: &[Value]) -> Outcome {
    let (Value::List(list), Value::Number(share)) = (&values[0], &values[1]) else {
        return Err(Trouble::invalid("It is used as percentile([a, b, ...], share)."));
    };
    let below = machine.sign(share)? == Ordering::Less;
    if list.is_empty() || below || machine.compare(share, &Number::from(1))? == Ordering::Greater {
        return Err(Trouble::invalid("A percentile wants values and a share from 0 to 1."));
    }
    let sorted = sorted(machine, list)?;
    let rank = machine.multiply(share, &how_many(&sorted[1..]))?;
    let floor = machine.round(&rank, Rounding::Floor)?;
    let lower = usize::try_from(&floor).unwrap_or(0).min(sorted.len() - 1);
    let Some(upper) = sorted.get(lower + 1) else { return Ok(sorted[lower].clone()) };
    let part = machine.subtract(&rank, &floor.into())?;
    let step = machine.subtract(upper, &sorted[lower])?;
    let step = machine.multiply(&part, &step)?;
    machine.add(&sorted[lower], &step)
}

fn how_many(values: &[Number]) -> Number {
    Number::from(u32::try_from(values.len()).unwrap_or(u32::MAX))
}

/// Sum of the squared distances from the mean.
fn squares(machine: &mut Machine, values: &[Number]) -> Outcome {
    let mean = mean(machine, values)?;
    let mut total = Number::from(0);
    for value in values {
        let distance = machine.subtract(value, &mean)?;
        let square = machine.multiply(&distance, &distance)?;
        total = machine.add(&total, &square)?;
    }
    Ok(total)
}

fn extreme(machine: &mut Machine, values: &[Number], wanted: Ordering) -> Outcome {
    let mut best = &values[0];
    for value in &values[1..] {
        if machine.compare(value, best)? == wanted {
            best = value;
        }
    }
    Ok(best.clone())
}

/// The values in rising order. By hand, for a comparison may fail.
fn sorted(machine: &mut Machine, values: &[Number]) -> Result<Vec<Number>, Trouble> {
    let mut sorted: Vec<Number> = Vec::with_capacity(values.len());
    for value in values {
        let (mut low, mut high) = (0, sorted.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if machine.compare(value, &sorted[middle])? == Ordering::Less {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        sorted.insert(low, value.clone());
    }
    Ok(sorted)
}
