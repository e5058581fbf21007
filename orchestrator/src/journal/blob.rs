//! Long texts that many runs share, kept once under their digest: an agent's system prompt would
//! else be in the journal again with every run.
//!
//! They belong to agents, not to sessions, and stay when a session is deleted. Next: `walk`.

use callboard_proto::journal as wire;
use callboard_proto::journal::event::Kind;
use sha2::{Digest as _, Sha256};

use super::chain::Hash;
use super::fault::Fault;
use crate::digest::hex;

/// Texts shorter than this many bytes stay in their event: a digest takes 64.
const SHARED_FROM: usize = 256;

/// A text and its digest.
#[derive(Clone, Debug)]
pub(super) struct Blob {
    pub(super) digest: Hash,
    pub(super) content: String,
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

/// The digest of the shared text that an event lacks, if it lacks one.
///
/// # Errors
/// `Damaged` if what stands there is no digest.
pub(super) fn wanted(event: &wire::Event) -> Result<Option<Hash>, Fault> {
    let Some(Kind::RunStarted(started)) = &event.kind else { return Ok(None) };
    let digest = &started.system_prompt_digest;
    if digest.is_empty() {
        return Ok(None);
    }
    unhex(digest).map(Some).ok_or_else(|| damaged(digest, "no digest"))
}

/// Puts the shared text back where an event has only its digest. `content` is what the journal has
/// under the digest that [`wanted`] gave.
///
/// # Errors
/// `Damaged` if that is not the text that was taken out.
pub(super) fn attach(event: &mut wire::Event, content: Option<Vec<u8>>) -> Result<(), Fault> {
    let Some(digest) = wanted(event)? else { return Ok(()) };
    let Some(Kind::RunStarted(started)) = &mut event.kind else { return Ok(()) };
    let damaged = |what: &str| damaged(&started.system_prompt_digest, what);
    let content = content.ok_or_else(|| damaged("missing"))?;
    if !is_intact(&digest, &content) {
        return Err(damaged("changed"));
    }
    let text = String::from_utf8(content).map_err(|_| damaged("no text"))?;
    started.system_prompt = text;
    started.system_prompt_digest.clear();
    Ok(())
}

fn damaged(digest: &str, what: &str) -> Fault {
    Fault::Damaged(format!("its system prompt {digest} is {what}"))
}

/// Whether a stored text fits its digest.
pub(super) fn is_intact(digest: &[u8], content: &[u8]) -> bool {
    digest == Sha256::digest(content).as_slice()
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
