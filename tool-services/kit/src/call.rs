//! What a tool sees of the call that it serves: who asks, where, until when, and a way to tell how
//! far it is. A `Call` belongs to `calls.rs`, which makes it; a tool only reads it.

use std::{
    any::Any,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::broadcast, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{Effect, Failure, Intent, Intents};

/// A folder that calls may work in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Id by which calls name it.
    pub id: String,
    /// Where it lies on this machine.
    pub path: PathBuf,
}

/// One tool call, as its tool sees it.
#[derive(Debug)]
pub struct Call {
    pub(crate) facts: Facts,
    pub(crate) deadline: Instant,
    pub(crate) cancellation: CancellationToken,
    pub(crate) glimpses: broadcast::Sender<Glimpse>,
    pub(crate) held: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
    pub(crate) intents: Intents,
}

/// What the caller said about the call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) id: String,
    pub(crate) attempt: u32,
    pub(crate) session: String,
    pub(crate) team: String,
    pub(crate) tool: String,
    pub(crate) workspace: Option<Workspace>,
    pub(crate) approved_preview: Option<String>,
    pub(crate) denied_effects: Vec<Effect>,
}

/// A piece of an answer that may be lost: the outcome holds everything.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Glimpse {
    Progress { message: String, fraction: Option<f64> },
    Chunk(String),
}

impl Call {
    /// A call whose glimpses nobody hears.
    pub(crate) fn new(facts: Facts, deadline: Instant) -> Self {
        Self::telling(facts, deadline, broadcast::Sender::new(1))
    }

    /// A call that tells how far it is.
    pub(crate) fn telling(
        facts: Facts,
        deadline: Instant,
        glimpses: broadcast::Sender<Glimpse>,
    ) -> Self {
        let (cancellation, held) = (CancellationToken::new(), Mutex::default());
        let intents = Intents::default();
        Self { facts, deadline, cancellation, glimpses, held, intents }
    }

    /// The same call, which can keep its intent.
    pub(crate) fn noting(self, intents: Intents) -> Self {
        Self { intents, ..self }
    }

    /// Id of the call and its idempotency key, unique within its session.
    pub fn id(&self) -> &str {
        &self.facts.id
    }

    /// Number of this attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.facts.attempt
    }

    /// Session that the call belongs to.
    pub fn session(&self) -> &str {
        &self.facts.session
    }

    /// Team that the session belongs to.
    pub fn team(&self) -> &str {
        &self.facts.team
    }

    /// Name of the tool, for a type that serves several.
    pub fn tool(&self) -> &str {
        &self.facts.tool
    }

    /// The workspace to work in; absent for a service without one.
    pub fn workspace(&self) -> Option<&Workspace> {
        self.facts.workspace.as_ref()
    }

    /// Time left until the call is stopped.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Fires when the call is cancelled or its time is up. Work that blocks must poll it.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// Tells in one line how far the call is. Never blocks; may be lost.
    pub fn progress(&self, message: impl Into<String>) {
        self.glimpse(Glimpse::Progress { message: message.into(), fraction: None });
    }

    /// Tells in one line how far the call is, and the share done (0 to 1).
    pub fn progress_at(&self, message: impl Into<String>, fraction: f64) {
        let fraction = fraction.is_finite().then(|| fraction.clamp(0.0, 1.0));
        self.glimpse(Glimpse::Progress { message: message.into(), fraction });
    }

    /// Sends output as it comes. Never blocks; may be lost, so the output must hold it too.
    pub fn chunk(&self, text: impl Into<String>) {
        self.glimpse(Glimpse::Chunk(text.into()));
    }

    /// Effects that a policy takes away from this call.
    pub fn denied_effects(&self) -> &[Effect] {
        &self.facts.denied_effects
    }

    /// Whether a policy takes this effect away from this call.
    pub fn denies(&self, effect: Effect) -> bool {
        self.facts.denied_effects.contains(&effect)
    }

    /// SHA-256 (lower-case hex) of the preview that a person approved, if one did.
    pub fn approved_preview(&self) -> Option<&str> {
        self.facts.approved_preview.as_deref()
    }

    /// Keeps what [`crate::Tool::preflight`] looked at (a copy, an open file), so that what the
    /// preview showed is what runs. A second value replaces the first.
    pub fn hold<T: Any + Send + Sync>(&self, value: T) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(value));
    }

    /// What [`Call::hold`] kept, if it has this type.
    pub fn held<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).clone();
        held.and_then(|value| value.downcast().ok())
    }

    /// Keeps durably what is about to be done, right before it is done; see [`Intents::keep`].
    ///
    /// # Errors
    /// It cannot be kept: then the effect must not be had.
    pub async fn intend(&self, intent: Intent) -> Result<(), Failure> {
        self.intents.keep(intent).await
    }

    /// Where the call keeps its intent; a clone can be moved to where the work blocks.
    pub fn intents(&self) -> &Intents {
        &self.intents
    }

    fn glimpse(&self, glimpse: Glimpse) {
        // No subscriber is no error: the outcome holds everything.
        let _ = self.glimpses.send(glimpse);
    }
}
