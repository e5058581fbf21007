//! Numbers as they are written, and names that mean nothing.

use std::ops::Range;

use dashu::{integer::IBig, rational::RBig};

use crate::{
    expression::{Constant, Node},
    fault::Fault,
    functions,
    number::{DIGITS, power_of_ten},
};

/// Longest name that is compared with the known ones; comparing takes time for each letter.
const NAME: usize = 32;

/// A number as it is written, exactly.
pub(super) fn number(text: &str, at: &Range<usize>) -> Result<Node, Fault> {
    let too_large = || {
        let message = format!("This number has more than {DIGITS} digits, which is the limit.");
        Fault::too_large(message, at.clone())
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().map_err(|_| too_large())?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let shift = exponent - i64::try_from(fraction.len()).map_err(|_| too_large())?;
    let limit = i64::try_from(DIGITS).map_err(|_| too_large())?;
    if shift.abs() > limit
        || shift + i64::try_from(mantissa.len()).map_err(|_| too_large())? > limit
    {
        return Err(too_large());
    }
    let digits: IBig = format!("{whole}{fraction}").parse().map_err(|_| too_large())?;
    let power = power_of_ten(shift.unsigned_abs());
    let value = if shift < 0 {
        RBig::from_parts(digits, power)
    } else {
        RBig::from(digits * IBig::from(power))
    };
    Ok(Node::Number { value, text: text.to_owned() })
}

/// What to say about a name that means nothing, with the nearest one that does.
pub(super) fn unknown(name: &str) -> String {
    if name.len() > NAME {
        return format!("There is no name of {} letters.", name.len());
    }
    let known = functions::names().chain(Constant::NAMES);
    let nearest = known.map(|known| (strsim::damerau_levenshtein(name, known), known)).min();
    match nearest {
        Some((distance, known)) if distance <= 1 + usize::from(name.len() > 4) => {
            format!("There is no `{name}`; did you mean `{known}`?")
        }
        Some(_) | None => {
            format!(
                "There is no `{name}`: known are {}.",
                functions::names().chain(Constant::NAMES).collect::<Vec<_>>().join(", ")
            )
        }
    }
}
