//! Opens the server span of every request, with the remote parent that it came with, and measures
//! it. The span ends with the answer's body, so a stream is one span as long as it flows.
//!
//! Health, reflection, metrics and the console's probes are let through untraced. What the answer
//! says is read in `layer/body.rs`.

mod body;

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use axum::extract::MatchedPath;
use http::{Method, Request, Response};
use tokio::time::Instant;
use tower::{Layer, Service};
use tracing::{Instrument, Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::{metrics, names, propagate};

pub use body::TraceBody;

/// Paths that are never traced: they are asked every few seconds, by machines.
const QUIET: [&str; 5] =
    ["/grpc.health.v1.Health/", "/grpc.reflection.", "/metrics", "/healthz", "/readyz"];

/// A tower layer that gives every request its server span.
#[derive(Clone, Copy, Debug)]
pub struct TraceLayer {
    protocol: Protocol,
}

#[derive(Clone, Copy, Debug)]
enum Protocol {
    Grpc(&'static str),
    Http,
}

impl TraceLayer {
    /// For a gRPC server; calls of other services than `service` (its full name, such as
    /// `callboard.tool.v1.ToolService`) are let through untraced.
    pub fn grpc(service: &'static str) -> Self {
        Self { protocol: Protocol::Grpc(service) }
    }

    /// For an HTTP server. Put it on the router (`Router::layer`), so that routes are known.
    pub fn http() -> Self {
        Self { protocol: Protocol::Http }
    }
}

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Trace { inner, protocol: self.protocol }
    }
}

/// A service whose requests are traced; see [`TraceLayer`].
#[derive(Clone, Debug)]
pub struct Trace<S> {
    inner: S,
    protocol: Protocol,
}

impl<S, B, R> Service<Request<B>> for Trace<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = Response<TraceBody<R>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Some(asked) = Asked::read(&request, self.protocol) else {
            let answer = self.inner.call(request);
            return Box::pin(async { Ok(answer.await?.map(TraceBody::untraced)) });
        };
        let span = asked.open(&request);
        let answer = self.inner.call(request).instrument(span.clone());
        let started = Instant::now();
        Box::pin(async move {
            let response = answer.await?;
            asked.answered(&span, &response, started);
            let is_grpc = matches!(asked, Asked::Grpc { .. });
            Ok(response.map(|body| TraceBody::traced(body, span, is_grpc)))
        })
    }
}

/// What was asked, as far as names and labels need it.
enum Asked {
    Grpc { service: &'static str, method: String },
    Http { method: &'static str, route: String },
}

impl Asked {
    fn read<B>(request: &Request<B>, protocol: Protocol) -> Option<Self> {
        let path = request.uri().path();
        if QUIET.iter().any(|quiet| path.starts_with(quiet)) {
            return None;
        }
        match protocol {
            Protocol::Grpc(service) => {
                let method = path.strip_prefix('/')?.strip_prefix(service)?.strip_prefix('/')?;
                Some(Self::Grpc { service, method: method.to_owned() })
            }
            Protocol::Http => {
                let route = request.extensions().get::<MatchedPath>();
                let route = route.map(|route| route.as_str().to_owned()).unwrap_or_default();
                Some(Self::Http { method: known(request.method()), route })
            }
        }
    }

    fn open<B>(&self, request: &Request<B>) -> Span {
        let span = match self {
            Self::Grpc { service, method } => info_span!(
                parent: None,
                "rpc",
                otel.name = %format_args!("{service}/{method}"),
                otel.kind = "server",
                { names::RPC_SYSTEM } = "grpc",
                { names::RPC_SERVICE } = service,
                { names::RPC_METHOD } = method,
            ),
            Self::Http { method, route } => info_span!(
                parent: None,
                "http",
                otel.name = format!("{method} {route}").trim_end(),
                otel.kind = "server",
                { names::HTTP_METHOD } = method,
                { names::HTTP_ROUTE } = route,
            ),
        };
        if let Some(parent) = propagate::remote(request.headers()) {
            propagate::follow(&span, parent);
        }
        span
    }

    fn answered<R>(&self, span: &Span, response: &Response<R>, started: Instant) {
        let elapsed = started.elapsed();
        match self {
            Self::Grpc { service, method } => {
                let status = body::grpc_status(response.headers()).unwrap_or(0);
                metrics::rpc_request(service, method, status, elapsed);
            }
            Self::Http { method, route } => {
                let status = response.status();
                span.set_attribute(names::HTTP_STATUS, i64::from(status.as_u16()));
                if status.is_server_error() {
                    crate::span::fail(span, status.as_str(), "");
                }
                metrics::http_request(method, route, status.as_u16(), elapsed);
            }
        }
        if let Some(status) = body::grpc_status(response.headers()) {
            body::ended(span, status);
        }
    }
}

/// The method as a label: what nobody knows is one value, or anybody could make a new series.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "_OTHER",
    }
}

#[cfg(test)]
mod tests;
