//! Values of the right type that cannot work: found when the configuration is read, so that no
//! process starts with them. Next: `secrets`.

use super::fields::{Fault, FaultKind};
use super::settings::Settings;

/// Words for how much is logged.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Everything that cannot work.
pub(super) fn faults(settings: &Settings) -> Vec<Fault> {
    let agent = &settings.orchestrator.agent;
    let bounds = [
        ("max_steps", u64::from(agent.max_steps)),
        ("max_calls", agent.max_calls.into()),
        ("max_parallel", agent.max_parallel.into()),
        ("max_time_ms", agent.max_time_ms),
    ];
    let mut faults: Vec<Fault> = bounds
        .into_iter()
        .filter(|(_, value)| *value == 0)
        .map(|(key, _)| {
            let reason = "0 lets no run do anything; give 1 or more, or leave the key out";
            fault(&format!("orchestrator.agent.{key}"), reason)
        })
        .collect();
    if let Some(part) = wrong_level(&settings.telemetry.level) {
        let reason = format!(
            "`{part}` is neither a level ({}) nor a target with one, as in `info,callboard=debug`",
            LEVELS.join(", ")
        );
        faults.push(fault("telemetry.level", &reason));
    }
    faults
}

fn fault(key: &str, reason: &str) -> Fault {
    Fault { key: key.to_owned(), kind: FaultKind::Invalid(reason.to_owned()) }
}

/// The first part of a list of levels that is none.
fn wrong_level(text: &str) -> Option<&str> {
    text.split(',').map(str::trim).find(|part| {
        let (target, level) = part.split_once('=').map_or((None, *part), |(t, l)| (Some(t), l));
        let is_level = LEVELS.iter().any(|known| known.eq_ignore_ascii_case(level.trim()));
        !is_level || !target.is_none_or(|target| is_target(target.trim()))
    })
}

fn is_target(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':');
    !text.is_empty() && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_words_with_or_without_a_target() {
        for right in ["info", "WARN", "off", "info, callboard=debug,h2=off"] {
            assert_eq!(wrong_level(right), None, "{right}");
        }
        for (text, part) in [
            ("[[[", "[[["),
            ("", ""),
            ("info,", ""),
            ("3", "3"),
            ("info,callboard=loud", "callboard=loud"),
            ("=info", "=info"),
            ("callboard[x]=info", "callboard[x]=info"),
        ] {
            assert_eq!(wrong_level(text), Some(part), "{text}");
        }
    }
}
