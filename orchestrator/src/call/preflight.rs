//! What a tool thinks of a call with these very arguments, asked over the wire; a tool that declares
//! `preflight: none` is spared the trip.
//!
//! Judging starts nothing, so an instance that gives no answer is passed over for another one. What
//! rules and tool say together is decided in `approval`.

use std::sync::Arc;
use std::time::Duration;

use callboard_proto::size;
use callboard_proto::tool::preflight_response::Verdict;
use callboard_proto::tool::tool_service_client::ToolServiceClient;
use callboard_proto::tool::{PreflightRequest, ToolCall};
use callboard_telemetry::propagate;
use tokio::time::{Instant, sleep, timeout_at};

use super::attempts::classify::{Phase, classify};
use super::eject::Contact;
use super::failure::{Failure, Kind};
use super::retry::{AttemptError, backoff};
use crate::catalog::Instance;
use crate::digest::sha256;

/// Name of the rule where the tool itself gave the verdict.
pub const RULE: &str = "preflight";

/// Instances that are asked before giving up.
const MAX_ASKED: u32 = 3;
/// Characters of a reason, and bytes of a preview.
const MAX_REASON: usize = 1_000;
const MAX_PREVIEW: usize = size::CHUNK;

/// What a tool thinks of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// Nothing speaks against it.
    Allow,
    /// A person must decide.
    Ask {
        /// Why.
        reason: String,
        /// What they see.
        preview: String,
        /// It destroys without undo.
        irreversible: bool,
    },
    /// Never.
    Block {
        /// Why, and what is possible instead.
        reason: String,
    },
}

/// Asks what a tool thinks of a call. `pick` names an instance, another one than the one that gave
/// no answer; `draw` a random number from 0 to 1.
pub(super) async fn ask(
    call: &ToolCall,
    limit: Duration,
    mut pick: impl FnMut(Option<&str>) -> Option<Arc<Instance>>,
    mut draw: impl FnMut() -> f64,
) -> Result<Opinion, Failure> {
    let until = Instant::now() + limit;
    let mut failed: Option<String> = None;
    for asked in 1..=MAX_ASKED {
        let Some(instance) = pick(failed.as_deref()) else { break };
        let call = ToolCall { incarnation: instance.incarnation.clone(), ..call.clone() };
        let in_flight = instance.enter();
        let answer = timeout_at(until, once(&instance, call, until)).await;
        match answer {
            Err(_) => {
                in_flight.ended(Contact::Failed);
                break;
            }
            Ok(Ok(opinion)) => {
                in_flight.ended(Contact::Answered);
                return opinion;
            }
            Ok(Err(error)) => {
                let refused = is_final(&error);
                let is_well = refused.is_some() || error == AttemptError::Exhausted;
                in_flight.ended(if is_well { Contact::Answered } else { Contact::Failed });
                if let Some(failure) = refused {
                    return Err(failure);
                }
                failed = Some(instance.id.to_string());
                let pause = Instant::now() + backoff(asked, draw(), None);
                if pause >= until {
                    break;
                }
                sleep(pause.saturating_duration_since(Instant::now())).await;
            }
        }
    }
    let words =
        format!("`{}` was not run: its service cannot be asked about the call now", call.tool);
    Err(Failure { is_of_service: true, ..Failure::new(Kind::Unavailable, words) })
}

/// The opinion, or why there is none; a failed opinion is one that is none.
async fn once(
    instance: &Instance,
    call: ToolCall,
    until: Instant,
) -> Result<Result<Opinion, Failure>, AttemptError> {
    let tool = call.tool.clone();
    let mut request = tonic::Request::new(PreflightRequest { call: Some(call) });
    request.set_timeout(until.saturating_duration_since(Instant::now()));
    propagate::inject(request.metadata_mut());
    let mut client = ToolServiceClient::new(instance.channel())
        .max_decoding_message_size(size::MESSAGE)
        .max_encoding_message_size(size::MESSAGE);
    let answer = client.preflight(request).await;
    let response = answer.map_err(|status| classify(&status, Phase::Opening).error)?;
    Ok(read(response.into_inner().verdict, &tool))
}

fn read(verdict: Option<Verdict>, tool: &str) -> Result<Opinion, Failure> {
    match verdict {
        Some(Verdict::Allow(_)) => Ok(Opinion::Allow),
        Some(Verdict::Block(block)) => Ok(Opinion::Block { reason: clip(&block.reason) }),
        // A person must see what they approve: a digest of something else, or no text at all, is
        // no question.
        Some(Verdict::Ask(ask))
            if ask.preview_digest == sha256(&ask.preview) && ask.preview.len() <= MAX_PREVIEW =>
        {
            Ok(Opinion::Ask {
                reason: clip(&ask.reason),
                preview: ask.preview,
                irreversible: ask.irreversible,
            })
        }
        Some(Verdict::Ask(_)) | None => Err(Failure::new(
            Kind::Internal,
            format!("`{tool}` was not run: what its service says about the call cannot be read"),
        )),
    }
}

/// What another instance would say, too; `None` where it is worth asking one.
fn is_final(error: &AttemptError) -> Option<Failure> {
    match error {
        AttemptError::Refused(failure) | AttemptError::Failed(failure) => Some(failure.clone()),
        AttemptError::Unauthenticated | AttemptError::Unusable { .. } | AttemptError::Fenced => {
            let words = "the service refused to judge the call";
            Some(Failure::new(Kind::Unavailable, words))
        }
        AttemptError::NotSent
        | AttemptError::Aborted
        | AttemptError::Exhausted
        | AttemptError::Unanswered(_)
        | AttemptError::UnknownCall
        | AttemptError::OutcomeGone => None,
    }
}

fn clip(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n').take(MAX_REASON).collect()
}
