//! What a request's body, query and path may be: JSON of the right shape, no larger and no deeper than
//! agreed. A misspelt field is refused with the nearest name, instead of being passed over.

use std::{collections::BTreeMap, time::Duration};

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use bytes::Bytes;
use http::{HeaderMap, header, request::Parts};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::{
    convert::{DEPTH, depth},
    problem::{Kind, Problem},
};

/// Bytes of a body.
const BODY: usize = 10 * 1024 * 1024;
/// Time for a body to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);

/// A body's fields by name, so that an unknown one can be answered with the nearest.
pub(super) trait Shape: DeserializeOwned {
    /// Names of its fields.
    const FIELDS: &'static [&'static str];
    /// Whether no body means an empty object.
    const MAY_BE_ABSENT: bool = false;

    /// Names of the fields of the object in `field`; `None` if there may be anything.
    fn below(field: &str) -> Option<&'static [&'static str]> {
        let _ = field;
        None
    }
}

/// The body of a request.
pub(super) struct Json<T>(pub(super) T);

impl<S: Sync, T: Shape> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let length = parts.headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > BODY as u64) {
            return Err(too_large());
        }
        let collected = timeout(ARRIVAL, Limited::new(body, BODY).collect()).await;
        let collected = collected.map_err(|_| Problem::bad_request("The body did not arrive."))?;
        let bytes = collected.map_err(|error| {
            if error.is::<LengthLimitError>() {
                too_large()
            } else {
                Problem::bad_request("The body broke off.")
            }
        })?;
        let bytes = bytes.to_bytes();
        if bytes.is_empty() && T::MAY_BE_ABSENT {
            return read(&Bytes::from_static(b"{}")).map(Self);
        }
        if !is_json(&parts.headers) {
            let detail = "The body must be JSON: say `Content-Type: application/json`.";
            return Err(Problem::new(Kind::UnsupportedMediaType, detail));
        }
        read(&bytes).map(Self)
    }
}

/// The named parts of a request's path.
pub(super) struct Place<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Place<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Path::from_request_parts(parts, state).await;
        let Path(place) = read.map_err(|error| Problem::bad_request(error.body_text()))?;
        Ok(Self(place))
    }
}

/// The query of a request.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let read = Query::try_from_uri(&parts.uri);
        let Query(asked) = read.map_err(|error| {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            let why = source.unwrap_or_else(|| error.body_text());
            Problem::bad_request(format!("The query does not fit: {why}."))
        })?;
        Ok(Self(asked))
    }
}

fn read<T: Shape>(bytes: &Bytes) -> Result<T, Problem> {
    if depth(bytes) > DEPTH {
        let detail = format!("The body has more than {DEPTH} arrays and objects in one another.");
        return Err(Problem::bad_request(detail));
    }
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(bytes).map_err(|error| {
        if error.is_data() {
            Problem::bad_request("The body must be a JSON object.")
        } else {
            Problem::bad_request(format!("The body is not JSON: {error}."))
        }
    })?;
    check(fields.keys(), T::FIELDS, "")?;
    for (field, value) in &fields {
        let Some(known) = T::below(field) else { continue };
        // What is no object is refused below, with the type that was expected.
        let inner: BTreeMap<String, &RawValue> =
            serde_json::from_str(value.get()).unwrap_or_default();
        check(inner.keys(), known, &format!("{field}."))?;
    }
    let body = serde_json::from_slice(bytes);
    body.map_err(|error| Problem::bad_request(format!("The body does not fit: {error}.")))
}

fn check<'a>(
    mut fields: impl Iterator<Item = &'a String>,
    known: &[&str],
    under: &str,
) -> Result<(), Problem> {
    let Some(field) = fields.find(|field| !known.contains(&field.as_str())) else { return Ok(()) };
    let near = |known: &&&str| strsim::damerau_levenshtein(field, known);
    let nearest = known.iter().min_by_key(near).filter(|known| near(known) <= 3);
    let hint = nearest.map_or_else(
        || format!("there are {}.", known.join(", ")),
        |nearest| format!("did you mean `{under}{nearest}`?"),
    );
    let detail = format!("There is no field `{under}{field}`; {hint}");
    Err(Problem::bad_request(detail).with("field", format!("{under}{field}")))
}

fn is_json(headers: &HeaderMap) -> bool {
    let named = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = named.and_then(|named| named.split(';').next()).unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn too_large() -> Problem {
    let detail = format!("The body is larger than {} MiB.", BODY / 1024 / 1024);
    Problem::new(Kind::TooLarge, detail)
}
