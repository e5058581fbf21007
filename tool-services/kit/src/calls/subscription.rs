//! A stream's view of a call: what it tells while it works, then its outcome. Dropping a
//! subscription ends nothing. Glimpses that a slow stream missed are gone; the outcome holds all.

use std::{collections::VecDeque, sync::Arc};

use callboard_proto::{size, tool as wire};
use futures_util::{Stream, stream};
use tokio::sync::{
    broadcast::{
        self,
        error::{RecvError, TryRecvError},
    },
    watch,
};
use tonic::Status;

use super::Running;
use crate::{call::Glimpse, sizes};

/// Longest progress message.
const PROGRESS: usize = 1024;

/// A stream's view of one call.
#[derive(Debug)]
pub(crate) struct Subscription {
    glimpses: Option<broadcast::Receiver<Glimpse>>,
    settled: watch::Receiver<Option<Arc<wire::Outcome>>>,
    /// Pieces of one glimpse that are still to be sent.
    queued: VecDeque<wire::invoke_response::Piece>,
    ended: bool,
}

impl Subscription {
    /// To a call at work.
    pub(super) fn running(running: &Running) -> Self {
        Self {
            glimpses: Some(running.glimpses.subscribe()),
            settled: running.settled.clone(),
            queued: VecDeque::new(),
            ended: false,
        }
    }

    /// To a call that ended so.
    pub(crate) fn settled(outcome: Arc<wire::Outcome>) -> Self {
        let (_, settled) = watch::channel(Some(outcome));
        Self { glimpses: None, settled, queued: VecDeque::new(), ended: false }
    }

    /// The messages of the stream; the last one is the outcome.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<wire::InvokeResponse, Status>> {
        stream::unfold(self, |mut subscription| async move {
            let piece = subscription.next().await?;
            let response = piece.map(|piece| wire::InvokeResponse { piece: Some(piece) });
            Some((response, subscription))
        })
    }

    async fn next(&mut self) -> Option<Result<wire::invoke_response::Piece, Status>> {
        if self.ended {
            return None;
        }
        loop {
            if let Some(piece) = self.queued.pop_front() {
                return Some(Ok(piece));
            }
            match self.glimpse().await {
                Some(glimpse) => self.queued.extend(pieces(glimpse)),
                None => break,
            }
        }
        self.ended = true;
        let outcome = self.settled.borrow().clone();
        Some(match outcome {
            Some(outcome) => {
                Ok(wire::invoke_response::Piece::Outcome(Arc::unwrap_or_clone(outcome)))
            }
            None => Err(Status::internal("the call ended without an outcome")),
        })
    }

    /// The next glimpse; none once the call has settled and all that it told before was taken. A
    /// tool that blocks its thread may hold its end of the channel for longer.
    async fn glimpse(&mut self) -> Option<Glimpse> {
        let glimpses = self.glimpses.as_mut()?;
        loop {
            if self.settled.borrow().is_some() {
                match glimpses.try_recv() {
                    Ok(glimpse) => return Some(glimpse),
                    Err(TryRecvError::Lagged(_)) => continue,
                    Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
                }
            }
            tokio::select! {
                biased;
                glimpse = glimpses.recv() => match glimpse {
                    Ok(glimpse) => return Some(glimpse),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => {
                        // Ends at once, or the call's task is gone.
                        let _ = self.settled.wait_for(Option::is_some).await;
                        return None;
                    }
                },
                changed = self.settled.changed() => if changed.is_err() {
                    return None;
                },
            }
        }
    }
}

fn pieces(glimpse: Glimpse) -> Vec<wire::invoke_response::Piece> {
    match glimpse {
        Glimpse::Progress { message, fraction } => {
            let message = sizes::head(&message, PROGRESS).replace(char::is_control, " ");
            vec![wire::invoke_response::Piece::Progress(wire::Progress { message, fraction })]
        }
        Glimpse::Chunk(mut rest) => {
            let mut chunks = Vec::new();
            while rest.len() > size::CHUNK {
                let tail = rest.split_off(sizes::head(&rest, size::CHUNK).len());
                chunks.push(wire::invoke_response::Piece::Chunk(rest));
                rest = tail;
            }
            chunks.push(wire::invoke_response::Piece::Chunk(rest));
            chunks
        }
    }
}
