//! When a rule ends: a time as in RFC 3339, or a day, which counts to its end in UTC.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// The moment from which on a rule matches nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expiry(Timestamp);

impl Expiry {
    /// Whether it is past at a time of the wall clock, Unix time in milliseconds.
    pub fn is_over(self, now_ms: i64) -> bool {
        now_ms >= self.0.as_millisecond()
    }
}

impl FromStr for Expiry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(time) = text.parse::<Timestamp>() {
            return Ok(Self(time));
        }
        // A date would be read out of a time without its zone as well.
        let day = if text.len() == "2027-01-31".len() { text.parse::<Date>().ok() } else { None };
        let end = day.and_then(|day| day.tomorrow().ok());
        let end = end.and_then(|day| TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok());
        end.map(Self).ok_or_else(|| {
            format!(
                "`{text}` is neither a day such as 2027-01-31 nor a time such as \
                 2027-01-31T18:00:00Z"
            )
        })
    }
}

impl TryFrom<String> for Expiry {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Expiry> for String {
    fn from(expiry: Expiry) -> Self {
        expiry.to_string()
    }
}

impl fmt::Display for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_counts_to_its_end_and_a_time_to_itself() {
        // `date -u -d 2027-02-01 +%s` = 1801440000.
        let day: Expiry = "2027-01-31".parse().unwrap();
        assert!(!day.is_over(1_801_439_999_999));
        assert!(day.is_over(1_801_440_000_000));
        let time: Expiry = "2027-01-31T18:00:00+01:00".parse().unwrap();
        // 17:00 UTC of that day, seven hours before the day ends.
        assert!(!time.is_over(1_801_414_799_999));
        assert!(time.is_over(1_801_414_800_000));
    }

    #[test]
    fn what_is_no_date_is_refused_with_what_would_be() {
        for text in ["", "tomorrow", "2027-02-30", "2027-01-31 18:00", "31.01.2027"] {
            let error = text.parse::<Expiry>().unwrap_err();
            assert!(error.contains("2027-01-31T18:00:00Z"), "{text}: {error}");
        }
    }

    #[test]
    fn it_is_handed_on_as_it_was() {
        let day: Expiry = "2027-01-31".parse().unwrap();
        let text = serde_json::to_string(&day).unwrap();
        assert_eq!(serde_json::from_str::<Expiry>(&text).unwrap(), day);
    }
}
