//! The stream of a run, whole even where its connection breaks: after a break it goes on behind the
//! last fact that was seen. Next: `live`.

use std::cell::OnceCell;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::client::shapes::{self, Fact, Glimpse};
use crate::client::sse::{Frame, Frames};
use crate::client::{Client, problem, segment};

/// How long a gateway may be away before the run is given up.
const AWAY_LIMIT: Duration = Duration::from_secs(30);
/// The same for one that has never answered: most likely there is none.
const NOBODY_LIMIT: Duration = Duration::from_secs(3);
/// How long to wait between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// One thing that a stream tells.
#[derive(Debug)]
pub(crate) enum Notice {
    /// A durable event, and its line of JSON.
    Fact(Fact, String),
    /// Something in the making, and its line of JSON.
    Glimpse(Glimpse, String),
    /// How it ended.
    Result(Value),
}

/// A run's stream.
pub(crate) struct Follow<'c> {
    client: &'c Client,
    start: Start,
    frames: Option<Frames>,
    session: Option<String>,
    /// The session, for those who outlive this.
    known: &'c OnceCell<String>,
    run: Option<String>,
    seen: u64,
    /// The run's last fact was seen.
    is_over: bool,
    /// The stream is the session's, which tells no result.
    is_attached: bool,
    away_since: Option<Instant>,
}

/// The request that starts a run.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// Its path.
    pub(crate) path: String,
    /// Its body.
    pub(crate) body: String,
    /// The key under which a repeat meets the same run.
    pub(crate) key: String,
    /// It is a direct call: its result is a call, not a run.
    pub(crate) is_direct: bool,
}

impl<'c> Follow<'c> {
    /// Starts nothing before the first [`Self::next`]; then `known` tells the session as soon as it
    /// is known.
    pub(crate) fn new(
        client: &'c Client,
        start: Start,
        session: Option<String>,
        known: &'c OnceCell<String>,
    ) -> Self {
        Self {
            client,
            start,
            frames: None,
            session,
            known,
            run: None,
            seen: 0,
            is_over: false,
            is_attached: false,
            away_since: None,
        }
    }

    /// The session, as soon as it is known.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The next thing told. Dropping the future loses nothing, but before the first answer it may
    /// leave a run that nobody follows.
    ///
    /// # Errors
    /// A refusal, or a gateway that stays away.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Notice> {
        loop {
            let told = match self.result().await {
                Ok(Some(document)) => return Ok(Notice::Result(document)),
                Ok(None) => self.frame().await,
                Err(error) => Err(error),
            };
            match told {
                Ok(Some(frame)) => {
                    self.away_since = None;
                    if let Some(notice) = self.read(frame)? {
                        return Ok(notice);
                    }
                }
                Ok(None) => self.lost(anyhow::anyhow!("the event stream ended early")).await?,
                Err(error) if problem::is_transient(&error) => self.lost(error).await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn frame(&mut self) -> anyhow::Result<Option<Frame>> {
        if let Some(frames) = &mut self.frames {
            return frames.next().await;
        }
        let mut frames = if let (Some(session), Some(_)) = (&self.session, &self.run) {
            let (session, after) = (segment(session), self.seen);
            let path = format!("/v1/sessions/{session}/events?after={after}&until=idle");
            self.is_attached = true;
            self.client.get_stream(&path).await?
        } else {
            let Start { path, body, key, .. } = &self.start;
            self.client.post_stream(path, body.clone(), key).await?
        };
        self.session = self.session.take().or_else(|| frames.session.take());
        if let Some(session) = &self.session {
            self.known.get_or_init(|| session.clone());
        }
        self.run = self.run.take().or_else(|| frames.run.take());
        self.frames.insert(frames).next().await
    }

    /// The result, where the stream will not tell it: the run is over, and its own stream was lost.
    async fn result(&mut self) -> anyhow::Result<Option<Value>> {
        let is_due = self.is_over && (self.is_attached || self.frames.is_none());
        let (true, Some(session), Some(run)) = (is_due, &self.session, &self.run) else {
            return Ok(None);
        };
        let document = self.client.get(&format!("/v1/sessions/{}", segment(session))).await?;
        let runs = document.get("runs").and_then(Value::as_array);
        let found = runs.into_iter().flatten().find(|found| found["run"] == run.as_str());
        let found = match found {
            Some(run) if self.start.is_direct => direct(run),
            found => found.cloned(),
        };
        let missing = || problem::gone(format!("the gateway does not know how {run} ended"));
        found.map(Some).ok_or_else(missing)
    }

    /// The stream is gone: forget it, wait a little, and give up at some point.
    async fn lost(&mut self, error: anyhow::Error) -> anyhow::Result<()> {
        self.frames = None;
        let since = *self.away_since.get_or_insert_with(Instant::now);
        let limit = if self.run.is_some() { AWAY_LIMIT } else { NOBODY_LIMIT };
        if since.elapsed() >= limit {
            return Err(error);
        }
        sleep(PAUSE).await;
        Ok(())
    }

    fn read(&mut self, frame: Frame) -> anyhow::Result<Option<Notice>> {
        match frame.event.as_str() {
            "fact" => {
                let fact: Fact = shapes::read(&frame.data)?;
                if fact.seq <= self.seen {
                    return Ok(None);
                }
                self.seen = fact.seq;
                if self.run.is_none() && fact.kind == "input.received" {
                    self.run = Some(fact.text("run").to_owned()).filter(|run| !run.is_empty());
                }
                let is_own = self.run.as_deref() == Some(fact.text("run"));
                self.is_over |= fact.kind == "run.ended" && is_own;
                Ok(Some(Notice::Fact(fact, frame.text)))
            }
            "glimpse" => {
                // Facts name their type; in a list of events a glimpse does so too.
                let rest = frame.text.trim_start_matches('{');
                let line = format!("{{\"type\":\"glimpse\",{rest}");
                Ok(Some(Notice::Glimpse(shapes::read::<Glimpse>(&frame.data)?, line)))
            }
            "result" => Ok(Some(Notice::Result(frame.data))),
            // The session has nothing more to do, so the run is over too.
            "end" => {
                self.is_over = true;
                Ok(None)
            }
            // The run goes on; only this stream does not.
            "error" if matches!(frame.data["reason"].as_str(), Some("moved" | "slow")) => {
                self.frames = None;
                Ok(None)
            }
            "error" => Err(problem::of_event(&frame.data)),
            // A newer gateway may tell more.
            _ => Ok(None),
        }
    }
}

/// The one call of a run that is a direct call, as its own stream would have told it.
fn direct(run: &Value) -> Option<Value> {
    let mut call = run["tool_calls"].get(0)?.clone();
    for field in ["session", "trace_id"] {
        call[field] = run[field].clone();
    }
    Some(call)
}
