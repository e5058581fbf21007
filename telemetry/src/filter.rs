//! What becomes a span and what becomes a log line. The two do not depend on each other: turning
//! logs off takes no span away.

use tracing::{Level, Metadata, level_filters::LevelFilter};
use tracing_subscriber::{
    Registry,
    filter::{ParseError, Targets},
    layer::Filter,
};

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
    /// Reads `info`, or `info,callboard=debug,h2=off`.
    pub(crate) fn parse(text: &str) -> Result<Self, ParseError> {
        let mut targets: Targets = text.trim().parse()?;
        if !text.contains(MACHINERY) {
            targets = targets.with_target(MACHINERY, LevelFilter::OFF);
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
