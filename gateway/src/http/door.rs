//! Who comes in by which door. On the Unix socket the kernel has proven that it is our own user; on
//! TCP a token is wanted (in the address only of a request that reads), and the names by which pages and programs call us are checked, so that no
//! web page can have a browser call us (DNS rebinding).

use std::sync::Arc;

use axum::{
    extract::{Query, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use callboard_proto::agent::Principal;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use sha2::{Digest as _, Sha256};

use crate::{
    Config,
    problem::{Kind, Problem},
};

/// Paths that a prober may ask without a token and by any name.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/grpc.health.v1.Health/"];
/// Name of the token in an address.
const IN_ADDRESS: &str = "token";
/// Names of this machine itself.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Which door a connection came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// The Unix socket: a process of our own user.
    Socket,
    /// TCP: anyone who reaches the port.
    Network,
}

/// Decides who comes in.
#[derive(Clone)]
pub(crate) struct Doorman {
    config: Arc<Config>,
    token: Option<[u8; 32]>,
}

impl Doorman {
    pub(crate) fn new(config: Arc<Config>) -> Self {
        let token = config.token.as_ref().map(|token| digest(token.trim()));
        Self { config, token }
    }

    /// Who asks, with the token that stood in the address; `None` for a prober, who gets no details.
    fn judge(
        &self,
        request: &Request,
        in_address: Option<&str>,
    ) -> Result<Option<Principal>, Problem> {
        let door = request.extensions().get::<Door>().copied().unwrap_or(Door::Network);
        let principal =
            |name: &str| Some(Principal { team: self.config.team.clone(), name: name.to_owned() });
        if door == Door::Socket {
            return Ok(principal("local"));
        }
        let path = request.uri().path();
        let is_probe = PROBES.iter().any(|probe| path.starts_with(probe));
        if !is_probe {
            self.check_names(request)?;
        }
        match self.has_token(request.headers(), in_address) {
            true => Ok(principal("api")),
            false if is_probe => Ok(None),
            false => Err(unauthorized()),
        }
    }

    fn check_names(&self, request: &Request) -> Result<(), Problem> {
        let headers = request.headers();
        let host = only(headers, &header::HOST).map(|host| host.to_str().unwrap_or_default());
        let host = request.uri().authority().map(http::uri::Authority::as_str).or(host);
        let host = host.unwrap_or_default();
        let name = name_of(host);
        let is_ours = |ours: &str| ours.eq_ignore_ascii_case(name);
        if !LOCAL.iter().any(|ours| is_ours(ours)) && !self.config.hosts.iter().any(|h| is_ours(h))
        {
            let detail = format!(
                "The gateway does not go by the name {name:?}. Names are added with gateway.hosts."
            );
            return Err(Problem::new(Kind::Forbidden, detail));
        }
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().unwrap_or_default();
        let is_own = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"))
            .is_some_and(|authority| authority.eq_ignore_ascii_case(host));
        if is_own || self.config.origins.iter().any(|allowed| allowed == origin) {
            return Ok(());
        }
        let detail = format!(
            "Pages of {origin:?} may not call the gateway. Origins are added with gateway.origins."
        );
        Err(Problem::new(Kind::Forbidden, detail))
    }

    /// In time that does not depend on where a wrong token differs. A header counts more than the
    /// address.
    fn has_token(&self, headers: &HeaderMap, in_address: Option<&str>) -> bool {
        let Some(token) = &self.token else { return false };
        let (shown, is_scheme) = if headers.contains_key(header::AUTHORIZATION) {
            let shown = only(headers, &header::AUTHORIZATION).and_then(|shown| shown.to_str().ok());
            let Some((scheme, shown)) = shown.and_then(|shown| shown.split_once(' ')) else {
                return false;
            };
            (shown, scheme.eq_ignore_ascii_case("bearer"))
        } else {
            let Some(shown) = in_address else { return false };
            (shown, true)
        };
        let shown = digest(shown.trim());
        let pairs = token.iter().zip(shown);
        let difference = pairs.fold(0, |sum, (ours, theirs)| sum | (ours ^ theirs));
        std::hint::black_box(difference) == 0 && is_scheme
    }
}

/// The middleware: puts the [`Principal`] into the request, or answers with a problem.
pub(crate) async fn admit(
    State(doorman): State<Doorman>,
    mut request: Request,
    next: Next,
) -> Response {
    let in_address = take_token(&mut request);
    let mut response = match doorman.judge(&request, in_address.as_deref()) {
        Ok(principal) => {
            if let Some(principal) = principal {
                request.extensions_mut().insert(principal);
            }
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    if in_address.is_some() {
        // The address is a secret: no page that is read from here may pass it on.
        let policy = HeaderValue::from_static("no-referrer");
        response.headers_mut().insert(header::REFERRER_POLICY, policy);
    }
    response
}

/// Takes the token out of the address of a request that reads, so that nothing behind this door sees
/// it; one that is given several times is as good as none.
fn take_token(request: &mut Request) -> Option<String> {
    if request.method() != Method::GET {
        return None;
    }
    let query = request.uri().query()?;
    let (tokens, rest): (Vec<&str>, Vec<&str>) =
        query.split('&').partition(|pair| pair.split('=').next() == Some(IN_ADDRESS));
    let (first, more) = tokens.split_first()?;
    let shown: Uri = format!("/?{first}").parse().ok()?;
    let Query(shown): Query<Vec<(String, String)>> = Query::try_from_uri(&shown).ok()?;
    let path = request.uri().path();
    let address =
        if rest.is_empty() { path.to_owned() } else { format!("{path}?{}", rest.join("&")) };
    let is_one = more.is_empty();
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = Some(address.parse().ok()?);
    *request.uri_mut() = Uri::from_parts(parts).ok()?;
    shown.into_iter().next().map(|(_, token)| token).filter(|_| is_one)
}

fn unauthorized() -> Problem {
    let detail =
        "Show the gateway's token as `Authorization: Bearer …`, or, to read, as `?token=…`.";
    let scheme = HeaderValue::from_static("Bearer");
    Problem::new(Kind::Unauthorized, detail).header(header::WWW_AUTHENTICATE, scheme)
}

/// The one value of a header; several are as good as none.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.find(']')) {
        // The bracket before and the one found belong to the address.
        Some(end) => host.get(..end + 2).unwrap_or(host),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
