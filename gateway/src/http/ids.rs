//! Ids that the gateway chooses, and keys that make a repeat harmless. A session that is opened
//! under a client's key gets an id derived from it, so that a repeat at any gateway meets the same
//! owner and the same journal.

use callboard_proto::agent::Principal;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use sha2::Sha256;
use uuid::{Builder, Uuid};

use crate::{Secret, problem::Problem};

/// Characters of a key.
const KEY: usize = 255;

/// The key of one request.
#[derive(Debug)]
pub(super) struct Key {
    text: String,
    is_from_client: bool,
}

impl Key {
    /// The client's, from `Idempotency-Key`, or a fresh one that serves our own repeats.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let Some(value) = headers.get("idempotency-key") else {
            return Ok(Self { text: Uuid::new_v4().to_string(), is_from_client: false });
        };
        let text = value.to_str().unwrap_or_default();
        if text.is_empty() || text.len() > KEY {
            let detail = format!("Idempotency-Key must be 1 to {KEY} printable ASCII characters.");
            return Err(Problem::bad_request(detail));
        }
        Ok(Self { text: text.to_owned(), is_from_client: true })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether what this request makes has an id that nobody else can have asked for.
    pub(super) fn makes_fresh_ids(&self) -> bool {
        !self.is_from_client
    }

    /// The id of what this request makes: derived from a client's key, else fresh.
    pub(super) fn id(&self, secret: &Secret, principal: &Principal, route: &str) -> String {
        if !self.is_from_client {
            return fresh();
        }
        let parts = [&principal.team, &principal.name, route, &self.text];
        let digest = mac(secret, &parts);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        // Version 8: the bytes mean what we say.
        Builder::from_custom_bytes(bytes).into_uuid().to_string()
    }
}

/// HMAC-SHA-256 over parts, each after its length, so that no two lists read alike. Only who knows
/// the secret can foresee an id.
fn mac(secret: &Secret, parts: &[&str]) -> [u8; 32] {
    // A key of HMAC may have any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.bytes()) else { return [0; 32] };
    for part in parts {
        mac.update(&part.len().to_be_bytes());
        mac.update(part.as_bytes());
    }
    mac.finalize().into_bytes().into()
}

/// A new id; later ones are greater, which orders nothing.
pub(super) fn fresh() -> String {
    Uuid::now_v7().to_string()
}

/// A session's id from a path. What is no id is no session.
pub(super) fn session(text: &str) -> Result<String, Problem> {
    match Uuid::try_parse(text) {
        Ok(id) => Ok(id.to_string()),
        Err(_) => Err(Problem::not_found(format!("There is no session {text:?}: ids are UUIDs."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked out with Python: `hmac.new(b"a-secret", b"".join(len(p).to_bytes(8, "big") + p for p in
    /// parts), "sha256")`, its first 16 bytes with the version and the variant of RFC 9562 set.
    #[test]
    fn ids_are_as_another_language_derives_them() {
        let key = Key { text: "k-1".to_owned(), is_from_client: true };
        let principal = Principal { team: "default".to_owned(), name: "local".to_owned() };
        let id = |secret: &str, route| key.id(&Secret::new(secret), &principal, route);
        assert_eq!(id("a-secret\n", "POST /v1/runs"), "7d3a96dc-4643-847d-9140-ed6a9b5caf56");
        assert_ne!(id("another", "POST /v1/runs"), id("a-secret", "POST /v1/runs"));
        assert_ne!(id("a-secret", "POST /v1/sessions"), id("a-secret", "POST /v1/runs"));
    }
}
