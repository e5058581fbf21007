//! The body of a traced answer: keeps the server span open until the last frame, and reads the gRPC
//! status from the trailers. `layer.rs` makes it.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::HeaderMap;
use hyper::body::{Body, Frame, SizeHint};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::names;

/// gRPC statuses that are the server's own fault:
/// <https://opentelemetry.io/docs/specs/semconv/rpc/grpc/>. `UNKNOWN`, `DEADLINE_EXCEEDED`,
/// `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE`, `DATA_LOSS`.
const FAULTS: [i64; 6] = [2, 4, 12, 13, 14, 15];

/// Body of an answer that is traced to its end. Dropping it ends the span.
#[derive(Debug)]
pub struct TraceBody<B> {
    inner: B,
    span: Span,
    is_grpc: bool,
}

impl<B> TraceBody<B> {
    pub(super) fn traced(inner: B, span: Span, is_grpc: bool) -> Self {
        Self { inner, span, is_grpc }
    }

    pub(super) fn untraced(inner: B) -> Self {
        Self { inner, span: Span::none(), is_grpc: false }
    }
}

impl<B: Body + Unpin> Body for TraceBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = &mut *self;
        let frame = ready!(this.span.in_scope(|| Pin::new(&mut this.inner).poll_frame(cx)));
        if this.is_grpc
            && let Some(Ok(frame)) = &frame
            && let Some(status) = frame.trailers_ref().and_then(grpc_status)
        {
            ended(&this.span, status);
        }
        if frame.is_none() {
            this.span = Span::none();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Status of a gRPC answer, from its headers or trailers.
pub(super) fn grpc_status(headers: &HeaderMap) -> Option<i64> {
    headers.get("grpc-status")?.to_str().ok()?.parse().ok()
}

/// Records how a gRPC answer ended.
pub(super) fn ended(span: &Span, status: i64) {
    span.set_attribute(names::RPC_STATUS, status);
    if FAULTS.contains(&status) {
        crate::span::fail(span, &status.to_string(), "");
    }
}
