//! The record of a file that was written, and what is made of it later: after a crash, on which side
//! of the rename it came to an end; for a rollback, whether the file is still what the call left.
//! The way back itself is in `change/back.rs`, which is next.

use callboard_tool::{Call, Failure, Intent, Output, Recovered, Rollback, Undo};
use rustix::fs::{AtFlags, unlinkat};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    replace::{Coming, Plan, hash, read_old},
    workspace::{Walls, within},
};

mod back;

/// What a call did to one file.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Change {
    /// The path as the call wrote it.
    pub(crate) path: String,
    /// What was there; absent if nothing was.
    pub(crate) before: Option<State>,
    /// What is there afterwards.
    pub(crate) after: State,
    /// Folders that were made for it, outermost first.
    folders: Vec<String>,
    /// Name of the file before it took its place.
    temporary: String,
    /// What the call says when it is done.
    told: Told,
}

/// A file as it is compared.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct State {
    /// SHA-256 of the content.
    pub(crate) hash: String,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// Permission bits.
    pub(crate) permissions: u32,
}

#[derive(Debug, Deserialize, Serialize)]
struct Told {
    content: String,
    structured: Option<Value>,
    diagnostics: Vec<String>,
}

impl State {
    fn of(bytes: &[u8], permissions: u32) -> Self {
        Self { hash: hash(bytes), size: bytes.len() as u64, permissions }
    }
}

/// What is to be kept right before a plan is carried out. `room` is how much of the old content can
/// be kept.
///
/// # Errors
/// It cannot be noted.
pub(crate) fn intent(
    plan: &Plan,
    coming: &Coming<'_>,
    told: &Output,
    room: u64,
) -> Result<Intent, Failure> {
    let before = plan.old.as_ref();
    let intent = Intent::new(&Change {
        path: plan.written.clone(),
        before: before.map(|old| State::of(&old.bytes, old.meta.permissions)),
        after: State::of(&plan.content, coming.permissions),
        folders: coming.parents.iter().map(ToString::to_string).collect(),
        temporary: coming.temporary.to_owned(),
        told: Told {
            content: told.content.clone(),
            structured: told.structured.clone(),
            diagnostics: told.diagnostics.clone(),
        },
    })?;
    Ok(match before {
        Some(old) if old.bytes.len() as u64 <= room => intent.content(old.bytes.clone()),
        Some(_) | None => intent,
    })
}

/// What became of a write that was cut off.
pub(crate) async fn recover(intent: Option<&Intent>, call: &Call) -> Recovered {
    // Before the intent nothing is changed.
    let Some(intent) = intent else { return Recovered::Untouched };
    let Ok(change) = intent.facts::<Change>() else { return Recovered::Unknown };
    let looked = within(call, move |walls| {
        let now = now(walls, &change.path)?;
        if now.as_ref() == Some(&change.after) {
            remove_temporary(walls, &change);
            let Told { content, structured, diagnostics } = change.told;
            let output = Output { content, structured, diagnostics, ..Output::default() };
            return Ok(Recovered::Done(output));
        }
        if now == change.before {
            remove_temporary(walls, &change);
            return Ok(Recovered::Untouched);
        }
        Ok(Recovered::Unknown)
    });
    looked.await.unwrap_or(Recovered::Unknown)
}

/// Takes a write back.
pub(crate) async fn roll_back(undo: &Undo, call: &Call) -> Rollback {
    let Some(intent) = undo.intent.clone() else {
        return Rollback::NotReversible("What was there before is not known.".to_owned());
    };
    let (dry_run, mode) = (undo.dry_run, undo.mode);
    let assumed: Vec<Change> = undo.assumed.iter().filter_map(|it| it.facts().ok()).collect();
    let done = within(call, move |walls| {
        let change = intent.facts::<Change>()?;
        let (kept, assumed) = (intent.kept(), &assumed[..]);
        back::Back { walls, change: &change, kept, mode, dry_run, assumed }.go()
    });
    // Nothing was done: the service cannot do it now, whatever is in the way.
    done.await.unwrap_or_else(|failure| Rollback::NotReversible(failure.message))
}

/// What is there now; nothing, if nothing is.
fn now(walls: &Walls, path: &str) -> Result<Option<State>, Failure> {
    let target = walls.target(path)?;
    let old = read_old(walls, path, &target)?;
    Ok(old.map(|(meta, bytes)| State::of(&bytes, meta.permissions)))
}

/// What a process that died left lying beside the file.
fn remove_temporary(walls: &Walls, change: &Change) {
    // Only a name of ours is removed, whatever a record says.
    let is_ours = change.temporary.starts_with(".callboard-") && !change.temporary.contains('/');
    let parent = walls.target(&change.path).ok().and_then(|path| path.parent());
    if let (true, Some(parent)) = (is_ours, parent)
        && let Ok(folder) = walls.root().open_folder(&parent)
    {
        // What is not there needs no removal.
        let _ = unlinkat(&folder, change.temporary.as_str(), AtFlags::empty());
    }
}
