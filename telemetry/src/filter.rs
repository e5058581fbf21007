//! What becomes a span and what becomes a log line. The two do not depend on each other: turning
//! logs off takes no span away.

use tracing::{Level, Metadata, level_filters::LevelFilter};
use tracing_subscriber::{Registry, filter::Targets, layer::Filter};

/// Beginning of the targets that are ours.
const OURS: &str = "callboard";
/// Beginning of the targets of the exporter's own machinery. It is silent unless asked for by name:
/// what matters of it is logged by `export.rs`, once.
const MACHINERY: &str = "opentelemetry";

/// Our spans, and on them what went wrong. Nothing of other crates: the exporter's own calls would
/// make spans that are exported, and so on for ever.
pub(crate) fn is_traced(metadata: &Metadata<'_>) -> bool {
    let limit = if metadata.is_span() { Level::INFO } else { Level::WARN };
    *metadata.level() <= limit && metadata.target().starts_with(OURS)
}

/// Which events are logged.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    targets: Targets,
}

impl Levels {
    /// Reads `info`, or `info,callboard=debug,h2=off`; without a level of its own, a target logs
    /// nothing. Gives back the first part that is neither.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut targets = Targets::new().with_target(MACHINERY, LevelFilter::OFF);
        for part in text.split(',').map(str::trim) {
            let (target, level) = part.split_once('=').map_or((None, part), |(t, l)| (Some(t), l));
            let Some(level) = level_of(level.trim()) else { return Err(part.to_owned()) };
            targets = match target.map(str::trim) {
                None => targets.with_default(level),
                Some(target) if is_target(target) => targets.with_target(target, level),
                Some(_) => return Err(part.to_owned()),
            };
        }
        Ok(Self { targets })
    }

    /// The most that `wants` says yes to.
    pub(crate) fn most(&self) -> LevelFilter {
        let most = Filter::<Registry>::max_level_hint(&self.targets);
        most.unwrap_or(LevelFilter::TRACE).max(LevelFilter::INFO)
    }

    /// Events as configured; of spans those that have ids, for the ids alone.
    pub(crate) fn wants(&self, metadata: &Metadata<'_>) -> bool {
        if metadata.is_span() {
            return is_traced(metadata);
        }
        self.targets.would_enable(metadata.target(), metadata.level())
    }
}

/// Words only: to the library's parser numbers and nothing at all are levels too.
fn level_of(word: &str) -> Option<LevelFilter> {
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_word.then(|| word.parse().ok()).flatten()
}

fn is_target(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':');
    !text.is_empty() && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use tracing::{Level, level_filters::LevelFilter};

    use super::Levels;

    #[test]
    fn the_longest_matching_target_wins() {
        let rows = [
            ("info", "callboard_gateway", Level::INFO, true),
            ("info", "callboard_gateway", Level::DEBUG, false),
            ("warn, callboard=debug", "callboard_gateway::http", Level::DEBUG, true),
            ("warn, callboard=debug", "h2::codec", Level::INFO, false),
            ("debug,h2=off", "h2::codec", Level::ERROR, false),
            ("callboard=info", "h2::codec", Level::ERROR, false),
            ("trace", "opentelemetry_sdk", Level::ERROR, false),
            ("trace,opentelemetry=warn", "opentelemetry-otlp", Level::WARN, true),
            ("off", "callboard_gateway", Level::ERROR, false),
        ];
        for (text, target, level, is_logged) in rows {
            let levels = Levels::parse(text).unwrap();
            assert_eq!(levels.targets.would_enable(target, &level), is_logged, "{text}: {target}");
        }
    }

    #[test]
    fn a_misspelt_level_is_named() {
        let rows = [
            ("inof", "inof"),
            ("", ""),
            ("info,", ""),
            ("info,callboard=loud", "callboard=loud"),
            ("callboard[x]=info", "callboard[x]=info"),
            ("=info", "=info"),
            ("3", "3"),
        ];
        for (text, part) in rows {
            assert_eq!(Levels::parse(text).unwrap_err(), part, "{text}");
        }
    }

    /// The logs need spans for their ids, whatever is logged.
    #[test]
    fn spans_are_seen_at_every_level() {
        for (text, most) in [("off", LevelFilter::INFO), ("debug", LevelFilter::DEBUG)] {
            assert_eq!(Levels::parse(text).unwrap().most(), most);
        }
    }
}
