//! Everything that speaks OpenAI's chat completions, streaming.
//!
//! This file sends and keeps time. `openai/body.rs` writes the request, `openai/wire.rs` cuts what
//! comes back into chunks, `openai/assembly.rs` makes one regular reply of them, and
//! `openai/failure.rs` words what went wrong. Nothing is retried here; a request that a provider
//! refuses for a parameter it does not know is sent again without that parameter.

mod assembly;
mod body;
mod calls;
mod content;
mod declared;
mod endpoint;
mod failure;
mod ids;
mod markup;
mod tool_names;
mod wire;

use std::{future::Future, time::Duration};

use async_trait::async_trait;
use tokio::{
    pin,
    time::{Instant, timeout, timeout_at},
};

use self::{assembly::Assembly, body::Habits, wire::Wire};
pub(super) use self::{
    declared::Declared,
    endpoint::{Endpoint, http_client},
};
use super::{
    Model, Reply, Request,
    error::{ModelError, ModelErrorKind},
    glimpse::Glimpses,
};

/// Largest reply, in bytes of text, reasoning and arguments, and largest single event.
const MAX_REPLY: usize = 8 << 20;
/// Largest part of an error page that is looked at.
const MAX_ERROR_PAGE: usize = 64 << 10;
/// How long the counts and the end mark may follow after the model said that it was done.
const AFTERMATH: Duration = Duration::from_secs(2);
/// How long the end of the body may follow after the end mark; then the connection is not reused.
const DRAIN: Duration = Duration::from_millis(20);
/// How often a listener is told that the model is silent.
const TELL_SILENCE: Duration = Duration::from_secs(10);
/// Parameters that a provider may refuse one after the other.
const MAX_HABITS: usize = 3;

/// One model behind an OpenAI-compatible endpoint.
pub(super) struct OpenAi<'a> {
    endpoint: &'a Endpoint,
    model: &'a str,
}

impl<'a> OpenAi<'a> {
    pub(super) fn new(endpoint: &'a Endpoint, model: &'a str) -> Self {
        Self { endpoint, model }
    }

    async fn send(
        &self,
        body: Vec<u8>,
        first_byte: Instant,
        glimpses: &Glimpses<'_>,
    ) -> Result<reqwest::Response, ModelError> {
        let limit = first_byte.saturating_duration_since(Instant::now());
        match patiently(limit, glimpses, self.endpoint.post(body)).await {
            Some(Ok(response)) => Ok(response),
            Some(Err(error)) => Err(failure::of_transport(self.endpoint, &error)),
            None => Err(failure::no_first_byte(self.endpoint)),
        }
    }

    /// Reads a whole reply.
    async fn read(
        &self,
        mut response: reqwest::Response,
        request: &Request,
        first_byte: Instant,
        glimpses: &mut Glimpses<'_>,
    ) -> Result<Reply, ModelError> {
        let mut wire = Wire::new(MAX_REPLY);
        let mut assembly = Assembly::new(&request.tools, &request.tools.openai().names, MAX_REPLY);
        let mut limit = first_byte.saturating_duration_since(Instant::now());
        loop {
            let chunk = match patiently(limit, glimpses, response.chunk()).await {
                Some(Ok(chunk)) => chunk,
                // The model was done; only the rest of the protocol was lost.
                Some(Err(_)) | None if assembly.is_finished() => None,
                Some(Err(error)) => return Err(failure::of_stream(self.endpoint, &error)),
                None if wire.is_empty() => return Err(failure::no_first_byte(self.endpoint)),
                None => return Err(failure::silence(self.endpoint)),
            };
            let parts = match &chunk {
                Some(bytes) => wire.feed(bytes),
                None => wire.finish(),
            };
            for part in parts.map_err(|fault| failure::of_wire(self.endpoint, fault))? {
                assembly.take(part).map_err(|fault| failure::of_reply(self.endpoint, fault))?;
            }
            glimpses.text(assembly.take_shown()).await;
            if chunk.is_none() || assembly.is_done() {
                break;
            }
            let idle = self.endpoint.idle;
            limit = if assembly.is_finished() { AFTERMATH.min(idle) } else { idle };
        }
        if assembly.is_done() {
            let _ = timeout(DRAIN, response.chunk()).await;
        }
        let reply = assembly.finish().map_err(|fault| failure::of_reply(self.endpoint, fault))?;
        glimpses.text(reply.unshown).await;
        Ok(reply.reply)
    }

    /// The error behind a status other than success.
    async fn refusal(&self, mut response: reqwest::Response, first_byte: Instant) -> Refusal {
        let (status, headers) = (response.status(), response.headers().clone());
        let mut page = Vec::new();
        while page.len() < MAX_ERROR_PAGE {
            match timeout_at(first_byte, response.chunk()).await {
                Ok(Ok(Some(bytes))) => page.extend_from_slice(&bytes),
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        let page = String::from_utf8_lossy(&page);
        let habits = Habits::learned_from(status, &page);
        let error = failure::of_status(self.endpoint, self.model, status, (&headers, &page));
        Refusal { error, habits }
    }
}

struct Refusal {
    error: ModelError,
    habits: Habits,
}

#[async_trait]
impl Model for OpenAi<'_> {
    async fn reply(
        &self,
        request: &Request,
        glimpses: &mut Glimpses<'_>,
    ) -> Result<Reply, ModelError> {
        self.endpoint.check_key()?;
        for _ in 0..=MAX_HABITS {
            let habits = self.endpoint.habits(self.model);
            let body = body::build(request, self.model, habits)
                .map_err(|error| ModelError::new(ModelErrorKind::InvalidRequest, error))?;
            let first_byte = Instant::now() + self.endpoint.first_byte;
            let response = self.send(body, first_byte, glimpses).await?;
            if response.status().is_success() {
                return self.read(response, request, first_byte, glimpses).await;
            }
            let refusal = self.refusal(response, first_byte).await;
            if !self.endpoint.learn(self.model, refusal.habits) {
                return Err(refusal.error);
            }
        }
        Err(ModelError::new(
            ModelErrorKind::InvalidRequest,
            format!("{} refuses every form of the request", self.endpoint.shown()),
        ))
    }
}

/// Waits for `future` at most `limit` long and tells the listener now and then; `None` if the time
/// is up.
async fn patiently<T>(
    limit: Duration,
    glimpses: &Glimpses<'_>,
    future: impl Future<Output = T>,
) -> Option<T> {
    pin!(future);
    let started = Instant::now();
    let end = started + limit;
    let mut next = started;
    loop {
        next = (next + TELL_SILENCE).min(end);
        match timeout_at(next, &mut future).await {
            Ok(value) => return Some(value),
            Err(_) if next >= end => return None,
            Err(_) => glimpses.silent(started.elapsed()),
        }
    }
}
