//! `read_artifact`: a page of a result that was too large to show.

use serde::Deserialize;

use super::{About, Within};
use crate::artifacts::{ArtifactError, ArtifactId};
use crate::call::failure::{Failure, Kind};
use crate::call::outcome::Output;
use crate::call::settle::UNTRUSTED_HEADER;

/// Its name.
pub const NAME: &str = "read_artifact";

/// Characters of a page.
pub(super) const PAGE: usize = 16_000;

pub(super) const ABOUT: About = (
    NAME,
    "Reads on in a result that was too large to show whole (artifact). Use it only with an id and \
     an offset that a result named. Not for files: those have tools of their own. 继续阅读过长的结果。",
    r#"{"type":"object","properties":{"id":{"type":"string","description":"The artifact's id, as the result named it.","maxLength":200},"offset":{"type":"integer","minimum":0,"description":"Where to read on, in bytes, as the result named it; 0 for the beginning."}},"required":["id"],"additionalProperties":false}"#,
    ("Read on in the long result", r#"{"id":"9f2c4e…","offset":2000}"#),
);

#[derive(Deserialize)]
struct Arguments {
    id: String,
    #[serde(default)]
    offset: u64,
}

pub(super) async fn read(arguments: &str, within: Within<'_>) -> Result<Output, Failure> {
    let Arguments { id, offset } = serde_json::from_str(arguments)
        .map_err(|error| Failure::new(Kind::InvalidArguments, error.to_string()))?;
    let id = ArtifactId::from(id.trim());
    let (head, _) = page(within, &id, 0, UNTRUSTED_HEADER.len()).await?;
    let is_untrusted = head == UNTRUSTED_HEADER.as_bytes();
    let start = if is_untrusted { offset.max(to_u64(UNTRUSTED_HEADER.len())) } else { offset };
    // A character has at most four bytes; a cut first one is left out, a cut last one comes again.
    let characters = within.limit.min(PAGE);
    let (bytes, size) = page(within, &id, start, characters * 4 + 4).await?;
    if start >= size && start > 0 {
        let message = format!("the artifact has {size} bytes; there is nothing at offset {offset}");
        return Err(Failure::new(Kind::NotFound, message));
    }
    let (shown, skipped, taken) = decode(&bytes, characters, start + to_u64(bytes.len()) < size);
    let from = start + to_u64(skipped);
    let until = from + to_u64(taken);
    let rest = if until < size {
        format!(
            "[Bytes {from} to {until} of {size}. Read on with {NAME} {{\"id\": \"{id}\", \"offset\": {until}}}.]"
        )
    } else {
        format!("[Bytes {from} to {until} of {size}: this is the end.]")
    };
    Ok(Output { content: shown, is_untrusted, note: rest, ..Output::default() })
}

async fn page(
    within: Within<'_>,
    id: &ArtifactId,
    offset: u64,
    limit: usize,
) -> Result<(Vec<u8>, u64), Failure> {
    let read = within.artifacts.read(within.team, within.session, id, offset, limit).await;
    read.map(|(bytes, size)| (bytes.to_vec(), size)).map_err(|error| match error {
        ArtifactError::NotFound(_) => Failure::new(
            Kind::NotFound,
            "this session has no such artifact; take the id from the result that named it",
        ),
        ArtifactError::Damaged(_) => {
            Failure::new(Kind::Internal, "the artifact is damaged and cannot be read")
        }
        ArtifactError::TooLarge { .. } | ArtifactError::Full | ArtifactError::Io(_) => {
            tracing::warn!(%error, "artifact not read");
            Failure::new(Kind::Unavailable, "the artifact cannot be read now")
        }
    })
}

/// The first characters of a page, how many bytes before them belong to a character that began
/// earlier, and how many they take. Bytes that are no text show as U+FFFD; a last character that
/// was cut (`is_cut`) is left for the next page.
fn decode(bytes: &[u8], characters: usize, is_cut: bool) -> (String, usize, usize) {
    let skipped = bytes.iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
    let skipped = if skipped < 4 { skipped } else { 0 };
    let (mut text, mut count, mut taken) = (String::new(), 0, 0);
    for chunk in bytes[skipped..].utf8_chunks() {
        for character in chunk.valid().chars() {
            if count == characters {
                return (text, skipped, taken);
            }
            text.push(character);
            count += 1;
            taken += character.len_utf8();
        }
        let invalid = chunk.invalid();
        let is_last = skipped + taken + invalid.len() == bytes.len();
        let begins_one = std::str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none());
        if invalid.is_empty() || count == characters || (is_cut && is_last && begins_one) {
            continue;
        }
        text.push(char::REPLACEMENT_CHARACTER);
        count += 1;
        taken += invalid.len();
    }
    (text, skipped, taken)
}

fn to_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
