//! How long a caller will wait: the `grpc-timeout` of a request. tonic's own timer ends at the
//! response headers, so a call's task arms its own (`calls/perform.rs`).

use std::time::Duration;

use tonic::metadata::MetadataMap;

/// The caller's time limit, if it stated a valid one.
pub(crate) fn timeout(metadata: &MetadataMap) -> Option<Duration> {
    parse(metadata.get("grpc-timeout")?.to_str().ok()?)
}

/// At most eight digits and a unit, as gRPC over HTTP/2 defines it.
fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(amount * 3600),
        "M" => Duration::from_secs(amount * 60),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        "n" => Duration::from_nanos(amount),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_of_the_protocol_is_read() {
        for (text, nanos) in [
            ("1H", 3_600_000_000_000),
            ("2M", 120_000_000_000),
            ("3S", 3_000_000_000),
            ("250m", 250_000_000),
            ("99999999u", 99_999_999_000),
            ("0n", 0),
        ] {
            assert_eq!(parse(text).map(|limit| limit.as_nanos()), Some(nanos), "{text}");
        }
    }

    #[test]
    fn what_the_protocol_does_not_know_is_no_limit() {
        for text in ["", "S", "5", "5s", "-1S", "1.5S", "123456789S", "+5S", "5秒"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
