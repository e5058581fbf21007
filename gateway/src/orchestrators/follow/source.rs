//! The three streams of the wire that a follower reads, as one.

use callboard_proto::agent::{
    AttachResponse, DirectResult, Fact, Glimpse, InvokeToolResponse, Notice, RunSummary,
    StartResponse, invoke_tool_response, notice,
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
    Direct(Box<DirectResult>),
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
        Some(notice::Kind::Result(result)) => {
            result.run.map_or(Piece::Unknown, |run| Piece::Run(Box::new(run)))
        }
        None => Piece::Unknown,
    }
}
