//! Reads what a message asks for. What cannot be meant by any caller of ours is refused here with a
//! plain `INVALID_ARGUMENT`, before it touches anything.

use callboard_proto::tool as wire;
use sha2::{Digest as _, Sha256};
use tonic::Status;

use crate::{
    Workspace,
    call::Facts,
    convert,
    fence::Owner,
    outcomes::{Digest, Key},
    refusal,
};

/// Longest id, name or token.
const ID: usize = 256;
/// Calls that a dry run may take for taken back.
const ASSUMED: usize = 1_000;

/// A tool call, checked and split by who needs what.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) owner: Owner,
    pub(crate) incarnation: String,
    pub(crate) key: Key,
    pub(crate) digest: Digest,
    pub(crate) facts: Facts,
    pub(crate) arguments: bytes::Bytes,
}

/// Reads a tool call. `workspaces` are those that the service has; none means that its tools work
/// without one.
pub(crate) fn read(
    call: Option<wire::ToolCall>,
    workspaces: &[Workspace],
) -> Result<Asked, Status> {
    let call = call.ok_or_else(|| Status::invalid_argument("the call is missing"))?;
    let digest = digest(&call);
    let key = key(&call.team, &call.session, &call.call_id)?;
    let owner = owner(call.deployment, call.partition, call.epoch)?;
    let denied_effects = convert::effects_from_wire(&call.denied_effects).map_err(|number| {
        Status::invalid_argument(format!("denied effect {number} is not known here"))
    })?;
    let workspace = workspace(&call.workspace, workspaces)?;
    let facts = Facts {
        id: call.call_id,
        attempt: call.attempt,
        session: call.session,
        team: call.team,
        tool: call.tool,
        workspace,
        approved_preview: Some(call.approved_preview).filter(|digest| !digest.is_empty()),
        denied_effects,
    };
    Ok(Asked {
        owner,
        incarnation: call.incarnation,
        key,
        digest,
        facts,
        arguments: call.arguments,
    })
}

/// Reads who sends a message.
pub(crate) fn owner(
    deployment: String,
    partition: u32,
    epoch: Option<wire::Epoch>,
) -> Result<Owner, Status> {
    let epoch = epoch.ok_or_else(|| Status::invalid_argument("the owner's epoch is missing"))?;
    if deployment.len() > ID {
        return Err(Status::invalid_argument("the deployment's id is too long"));
    }
    Ok(convert::owner(deployment, partition, epoch))
}

/// Reads the calls that a dry run of the call `of` takes for taken back.
pub(crate) fn assumed(call_ids: &[String], of: &Key) -> Result<Vec<Key>, Status> {
    if call_ids.len() > ASSUMED {
        return Err(Status::invalid_argument(format!(
            "at most {ASSUMED} calls can be assumed to be undone"
        )));
    }
    call_ids.iter().map(|call_id| key(&of.team, &of.session, call_id)).collect()
}

/// Reads what names a call.
pub(crate) fn key(team: &str, session: &str, call_id: &str) -> Result<Key, Status> {
    for (id, what) in [(session, "session"), (call_id, "call_id")] {
        if id.is_empty() {
            return Err(Status::invalid_argument(format!("{what} is missing")));
        }
    }
    for (id, what) in [(team, "team"), (session, "session"), (call_id, "call_id")] {
        if id.len() > ID {
            return Err(Status::invalid_argument(format!("{what} has more than {ID} bytes")));
        }
    }
    Ok(Key { team: team.to_owned(), session: session.to_owned(), call_id: call_id.to_owned() })
}

/// Reads what names a session.
pub(crate) fn session(team: String, session: String) -> Result<(String, String), Status> {
    // As in the key of any of its calls.
    key(&team, &session, "any").map(|_| (team, session))
}

/// Checks a token or a name that may be empty.
pub(crate) fn token(token: &str, what: &str) -> Result<(), Status> {
    if token.len() <= ID {
        return Ok(());
    }
    Err(Status::invalid_argument(format!("{what} has more than {ID} bytes")))
}

fn workspace(id: &str, workspaces: &[Workspace]) -> Result<Option<Workspace>, Status> {
    if id.is_empty() || workspaces.is_empty() {
        return Ok(None);
    }
    let workspace = workspaces.iter().find(|workspace| workspace.id == id);
    workspace.cloned().map(Some).ok_or_else(refusal::other_workspace)
}

/// What the call was asked to do, as one number: each part with its length before it.
fn digest(call: &wire::ToolCall) -> Digest {
    let mut hasher = Sha256::new();
    for part in [call.tool.as_bytes(), call.workspace.as_bytes(), &call.arguments] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}
