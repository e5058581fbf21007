//! Logs: each event becomes one line for people on standard error and one JSON line in a file.
//!
//! The layer formats and hands over (`logs/line.rs` says how a line looks); one thread of its own
//! writes (`logs/writer.rs`), so that a full disk or a stuck terminal never holds up a run.

mod line;
mod rotate;
mod writer;

use std::{path::Path, sync::Arc, sync::OnceLock, sync::atomic::AtomicU64};

use opentelemetry::trace::TraceContextExt;
use tracing::{Dispatch, Event, Subscriber, dispatcher::WeakDispatch};
use tracing_opentelemetry::get_otel_context;
use tracing_subscriber::{
    Layer,
    layer::Context,
    registry::{LookupSpan, SpanRef},
};

use crate::init::Error;

use self::{line::Fields, rotate::RotatingFile};

pub(crate) use line::Origin;
pub(crate) use writer::Writer;

/// Turns events into lines. Spans cost it nothing.
#[derive(Debug)]
pub(crate) struct LogLayer {
    origin: Origin,
    lines: writer::Sender,
    dispatch: OnceLock<WeakDispatch>,
}

/// Opens the outputs; `None` for neither.
pub(crate) fn open(
    origin: Origin,
    log_dir: Option<&Path>,
    is_stderr: bool,
    lines_dropped: Arc<AtomicU64>,
) -> Result<Option<(LogLayer, Writer)>, Error> {
    let file = match log_dir {
        Some(folder) => Some(
            RotatingFile::open(folder, &origin.role)
                .map_err(|source| Error::LogFile { folder: folder.to_owned(), source })?,
        ),
        None => None,
    };
    if file.is_none() && !is_stderr {
        return Ok(None);
    }
    let (lines, writer) =
        writer::spawn(file, is_stderr, lines_dropped).map_err(Error::LogThread)?;
    Ok(Some((LogLayer { origin, lines, dispatch: OnceLock::new() }, writer)))
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LogLayer {
    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        // A layer belongs to one subscriber, so a second call would bring the same one.
        let _ = self.dispatch.set(subscriber.downgrade());
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let ids = context.event_span(event).and_then(|span| self.ids(&span));
        let (level, target) = (*event.metadata().level(), event.metadata().target());
        self.lines.send(writer::Lines {
            human: self
                .lines
                .is_stderr()
                .then(|| line::human(level, target, &fields, ids.as_ref())),
            json: self
                .lines
                .is_file()
                .then(|| line::json(&self.origin, level, target, &fields, ids.as_ref())),
        });
    }
}

impl LogLayer {
    /// Trace and span id of the innermost span that has them.
    fn ids<'a, S: LookupSpan<'a>>(&self, span: &SpanRef<'a, S>) -> Option<line::Ids> {
        if let Some(ids) = span.scope().find_map(|span| span.extensions().get().map(line::Ids::of))
        {
            return Some(ids);
        }
        let dispatch = self.dispatch.get()?.upgrade()?;
        span.scope().find_map(|span| {
            let context = get_otel_context(&span.id(), &dispatch)?;
            let span = context.span();
            let ids = span.span_context();
            ids.is_valid().then(|| line::Ids::of(ids))
        })
    }
}

#[cfg(test)]
mod tests;
