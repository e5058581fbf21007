//! Long texts that many runs share, kept once under their digest: an agent's system prompt would
//! else be in the journal again with every run.
//!
//! They belong to agents, not to sessions, and stay when a session is deleted. Next: `row`.

use callboard_proto::journal as wire;
use callboard_proto::journal::event::Kind;
use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use super::chain::Hash;
use super::fault::Fault;

/// Texts shorter than this many bytes stay in their event: a digest takes 64.
const SHARED_FROM: usize = 256;

/// A text and its digest.
#[derive(Clone, Debug)]
pub(super) struct Blob {
    digest: Hash,
    content: String,
}

/// Takes the shared text out of an event and leaves its digest.
pub(super) fn detach(event: &mut wire::Event) -> Option<Blob> {
    let Some(Kind::RunStarted(started)) = &mut event.kind else { return None };
    if started.system_prompt.len() < SHARED_FROM {
        return None;
    }
    let content = std::mem::take(&mut started.system_prompt);
    let digest: Hash = Sha256::digest(content.as_bytes()).into();
    started.system_prompt_digest = hex(&digest);
    Some(Blob { digest, content })
}

/// Puts the shared text back where an event has only its digest.
pub(super) fn attach(connection: &Connection, event: &mut wire::Event) -> Result<(), Fault> {
    let Some(Kind::RunStarted(started)) = &mut event.kind else { return Ok(()) };
    if started.system_prompt_digest.is_empty() {
        return Ok(());
    }
    let damaged = |what: &str| {
        Fault::Damaged(format!("its system prompt {} is {what}", started.system_prompt_digest))
    };
    let digest = unhex(&started.system_prompt_digest).ok_or_else(|| damaged("no digest"))?;
    let mut statement = connection.prepare_cached("SELECT content FROM blob WHERE digest = ?")?;
    let content: Option<Vec<u8>> = statement.query_row([&digest], |row| row.get(0)).optional()?;
    let content = content.ok_or_else(|| damaged("missing"))?;
    if Hash::from(Sha256::digest(&content)) != digest {
        return Err(damaged("changed"));
    }
    started.system_prompt = String::from_utf8(content).map_err(|_| damaged("no text"))?;
    started.system_prompt_digest.clear();
    Ok(())
}

impl Blob {
    /// Stores the text unless it is there.
    pub(super) fn store(&self, connection: &Connection) -> Result<(), Fault> {
        let sql = "INSERT INTO blob (digest, content) VALUES (?, ?) ON CONFLICT DO NOTHING";
        let content = self.content.as_bytes();
        connection.prepare_cached(sql)?.execute(params![self.digest, content])?;
        Ok(())
    }
}

/// Whether a stored text fits its digest.
pub(super) fn is_intact(digest: &[u8], content: &[u8]) -> bool {
    digest == Sha256::digest(content).as_slice()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    if text.len() != hash.len() * 2 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(hash)
}
