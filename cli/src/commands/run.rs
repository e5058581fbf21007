//! What `ask` and `tools call` share: following a run, showing it live, asking the person.
//!
//! [`follow`] is the stream, [`live`] the display, [`approval`] the question and [`keys`] its answer;
//! [`drive`] ties them together. Next: `run/follow.rs`.

pub(super) mod follow;
mod live;
mod approval;
mod keys;

use std::cell::OnceCell;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use self::approval::Question;
use self::follow::{Follow, Notice};
use self::live::Live;
use crate::client::shapes::Fact;
use crate::client::{Client, segment};
use crate::exit::{Exit, Refused};
use crate::print;

/// How long a cancelled run may take to say that it ended.
const CANCEL_LIMIT: Duration = Duration::from_secs(3);

/// Whether somebody sits here who can be asked, and sees the question.
pub(super) fn has_approver() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// What is shown while a run works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// Live steps on standard error, if that is a terminal.
    Steps,
    /// Every event as a line of JSON on standard output.
    Events,
    /// Nothing.
    Nothing,
}

/// Ctrl-C and its relatives, once for the whole command: a signal is never lost between two waits.
pub(super) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Interrupts {
    /// From now on signals are heard here and end the program no more by themselves.
    ///
    /// # Errors
    /// When a handler cannot be installed.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

/// The error of a command that was interrupted before a run was there to cancel.
pub(super) fn interrupted() -> anyhow::Error {
    Refused { exit: Exit::Cancelled, message: "interrupted".to_owned() }.into()
}

/// Names the session in an error, where one was begun: it can be looked at, and gone on with.
pub(super) fn in_session(error: anyhow::Error, session: &OnceCell<String>) -> anyhow::Error {
    match session.get() {
        Some(session) => error.context(format!("session {session}")),
        None => error,
    }
}

/// Follows a run to its end, shows it, and asks the person where the run asks. Returns the result's
/// document. Dropping the future leaves the run to itself.
///
/// # Errors
/// A refusal, a stream that is lost for good, or an interruption that the run did not answer.
pub(super) async fn drive(
    client: &Client,
    mut follow: Follow<'_>,
    show: Show,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Value> {
    let mut live = Live::new(show == Show::Steps && io::stderr().is_terminal());
    let mut question = Question::default();
    loop {
        tokio::select! {
            notice = follow.next() => match notice? {
                Notice::Fact(fact, text) => {
                    if show == Show::Events {
                        print::out(&text)?;
                    }
                    live.fact(&fact);
                    consider(&mut question, &fact, &mut live)?;
                }
                Notice::Glimpse(glimpse, text) => {
                    if show == Show::Events {
                        print::out(&text)?;
                    }
                    live.glimpse(&glimpse);
                }
                Notice::Result(document) => return Ok(document),
            },
            answer = question.answered() => {
                let (call, is_approved) = answer?;
                let Some(session) = follow.session() else { continue };
                decide(client, session, &call, is_approved).await?;
                question.put(&mut live)?;
            }
            () = live.silence() => live.tell_silence(),
            () = interrupts.next() => {
                question.close();
                live.note("cancelling…");
                return cancel(client, &mut follow, interrupts).await;
            }
        }
    }
}

/// Puts a question to the person, or takes it back, as a fact says.
fn consider(question: &mut Question, fact: &Fact, live: &mut Live) -> io::Result<()> {
    match fact.kind.as_str() {
        "approval.asked" if has_approver() => {
            let call = live.call(fact.text("call_id"));
            question.add(approval::Asked::of(fact, call));
        }
        "approval.decided" | "call.settled" => question.remove(fact.text("call_id")),
        "run.ended" => question.close(),
        _ => {}
    }
    question.put(live)
}

/// Tells the gateway what the person decided. Another decision may have been faster: it stands, and
/// its fact tells.
async fn decide(
    client: &Client,
    session: &str,
    call: &approval::Asked,
    is_approved: bool,
) -> anyhow::Result<()> {
    let path = format!("/v1/sessions/{}/approvals/{}", segment(session), segment(&call.call_id));
    let decision = if is_approved { "approve" } else { "deny" };
    let body = json!({"decision": decision, "preview_digest": call.preview_digest});
    match client.post(&path, &body).await {
        Err(error) if error.downcast_ref::<Refused>().is_some() => {
            print::err(&format!("callboard: the decision was not taken: {error:#}"));
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Asks for the run's end and waits for it; a second interruption leaves the run to itself.
async fn cancel(
    client: &Client,
    follow: &mut Follow<'_>,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Value> {
    let end = async {
        let mut is_asked = false;
        loop {
            // The session may become known only now: what was on its way is cancelled too.
            if let (false, Some(session)) = (is_asked, follow.session()) {
                let path = format!("/v1/sessions/{}/cancel", segment(session));
                client.post(&path, &json!({"reason": "interrupted by the person"})).await?;
                is_asked = true;
            }
            if let Notice::Result(document) = follow.next().await? {
                return Ok(document);
            }
        }
    };
    tokio::select! {
        ended = timeout(CANCEL_LIMIT, end) => match ended {
            Ok(ended) => ended,
            Err(_) => Err(Refused {
                exit: Exit::Cancelled,
                message: "the run was asked to end and has not ended yet".to_owned(),
            }
            .into()),
        },
        () = interrupts.next() => Err(interrupted()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_session_that_was_begun() {
        let session = OnceCell::new();
        let ended = || Refused { exit: Exit::Usage, message: "the stack ended".to_owned() }.into();
        assert_eq!(format!("{:#}", in_session(ended(), &session)), "the stack ended");
        session.set("s-1".to_owned()).unwrap();
        let named = in_session(ended(), &session);
        assert_eq!(format!("{named:#}"), "session s-1: the stack ended");
        assert_eq!(crate::exit::of(&named), Exit::Usage);
    }
}
