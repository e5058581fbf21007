//! One attempt on the wire: sends it on its instance's own channel, hands progress on, and reads the
//! one outcome. Everything about an answer that is no answer is found here.

use std::time::Duration;

use callboard_proto::size;
use callboard_proto::tool::invoke_response::Piece as WirePiece;
use callboard_proto::tool::outcome::Result as WireResult;
use callboard_proto::tool::tool_service_client::ToolServiceClient;
use callboard_proto::tool::{Failure as WireFailure, Outcome, Output as WireOutput};
use callboard_proto::tool::{FailureKind, InvokeMode, InvokeRequest, InvokeResponse, ToolCall};
use callboard_telemetry::propagate;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use tonic::Streaming;
use tower::ServiceExt as _;

use super::classify::{Classified, Phase, Pushback, classify};
use super::{Job, wire};
use crate::call::eject::Contact;
use crate::call::failure::{Failure, Kind};
use crate::call::outcome::Output;
use crate::call::record::{Piece, Progress};
use crate::call::retry::{AttemptError, Lost};
use crate::catalog::Instance;
use crate::crash::crash_point;
use crate::run::event::{AttemptStarted, Violation};
use crate::run::ids::CallId;

/// Pieces and bytes of a stream before its outcome.
const MAX_PIECES: usize = 100_000;
const MAX_BYTES: usize = size::ARTIFACT;
/// How long the end of a stream may follow its outcome.
const END_WITHIN: Duration = Duration::from_millis(50);
/// Characters of a line of progress.
const MAX_LINE: usize = 500;
/// Violations and remarks that are kept.
const MAX_KEPT: usize = 32;
/// Bytes of an undo token.
const MAX_TOKEN: usize = 4 * 1024;

/// An attempt to make.
pub(super) struct Sending<'a> {
    instance: &'a Instance,
    call: ToolCall,
    mode: InvokeMode,
    /// Time that the service is told.
    timeout: Duration,
    /// When we stop waiting.
    give_up: Instant,
}

impl<'a> Sending<'a> {
    /// An attempt of a call at an instance.
    pub(super) fn new(
        job: Job<'_>,
        started: &AttemptStarted,
        instance: &'a Instance,
        mode: InvokeMode,
    ) -> Self {
        let call = wire::attempt(job, started, instance);
        let give_up = job.deadline.give_up();
        Self { instance, call, mode, timeout: Duration::ZERO, give_up }
    }

    /// Tells the service how much time it has.
    pub(super) fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

/// Sends an attempt and waits for its outcome. The instance's health is told how it went.
pub(super) async fn send(
    sending: Sending<'_>,
    progress: &mpsc::Sender<Progress>,
) -> Result<Output, Classified> {
    let in_flight = sending.instance.enter();
    let give_up = sending.give_up;
    let mut is_sent = false;
    let answer = match timeout_at(give_up, exchange(sending, progress, &mut is_sent)).await {
        Ok(answer) => answer,
        Err(_) if is_sent => Err(lost(Lost::TimedOut, "no outcome in time")),
        Err(_) => Err(Classified {
            error: AttemptError::NotSent,
            pushback: Pushback::None,
            detail: "no connection in time".to_owned(),
        }),
    };
    in_flight.ended(answer.as_ref().map_or_else(contact, |_| Contact::Answered));
    answer
}

async fn exchange(
    sending: Sending<'_>,
    progress: &mpsc::Sender<Progress>,
    is_sent: &mut bool,
) -> Result<Output, Classified> {
    let call_id = CallId::from(sending.call.call_id.as_str());
    let mut channel = sending.instance.channel();
    if channel.ready().await.is_err() {
        return Err(Classified {
            error: AttemptError::NotSent,
            pushback: Pushback::None,
            detail: "the connection takes no requests".to_owned(),
        });
    }
    let message = InvokeRequest { call: Some(sending.call), mode: sending.mode.into() };
    let mut request = tonic::Request::new(message);
    request.set_timeout(sending.timeout);
    propagate::inject(request.metadata_mut());
    let mut client = ToolServiceClient::new(channel)
        .max_decoding_message_size(size::MESSAGE)
        .max_encoding_message_size(size::MESSAGE);
    *is_sent = true;
    let response = client.invoke(request).await.map_err(|s| classify(&s, Phase::Opening))?;
    crash_point!("attempt.after_send");
    let mut stream = response.into_inner();
    let outcome = outcome(&mut stream, &call_id, progress).await?;
    crash_point!("attempt.after_outcome");
    nothing_more(&mut stream).await?;
    read(outcome, &call_id)
}

/// Reads up to the outcome.
async fn outcome(
    stream: &mut Streaming<InvokeResponse>,
    call_id: &CallId,
    progress: &mpsc::Sender<Progress>,
) -> Result<Outcome, Classified> {
    let (mut pieces, mut bytes) = (0, 0);
    loop {
        let message = stream.message().await.map_err(|s| classify(&s, Phase::Answering))?;
        let Some(message) = message else {
            return Err(lost(Lost::Broken, "the stream ended without an outcome"));
        };
        pieces += 1;
        let piece = match message.piece {
            Some(WirePiece::Outcome(outcome)) => return Ok(outcome),
            Some(WirePiece::Chunk(chunk)) if chunk.len() > size::CHUNK => {
                return Err(lost(Lost::Broken, "a chunk is over the limit"));
            }
            Some(WirePiece::Chunk(chunk)) => {
                bytes += chunk.len();
                Piece::Chunk(chunk)
            }
            Some(WirePiece::Progress(note)) => {
                bytes += note.message.len();
                Piece::Note {
                    message: line(&note.message),
                    fraction: note.fraction.filter(|share| (0.0..=1.0).contains(share)),
                }
            }
            None => return Err(lost(Lost::Broken, "a message holds nothing that we know")),
        };
        if pieces > MAX_PIECES || bytes > MAX_BYTES {
            return Err(lost(Lost::Broken, "the stream is over the limit"));
        }
        // Signs of life may be lost; a slow watcher never slows a call down.
        let _ = progress.try_send(Progress { call_id: call_id.clone(), piece });
    }
}

/// The outcome is the last message. What follows is a fault of the service: a second outcome makes
/// both worthless, anything else is passed over.
async fn nothing_more(stream: &mut Streaming<InvokeResponse>) -> Result<(), Classified> {
    match timeout(END_WITHIN, stream.message()).await {
        Ok(Ok(Some(InvokeResponse { piece: Some(WirePiece::Outcome(_)) }))) => {
            Err(lost(Lost::Broken, "two outcomes"))
        }
        Ok(Ok(Some(_))) => {
            tracing::warn!("a service went on after its outcome");
            Ok(())
        }
        Ok(Ok(None) | Err(_)) | Err(_) => Ok(()),
    }
}

/// What an outcome says, if it is one.
fn read(outcome: Outcome, call_id: &CallId) -> Result<Output, Classified> {
    if outcome.call_id != call_id.as_str() {
        return Err(lost(Lost::Broken, "the outcome belongs to another call"));
    }
    match outcome.result {
        Some(WireResult::Output(output)) => read_output(output),
        Some(WireResult::Failure(failure)) => {
            let detail = failure.kind().as_str_name().to_lowercase();
            let error = AttemptError::Failed(read_failure(failure));
            Err(Classified { error, pushback: Pushback::None, detail })
        }
        None => Err(lost(Lost::Broken, "the outcome says nothing")),
    }
}

fn read_output(output: WireOutput) -> Result<Output, Classified> {
    if output.structured.len() > size::STRUCTURED {
        return Err(lost(Lost::Broken, "the structured content is over the limit"));
    }
    if output.undo_token.len() > MAX_TOKEN {
        return Err(lost(Lost::Broken, "the undo token is over the limit"));
    }
    let structured = String::from_utf8(output.structured.to_vec())
        .ok()
        .filter(|text| text.is_empty() || is_json(text));
    let Some(structured) = structured else {
        return Err(lost(Lost::Broken, "the structured content is no JSON"));
    };
    Ok(Output {
        content: output.content,
        structured,
        undo_token: output.undo_token,
        diagnostics: output.diagnostics.into_iter().take(MAX_KEPT).collect(),
        artifact: output.artifact,
        is_untrusted: false,
        note: String::new(),
    })
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn read_failure(failure: WireFailure) -> Failure {
    let kind = match failure.kind() {
        FailureKind::InvalidArguments => Kind::InvalidArguments,
        FailureKind::NotFound => Kind::NotFound,
        FailureKind::PermissionDenied => Kind::PermissionDenied,
        FailureKind::Blocked => Kind::Blocked,
        FailureKind::Conflict => Kind::Conflict,
        FailureKind::Unavailable => Kind::Unavailable,
        FailureKind::Timeout => Kind::Timeout,
        FailureKind::RateLimited => Kind::RateLimited,
        FailureKind::TooLarge => Kind::TooLarge,
        FailureKind::Unsupported => Kind::Unsupported,
        FailureKind::Cancelled => Kind::Cancelled,
        FailureKind::Internal | FailureKind::Unspecified => Kind::Internal,
        FailureKind::PreviewChanged => {
            return Failure::new(
                Kind::Conflict,
                "nothing was started: what the call would do is not (or no longer) what was \
                 approved. Call the tool again, so that a person sees it as it is now",
            );
        }
    };
    let violations = failure.violations.into_iter().take(MAX_KEPT);
    Failure {
        violations: violations
            .map(|one| Violation { pointer: line(&one.pointer), message: line(&one.message) })
            .collect(),
        retry_after: (failure.retry_after_ms > 0)
            .then(|| Duration::from_millis(failure.retry_after_ms)),
        ..Failure::new(kind, failure.message)
    }
}

fn line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_LINE).collect()
}

fn lost(lost: Lost, detail: &str) -> Classified {
    let error = AttemptError::Unanswered(lost);
    Classified { error, pushback: Pushback::None, detail: detail.to_owned() }
}

/// What an answer without success says of the instance, whatever the tool made of the call.
fn contact(error: &Classified) -> Contact {
    match &error.error {
        // A drain is no failure, a connection that is refused is one; both start nothing.
        AttemptError::NotSent if error.is_unreachable() => Contact::Nobody,
        AttemptError::NotSent
        | AttemptError::Failed(_)
        | AttemptError::Refused(_)
        | AttemptError::Fenced
        | AttemptError::Aborted
        | AttemptError::Exhausted
        | AttemptError::UnknownCall
        | AttemptError::OutcomeGone => Contact::Answered,
        AttemptError::Unauthenticated
        | AttemptError::Unanswered(_)
        | AttemptError::Unusable { .. } => Contact::Failed,
    }
}
