//! The lock on a role's own door, as a `tower` layer around all of its services: over a Unix socket
//! the peer was proven at accept, over TCP each request shows the deployment token. Health is
//! exempt, so that a prober needs no secret; reflection and metrics are not. Next is `channel.rs`.

use std::{
    future::{Ready, ready},
    task::{Context, Poll},
};

use futures_util::future::Either;
use http::{HeaderValue, Request, Response, StatusCode, header};
use tonic::Status;
use tower::{Layer, Service};
use tracing::warn;

use super::{Credentials, DeploymentToken, Peer};

const HEALTH: &str = "/grpc.health.v1.Health/";

/// Wraps services so that only peers of this deployment get through.
///
/// It reads the [`Peer`] that tonic's server puts into each request's extensions; a request
/// without one counts as coming from the network.
#[derive(Clone, Debug)]
pub struct Guard {
    token: Option<DeploymentToken>,
}

impl Guard {
    /// Asks for the token of `credentials`; without one, nothing gets through but Unix peers and
    /// health.
    pub fn new(credentials: &Credentials) -> Self {
        Self { token: credentials.token.clone() }
    }

    fn admits<B>(&self, request: &Request<B>) -> bool {
        if request.extensions().get::<Peer>() == Some(&Peer::SameUser)
            || request.uri().path().starts_with(HEALTH)
        {
            return true;
        }
        let mut shown = request.headers().get_all(header::AUTHORIZATION).iter();
        // Two headers are two claims: whoever sends them is not one of ours.
        let (Some(shown), None) = (shown.next(), shown.next()) else { return false };
        let Some(token) = &self.token else { return false };
        bearer(shown).is_some_and(|presented| token.matches(presented))
    }
}

impl<S> Layer<S> for Guard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Guarded { inner, guard: self.clone() }
    }
}

/// A service behind a [`Guard`].
#[derive(Clone, Debug)]
pub struct Guarded<S> {
    inner: S,
    guard: Guard,
}

impl<S, B, R> Service<Request<B>> for Guarded<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Default,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Response<R>, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if self.guard.admits(&request) {
            return Either::Left(self.inner.call(request));
        }
        let path = request.uri().path();
        warn!(path, peer = ?request.extensions().get::<Peer>(), "unauthenticated request refused");
        Either::Right(ready(Ok(refusal(&request))))
    }
}

fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// gRPC clients get a status, others (`GET /metrics`) plain HTTP.
fn refusal<B, R: Default>(request: &Request<B>) -> Response<R> {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    if content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc")) {
        return Status::unauthenticated("the deployment token is missing or wrong").into_http();
    }
    let mut response = Response::new(R::default());
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
