//! The address of a session actor.

use tokio::sync::oneshot;

use super::{
    error::SessionError,
    mailbox::Sender,
    message::{Attached, Decision, Message, Start, Started, Takeback, Watch, Wish},
};
use crate::run::{
    event::{OutcomeChosen, SessionOpened},
    rollback::Rollback,
};

/// The address of a session actor. Dropping the last one lets the actor fold away.
#[derive(Clone, Debug)]
pub struct SessionHandle {
    pub(super) mailbox: Sender<Box<Message>>,
}

impl SessionHandle {
    /// Opens the session. Returns once that is durable; repeated by its team it changes nothing, and
    /// is refused where the same key comes with another body.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn open(&self, open: SessionOpened) -> Result<(), SessionError> {
        self.ask(|reply| Message::Open { open, reply }).await
    }

    /// Gives the session an input. Returns once it is durable.
    ///
    /// # Errors
    /// [`SessionError`]; `Closed` means that the input was not recorded, or that nobody knows: a
    /// repeat under the same key is safe.
    pub async fn start(&self, start: Start) -> Result<Started, SessionError> {
        self.ask(|reply| Message::Start { start, reply }).await
    }

    /// Follows the session from what is durable now.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn attach(
        &self,
        team: String,
        watch: Watch,
        until_idle: bool,
    ) -> Result<Attached, SessionError> {
        self.ask(|reply| Message::Attach { team, watch, until_idle, reply }).await
    }

    /// Decides on a call: whether this decision was the first, and what stands.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn decide(
        &self,
        team: String,
        decision: Decision,
    ) -> Result<(bool, bool), SessionError> {
        self.ask(|reply| Message::Decide { team, decision, reply }).await
    }

    /// Says what holds of a call whose outcome is unknown: whether this was the first to say so, and
    /// what stands.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn choose(
        &self,
        team: String,
        wish: Wish,
    ) -> Result<(bool, OutcomeChosen), SessionError> {
        self.ask(|reply| Message::Choose { team, wish, reply }).await
    }

    /// Takes calls back, one by one; how far it came, once it is over. Dropping the future stops
    /// waiting, and nothing else.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn take_back(
        &self,
        team: String,
        takeback: Takeback,
    ) -> Result<Rollback, SessionError> {
        self.ask(|reply| Message::TakeBack { team, takeback, reply }).await
    }

    /// Ends the current run; whether there was one. Inputs that wait have their turn.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn cancel(&self, team: String, reason: String) -> Result<bool, SessionError> {
        self.ask(|reply| Message::Cancel { team, reason, reply }).await
    }

    /// A word about the run for those who follow it; lost where the session is busy.
    pub(super) fn tell(&self, text: &'static str) {
        let _ = self.mailbox.try_send(Box::new(Message::Paused(text)));
    }

    async fn ask<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<Result<T, SessionError>>) -> Message,
    ) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        self.mailbox.send(Box::new(message(reply))).await.map_err(|_| SessionError::Closed)?;
        answer.await.map_err(|_| SessionError::Closed)?
    }
}
