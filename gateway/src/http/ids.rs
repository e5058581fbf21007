//! Ids that the gateway chooses, and keys that make a repeat harmless. A session that is opened
//! under a client's key gets an id derived from it, so that a repeat at any gateway meets the same
//! owner and the same journal.

use callboard_proto::agent::Principal;
use http::HeaderMap;
use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid};

use crate::{Config, problem::Problem};

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

    /// The id of what this request makes: derived from a client's key, else fresh.
    pub(super) fn id(&self, config: &Config, principal: &Principal, what: &str) -> String {
        if !self.is_from_client {
            return fresh();
        }
        let mut digest = Sha256::new();
        // The token is known to every gateway of a deployment and to no other client's guesses.
        let secret = config.token.as_deref().unwrap_or_default();
        for part in [secret, &principal.team, &principal.name, what, &self.text] {
            digest.update(part.len().to_be_bytes());
            digest.update(part.as_bytes());
        }
        let digest: [u8; 32] = digest.finalize().into();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Builder::from_custom_bytes(bytes).into_uuid().to_string()
    }
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
