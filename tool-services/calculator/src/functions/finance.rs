//! Money over time, with the spreadsheets' names, order and signs: what is paid out is negative, what
//! is received positive. `due` is 0 for payments at the end of a period and 1 for its beginning.
//! Rates are per period, so 4.5 % a year paid monthly is 0.045/12.

use std::cmp::Ordering;

use super::{Outcome, Value, or, solve};
use crate::{
    fault::Trouble,
    number::{Machine, Number, negate},
};

pub(super) fn pmt(machine: &mut Machine, values: &[Number]) -> Outcome {
    let [rate, periods, present] = [&values[0], &values[1], &values[2]];
    let future = or(values, 3, 0);
    let due = due(machine, &or(values, 4, 0), rate)?;
    let growth = growth(machine, rate, periods)?;
    let grown = machine.multiply(present, &growth)?;
    let owed = machine.add(&grown, &future)?;
    let annuity = annuity(machine, rate, periods, &growth)?;
    let per_unit = machine.multiply(&annuity, &due)?;
    let payment = machine.divide(&owed, &per_unit)?;
    Ok(negate(&payment))
}

pub(super) fn fv(machine: &mut Machine, values: &[Number]) -> Outcome {
    let [rate, periods, payment] = [&values[0], &values[1], &values[2]];
    let present = or(values, 3, 0);
    let due = due(machine, &or(values, 4, 0), rate)?;
    let growth = growth(machine, rate, periods)?;
    let grown = machine.multiply(&present, &growth)?;
    let paid = paid(machine, [rate, periods, payment], &due, &growth)?;
    let total = machine.add(&grown, &paid)?;
    Ok(negate(&total))
}

pub(super) fn pv(machine: &mut Machine, values: &[Number]) -> Outcome {
    let [rate, periods, payment] = [&values[0], &values[1], &values[2]];
    let future = or(values, 3, 0);
    let due = due(machine, &or(values, 4, 0), rate)?;
    let growth = growth(machine, rate, periods)?;
    let paid = paid(machine, [rate, periods, payment], &due, &growth)?;
    let total = machine.add(&future, &paid)?;
    let present = machine.divide(&total, &growth)?;
    Ok(negate(&present))
}

pub(super) fn nper(machine: &mut Machine, values: &[Number]) -> Outcome {
    let [rate, payment, present] = [&values[0], &values[1], &values[2]];
    let future = or(values, 3, 0);
    let due = due(machine, &or(values, 4, 0), rate)?;
    if machine.sign(rate)? == Ordering::Equal {
        let total = machine.add(present, &future)?;
        let periods = machine.divide(&total, payment)?;
        return Ok(negate(&periods));
    }
    let payment = machine.multiply(payment, &due)?;
    let (of_future, of_present) =
        (machine.multiply(&future, rate)?, machine.multiply(present, rate)?);
    let above = machine.subtract(&payment, &of_future)?;
    let below = machine.add(&payment, &of_present)?;
    let ratio = machine.divide(&above, &below)?;
    if machine.sign(&ratio)? != Ordering::Greater {
        return Err(Trouble::invalid("The payments never get there: check their signs and size."));
    }
    let growth = machine.add(&Number::from(1), rate)?;
    super::elementary::log(machine, &[ratio, growth])
}

pub(super) fn rate(machine: &mut Machine, values: &[Number]) -> Outcome {
    let [periods, payment, present] = [&values[0], &values[1], &values[2]];
    let future = or(values, 3, 0);
    let kind = or(values, 4, 0);
    due(machine, &kind, &Number::from(0))?;
    let guess = values.get(5).map_or(Ok(0.1), solve::plain)?;
    let all = machine.multiply(payment, periods)?;
    let all = machine.add(&all, present)?;
    let all = machine.add(&all, &future)?;
    if machine.sign(&all)? == Ordering::Equal {
        return Ok(Number::from(0));
    }
    let plain = [periods, payment, present, &future, &kind].map(solve::plain);
    let [n, pay, now, then, late] = plain;
    let (n, pay, now, then, late) = (n?, pay?, now?, then?, late?);
    let about = move |rate: f64| {
        let grown = (n * rate.ln_1p()).exp();
        let series = if rate.abs() < 1e-9 {
            n * (1.0 + (n - 1.0) / 2.0 * rate)
        } else {
            (n * rate.ln_1p()).exp_m1() / rate
        };
        now * grown + pay * (1.0 + rate * late) * series + then
    };
    let exactly = |machine: &mut Machine, rate: &Number| {
        let due = due(machine, &kind, rate)?;
        let growth = growth(machine, rate, periods)?;
        let grown = machine.multiply(present, &growth)?;
        let paid = paid(machine, [rate, periods, payment], &due, &growth)?;
        let total = machine.add(&grown, &paid)?;
        machine.add(&total, &future)
    };
    solve::root(machine, &about, guess, &exactly)
}

pub(super) fn npv(machine: &mut Machine, values: &[Value]) -> Outcome {
    let Value::Number(rate) = &values[0] else {
        return Err(Trouble::invalid("The first value is the rate."));
    };
    let flows = flat(&values[1..]);
    let growth = machine.add(&Number::from(1), rate)?;
    // By Horner's rule; the first flow is one period away.
    let mut total = Number::from(0);
    for flow in flows.iter().rev() {
        total = machine.add(&total, flow)?;
        total = machine.divide(&total, &growth)?;
    }
    Ok(total)
}

pub(super) fn irr(machine: &mut Machine, values: &[Value]) -> Outcome {
    let (flows, guess) = match values {
        [Value::List(flows), Value::Number(guess)] => (flows.clone(), solve::plain(guess)?),
        _ => (flat(values), 0.1),
    };
    let (mut has_income, mut has_cost) = (false, false);
    for flow in &flows {
        match machine.sign(flow)? {
            Ordering::Less => has_cost = true,
            Ordering::Greater => has_income = true,
            Ordering::Equal => {}
        }
    }
    if !has_income || !has_cost {
        return Err(Trouble::invalid("irr wants at least one payment in each direction."));
    }
    let total = super::statistics::sum(machine, &flows)?;
    if machine.sign(&total)? == Ordering::Equal {
        return Ok(Number::from(0));
    }
    // The search in machine floats looks at each flow some hundred times.
    machine.charge(flows.len() * 12_000)?;
    let plain = flows.iter().map(solve::plain).collect::<Result<Vec<_>, _>>()?;
    let about = move |rate: f64| {
        let discount = (1.0 + rate).recip();
        plain.iter().rev().fold(0.0, |total, flow| total * discount + flow)
    };
    let exactly = |machine: &mut Machine, rate: &Number| {
        let growth = machine.add(&Number::from(1), rate)?;
        let discount = machine.divide(&Number::from(1), &growth)?;
        let mut total = Number::from(0);
        for flow in flows.iter().rev() {
            total = machine.multiply(&total, &discount)?;
            total = machine.add(&total, flow)?;
        }
        Ok(total)
    };
    solve::root(machine, &about, guess, &exactly)
}

/// What one unit becomes.
fn growth(machine: &mut Machine, rate: &Number, periods: &Number) -> Outcome {
    let base = machine.add(&Number::from(1), rate)?;
    machine.power(&base, periods)
}

/// What payments of one unit at the end of each period become.
fn annuity(machine: &mut Machine, rate: &Number, periods: &Number, growth: &Number) -> Outcome {
    if machine.sign(rate)? == Ordering::Equal {
        return Ok(periods.clone());
    }
    let gain = machine.subtract(growth, &Number::from(1))?;
    machine.divide(&gain, rate)
}

/// What the payments become.
fn paid(
    machine: &mut Machine,
    [rate, periods, payment]: [&Number; 3],
    due: &Number,
    growth: &Number,
) -> Outcome {
    let annuity = annuity(machine, rate, periods, growth)?;
    let paid = machine.multiply(payment, &annuity)?;
    machine.multiply(&paid, due)
}

/// What a payment gains in its own period.
fn due(machine: &mut Machine, kind: &Number, rate: &Number) -> Outcome {
    match kind.whole().and_then(|kind| u8::try_from(kind).ok()) {
        Some(0) => Ok(Number::from(1)),
        Some(1) => machine.add(&Number::from(1), rate),
        Some(_) | None => Err(Trouble::invalid(
            "`due` is 0 for payments at the end of a period, 1 for its beginning.",
        )),
    }
}

fn flat(values: &[Value]) -> Vec<Number> {
    let mut flat = Vec::new();
    for value in values {
        match value {
            Value::Number(number) => flat.push(number.clone()),
            Value::List(list) => flat.extend(list.iter().cloned()),
        }
    }
    flat
}
