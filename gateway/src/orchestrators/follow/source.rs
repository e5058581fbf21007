//! The three streams of the wire that a follower reads, as one.

use callboard_proto::agent::{
    AttachResponse, Begun, DirectResult, Fact, Glimpse, InvokeToolResponse, Notice, RunResult,
    RunSummary, StartResponse, invoke_tool_response, notice,
};
use tonic::{Status, Streaming};

/// Where pieces come from.
pub(super) enum Source {
    Start(Streaming<StartResponse>),
    Invoke(Streaming<InvokeToolResponse>),
    Attach(Streaming<AttachResponse>),
}

/// A piece of any of them.
pub(super) enum Piece {
    Fact(Fact),
    Glimpse(Glimpse),
    Run(Box<RunSummary>),
    /// The run ended, and one message does not hold all of it.
    Ended(String),
    Direct(Box<DirectResult>),
    /// Which run it is.
    Begun(Begun),
    /// Something that only a later release knows.
    Unknown,
}

impl Source {
    /// The next piece; `None` where the other end closed the stream.
    pub(super) async fn message(&mut self) -> Result<Option<Piece>, Status> {
        let piece = match self {
            Self::Start(pieces) => pieces.message().await?.map(|piece| of_notice(piece.notice)),
            Self::Attach(pieces) => pieces.message().await?.map(|piece| of_notice(piece.notice)),
            Self::Invoke(pieces) => pieces.message().await?.map(|piece| match piece.piece {
                Some(invoke_tool_response::Piece::Notice(notice)) => of_notice(Some(notice)),
                Some(invoke_tool_response::Piece::Result(result)) => {
                    Piece::Direct(Box::new(result))
                }
                None => Piece::Unknown,
            }),
        };
        Ok(piece)
    }
}

fn of_notice(notice: Option<Notice>) -> Piece {
    match notice.and_then(|notice| notice.kind) {
        Some(notice::Kind::Fact(fact)) => Piece::Fact(fact),
        Some(notice::Kind::Glimpse(glimpse)) => Piece::Glimpse(glimpse),
        Some(notice::Kind::Result(RunResult { run: Some(run), next_page_token, .. })) => {
            if next_page_token.is_empty() {
                Piece::Run(Box::new(run))
            } else {
                Piece::Ended(run.id)
            }
        }
        Some(notice::Kind::Begun(begun)) => Piece::Begun(begun),
        Some(notice::Kind::Result(RunResult { run: None, .. })) | None => Piece::Unknown,
    }
}
