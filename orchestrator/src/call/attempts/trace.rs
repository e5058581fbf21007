//! Attempts as traces and metrics show them: the first one is an event on its call's span, later
//! ones are spans of their own.

use callboard_telemetry::{KeyValue, metrics, names, span};
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use super::Job;
use super::classify::Classified;
use super::send::{self, Sending};
use crate::call::outcome::Output;
use crate::run::event::{AttemptStarted, AttemptStatus};

/// Sends an attempt where it can be seen.
pub(super) async fn send(
    job: Job<'_>,
    started: &AttemptStarted,
    sending: Sending<'_>,
) -> Result<Output, Classified> {
    let begun = Instant::now();
    let span = if started.attempt > 1 {
        span::attempt(started.attempt, &started.instance)
    } else {
        Span::current()
    };
    let answer = send::send(sending, job.progress).instrument(span).await;
    let (status, detail) = match &answer {
        Ok(_) => (AttemptStatus::Answered, ""),
        Err(classified) => (classified.error.status(), classified.detail.as_str()),
    };
    let word = match status {
        AttemptStatus::Answered => "answered",
        AttemptStatus::NotSent => "not_sent",
        AttemptStatus::Unanswered => "unanswered",
        AttemptStatus::Refused => "refused",
    };
    metrics::attempt(&job.call.planned.service, word, begun.elapsed());
    if status != AttemptStatus::Answered {
        tracing::warn!(
            call = %started.call_id, instance = %started.instance, attempt = started.attempt,
            status = word, detail, "attempt without an outcome"
        );
    }
    let attributes = vec![
        KeyValue::new(names::ATTEMPT_NUMBER, i64::from(started.attempt)),
        KeyValue::new(names::INSTANCE, started.instance.clone()),
        KeyValue::new(names::STATUS, word),
        KeyValue::new(names::REASON, detail.to_owned()),
    ];
    span::event(&Span::current(), names::ATTEMPT, attributes);
    answer
}
