//! The few tools that the orchestrator answers itself. They are in the catalog under the service
//! `callboard` and walk the same path as all others; only the last step is a function call.

use std::sync::Arc;

use callboard_proto::tool::{Annotations, Effect, Example, PreflightMode, ToolDescriptor};

use super::failure::Failure;
use super::outcome::Output;
use crate::artifacts::Artifacts;
use crate::catalog::Snapshot;
use crate::run::ids::SessionId;

mod artifact;
pub mod find;

pub use self::artifact::NAME as READ_ARTIFACT;
pub use self::find::NAME as FIND_TOOLS;

/// Name of the service under which they are listed.
pub const SERVICE: &str = "callboard";

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// Reads a page of a result that was kept whole.
    ReadArtifact,
    /// Finds tools that were not offered.
    FindTools,
}

impl Builtin {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::FindTools, Self::ReadArtifact];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadArtifact => READ_ARTIFACT,
            Self::FindTools => FIND_TOOLS,
        }
    }

    /// What it says of itself.
    pub fn descriptor(self) -> ToolDescriptor {
        let (name, description, schema, example) = match self {
            Self::ReadArtifact => artifact::ABOUT,
            Self::FindTools => find::ABOUT,
        };
        ToolDescriptor {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: schema.to_owned(),
            annotations: Some(Annotations {
                read_only: true,
                idempotent: true,
                ..Annotations::default()
            }),
            effects: vec![Effect::Read.into()],
            preflight: PreflightMode::None.into(),
            examples: vec![Example {
                request: example.0.to_owned(),
                arguments: example.1.to_owned(),
            }],
            ..ToolDescriptor::default()
        }
    }
}

/// What they may look at.
#[derive(Clone, Copy)]
pub struct Within<'a> {
    /// Where results are kept.
    pub artifacts: &'a dyn Artifacts,
    /// What can be called.
    pub snapshot: &'a Arc<Snapshot>,
    /// Team of the session.
    pub team: &'a str,
    /// The session.
    pub session: &'a SessionId,
    /// Characters of a result that a model sees.
    pub limit: usize,
}

/// Answers a call.
///
/// # Errors
/// A [`Failure`] as of any tool.
pub async fn answer(
    builtin: Builtin,
    arguments: &str,
    within: Within<'_>,
) -> Result<Output, Failure> {
    match builtin {
        Builtin::ReadArtifact => artifact::read(arguments, within).await,
        Builtin::FindTools => find::find(arguments, within),
    }
}

/// Characters that a model sees of their results, where they are more than of others'.
pub(super) fn result_limit(tool: &str) -> Option<usize> {
    (tool == READ_ARTIFACT).then_some(artifact::PAGE)
}

impl std::fmt::Debug for Within<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Within")
            .field("team", &self.team)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Name, description, schema of the arguments, and an example of a request and its arguments.
type About = (&'static str, &'static str, &'static str, (&'static str, &'static str));
