//! Event streams on the wire (<https://html.spec.whatwg.org/multipage/server-sent-events.html>): how
//! a frame looks, and a bounded buffer between the one who tells and the client who reads.
//!
//! A client that does not read is let go, with a last event that says where to go on: nobody who
//! tells ever waits longer than agreed.

use std::{convert::Infallible, fmt::Write as _, sync::Arc, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, header};
use serde::Serialize;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    time::{sleep, timeout},
};

/// Frames that may wait for a client.
const FRAMES: usize = 256;
/// Bytes that may wait for a client. A frame that is larger waits alone.
const ROOM: usize = 64 * 1024;
/// Says that the stream lives.
const HEARTBEAT: Bytes = Bytes::from_static(b": alive\n\n");

/// What became of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It waits for the client, or was passed over because something is more important.
    Taken,
    /// The client has left.
    Gone,
    /// The client did not read in time.
    Slow,
}

/// The end of the one who tells.
pub(super) struct Sender {
    frames: mpsc::Sender<(Bytes, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
    last: oneshot::Sender<Bytes>,
    slow: Duration,
}

/// A stream: what is told into the sender is what the client reads.
pub(super) fn channel(slow: Duration, heartbeat: Duration) -> (Sender, Response) {
    let (frames, waiting) = mpsc::channel(FRAMES);
    let (last, end) = oneshot::channel();
    let sender = Sender { frames, room: Arc::new(Semaphore::new(ROOM)), last, slow };
    let body = stream::unfold((waiting, Some(end)), move |(mut waiting, mut end)| async move {
        let frame = tokio::select! {
            biased;
            frame = waiting.recv() => match frame {
                // Its room is free again as soon as it is on its way.
                Some((frame, _room)) => frame,
                None => end.take()?.await.ok()?,
            },
            () = sleep(heartbeat) => HEARTBEAT,
        };
        Some((Ok::<_, Infallible>(frame), (waiting, end)))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // A proxy that gathers would make a stream useless.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (sender, (headers, Body::from_stream(body)).into_response())
}

impl Sender {
    /// Hands over a frame, waiting for room no longer than agreed.
    pub(super) async fn send(&self, frame: Bytes) -> Sent {
        let bytes = u32::try_from(frame.len().min(ROOM)).unwrap_or(u32::MAX);
        let handed = async {
            let room = Arc::clone(&self.room).acquire_many_owned(bytes).await.ok()?;
            self.frames.send((frame, room)).await.ok()
        };
        tokio::select! {
            biased;
            handed = timeout(self.slow, handed) => match handed {
                Ok(Some(())) => Sent::Taken,
                Ok(None) => Sent::Gone,
                Err(_) => Sent::Slow,
            },
            () = self.frames.closed() => Sent::Gone,
        }
    }

    /// Hands over a frame that may be lost: only while there is plenty of room.
    pub(super) fn offer(&self, frame: Bytes) -> Sent {
        let bytes = frame.len();
        if self.frames.is_closed() {
            return Sent::Gone;
        }
        let is_roomy = self.room.available_permits() > ROOM / 2 + bytes;
        if is_roomy
            && let Ok(bytes) = u32::try_from(bytes)
            && let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(bytes)
        {
            // Full or gone: it may be lost.
            let _ = self.frames.try_send((frame, room));
        }
        Sent::Taken
    }

    /// Ready when the client has left.
    pub(super) async fn gone(&self) {
        self.frames.closed().await;
    }

    /// Ends the stream with this frame, which is read after all others.
    pub(super) fn end(self, last: Bytes) {
        // An error means that the client has left.
        let _ = self.last.send(last);
    }
}

/// One event. Its data is JSON; each line of it has a line of its own.
pub(super) fn frame(event: &str, id: Option<u64>, data: &impl Serialize) -> Bytes {
    let mut text = format!("event: {event}\n");
    if let Some(id) = id {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "id: {id}");
    }
    let data = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
    for line in data.lines() {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    Bytes::from(text)
}

/// Whether the client asks for an event stream.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
    accepted.any(|range| {
        let essence = range.split(';').next().unwrap_or_default().trim();
        essence.eq_ignore_ascii_case("text/event-stream")
    })
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};
    use serde_json::{json, value::RawValue};

    use super::{frame, is_wanted};

    #[test]
    fn a_frame_is_what_the_standard_says() {
        let text = json!({ "text": "two\nlines \u{2028} and more" });
        let rows = [
            (frame("fact", Some(7), &json!({ "a": 1 })), "event: fact\nid: 7\ndata: {\"a\":1}\n\n"),
            (
                frame("glimpse", None, &text),
                "event: glimpse\ndata: {\"text\":\"two\\nlines \u{2028} and more\"}\n\n",
            ),
            // JSON that was passed on as it stood may have lines of its own.
            (
                frame("fact", None, &RawValue::from_string("{\n\"a\": 1\r\n}".to_owned()).unwrap()),
                "event: fact\ndata: {\ndata: \"a\": 1\ndata: }\n\n",
            ),
        ];
        for (frame, expected) in rows {
            assert_eq!(std::str::from_utf8(&frame).unwrap(), expected);
        }
    }

    #[test]
    fn an_event_stream_is_sent_where_it_is_accepted_by_name() {
        for (accept, expected) in [
            ("text/event-stream", true),
            ("text/html, Text/Event-Stream;q=0.5", true),
            ("*/*", false),
            ("application/json", false),
            ("text/event-streams", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("accept", HeaderValue::from_static(accept));
            assert_eq!(is_wanted(&headers), expected, "{accept}");
        }
        assert!(!is_wanted(&HeaderMap::new()));
    }
}
