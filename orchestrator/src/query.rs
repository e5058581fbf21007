//! Questions that wake no session: what is durable, folded from the journal. Next: `folded`.

mod folded;

use std::sync::Arc;

use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

pub(crate) use self::folded::Folded;
use crate::{
    journal::{Journal, JournalError, SessionRow},
    run::{event::Recorded, ids::SessionId, state::Session},
    session::{Attached, Noted, Notice, RunTracker, SessionError, load_up_to},
};

/// Events read at once for a stream.
const PAGE: usize = 256;

/// A session of a team with all that is durable of it, up to the event `last`.
///
/// # Errors
/// [`SessionError::NotFound`], also for another team's; `Damaged` and `Journal`.
pub(crate) async fn session(
    journal: &dyn Journal,
    team: &str,
    id: &SessionId,
    last: u64,
) -> Result<(SessionRow, Session), SessionError> {
    let row = owned_row(journal, team, id).await?;
    Ok((row, fold(journal, id, last).await?))
}

/// The same of a session that was found to be the team's.
///
/// # Errors
/// [`SessionError::NotFound`], `Damaged` and `Journal`.
pub(crate) async fn fold(
    journal: &dyn Journal,
    id: &SessionId,
    last: u64,
) -> Result<Session, SessionError> {
    load_up_to(journal, id, last).await?.ok_or(SessionError::NotFound)
}

/// The row of a session of a team.
///
/// # Errors
/// [`SessionError::NotFound`], also for another team's; `Damaged` and `Journal`.
pub(crate) async fn owned_row(
    journal: &dyn Journal,
    team: &str,
    id: &SessionId,
) -> Result<SessionRow, SessionError> {
    let row = journal.session(id).await?;
    row.filter(|row| row.team == team).ok_or(SessionError::NotFound)
}

/// The facts of a session after number `after`, first those that were durable when it was attached
/// to, then what comes.
pub(crate) fn facts(
    journal: Arc<dyn Journal>,
    id: SessionId,
    after: u64,
    attached: Attached,
) -> impl Stream<Item = Result<Notice, SessionError>> + Send {
    let Attached { durable, notices } = attached;
    earlier(journal, id, after, durable).chain(live(notices, after))
}

/// The facts of a session that is refused, as far as they can be read, and then why there are no more.
pub(crate) fn remains(
    journal: Arc<dyn Journal>,
    id: SessionId,
    after: u64,
    why: SessionError,
) -> impl Stream<Item = Result<Notice, SessionError>> + Send {
    // Where the journal itself says why, that is it.
    let facts = earlier(journal, id, after, u64::MAX);
    let mut is_over = false;
    let told = facts.chain(stream::once(std::future::ready(Err(why))));
    told.take_while(move |notice| {
        let goes_on = !is_over;
        is_over = notice.is_err();
        std::future::ready(goes_on)
    })
}

/// The next events after number `read`, up to the first that cannot be read.
///
/// # Errors
/// `Damaged` if that is the very next one, and `Journal`.
pub(crate) async fn readable(
    journal: &dyn Journal,
    id: &SessionId,
    read: u64,
) -> Result<Vec<Recorded>, SessionError> {
    match journal.read(id, read, PAGE).await {
        Err(JournalError::Damaged { seq, .. } | JournalError::Unknown { seq, .. })
            if seq > read + 1 =>
        {
            let good = usize::try_from(seq - 1 - read).unwrap_or(PAGE).min(PAGE);
            Ok(journal.read(id, read, good).await?)
        }
        other => Ok(other?),
    }
}

fn live(
    notices: mpsc::Receiver<Notice>,
    after: u64,
) -> impl Stream<Item = Result<Notice, SessionError>> + Send {
    let is_new = move |notice: &Notice| match notice {
        Notice::Fact(noted) => noted.recorded.seq > after,
        Notice::Glimpse(_) | Notice::Ended(_) => true,
    };
    ReceiverStream::new(notices).filter(move |n| std::future::ready(is_new(n))).map(Ok)
}

/// Reads from the first event on, since only that tells which run an event belongs to.
fn earlier(
    journal: Arc<dyn Journal>,
    id: SessionId,
    after: u64,
    up_to: u64,
) -> impl Stream<Item = Result<Notice, SessionError>> + Send {
    let start = (0_u64, RunTracker::default());
    let pages = stream::try_unfold(start, move |(read, mut tracker)| {
        let (journal, id) = (Arc::clone(&journal), id.clone());
        async move {
            if read >= up_to {
                return Ok::<_, SessionError>(None);
            }
            let mut page = readable(&*journal, &id, read).await?;
            page.retain(|recorded| recorded.seq <= up_to);
            let Some(last) = page.last().map(|recorded| recorded.seq) else { return Ok(None) };
            let notices: Vec<_> = page
                .into_iter()
                .filter_map(|recorded| {
                    let run = tracker.run_of(&recorded.event);
                    let noted = Noted { recorded: Arc::new(recorded), run };
                    (noted.recorded.seq > after).then_some(Notice::Fact(noted))
                })
                .collect();
            Ok(Some((notices, (last, tracker))))
        }
    });
    pages.flat_map(|page| match page {
        Ok(notices) => stream::iter(notices.into_iter().map(Ok).collect::<Vec<_>>()),
        Err(error) => stream::iter(vec![Err(error)]),
    })
}
