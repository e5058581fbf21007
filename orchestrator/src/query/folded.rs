//! Sessions that are being told page by page, folded once for all their pages.
//!
//! A page is made of a whole session as it was at one event. Without this each page would cost as much
//! as the session is long, and all pages the square of it. What was not asked on for is let go.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    run::{ids::SessionId, state::Session},
    session::SessionError,
};

/// Sessions kept at most: each may be large.
const MOST: usize = 4;

/// How long one is kept for the next page. Whoever comes later pays for a fold.
const LASTS: Duration = Duration::from_secs(30);

/// Folded sessions of which pages are still to be told.
#[derive(Default)]
pub(crate) struct Folded {
    kept: Mutex<VecDeque<Kept>>,
}

struct Kept {
    id: SessionId,
    session: Arc<Session>,
    until: Instant,
}

impl Folded {
    /// The session up to the event `last`: as it was folded for an earlier page, else as `fold` makes it.
    ///
    /// # Errors
    /// Those of `fold`.
    pub(crate) async fn session(
        &self,
        id: &SessionId,
        last: u64,
        fold: impl Future<Output = Result<Session, SessionError>>,
    ) -> Result<Arc<Session>, SessionError> {
        let found = self.with(|kept| {
            let found = kept.iter().find(|kept| kept.id == *id && kept.session.last_seq == last);
            found.map(|kept| Arc::clone(&kept.session))
        });
        match found {
            Some(session) => Ok(session),
            None => fold.await.map(Arc::new),
        }
    }

    /// Keeps a session for its next page, or lets it go after the last one.
    pub(crate) fn told(&self, id: &SessionId, session: Arc<Session>, has_more: bool) {
        self.with(|kept| {
            kept.retain(|kept| kept.id != *id || kept.session.last_seq != session.last_seq);
            if has_more {
                let until = Instant::now() + LASTS;
                kept.push_back(Kept { id: id.clone(), session, until });
            }
            while kept.len() > MOST {
                kept.pop_front();
            }
        });
    }

    /// Lets go of a session that was removed.
    pub(crate) fn forget(&self, id: &SessionId) {
        self.with(|kept| kept.retain(|kept| kept.id != *id));
    }

    fn with<T>(&self, act: impl FnOnce(&mut VecDeque<Kept>) -> T) -> T {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        kept.retain(|kept| now < kept.until);
        act(&mut kept)
    }
}

impl fmt::Debug for Folded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Folded").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for a page; gives back whether that took a fold.
    async fn page(folded: &Folded, id: &str, last: u64, has_more: bool) -> bool {
        let id = SessionId::from(id.to_owned());
        let mut was_folded = false;
        let fold = async {
            was_folded = true;
            // Asked for as it is now, it is as it was at event 7.
            Ok(Session { last_seq: last.min(7), ..Session::default() })
        };
        let session = folded.session(&id, last, fold).await.unwrap();
        folded.told(&id, session, has_more);
        was_folded
    }

    #[tokio::test(start_paused = true)]
    async fn all_pages_of_a_listing_take_one_fold() {
        let folded = Folded::default();
        assert!(page(&folded, "a", u64::MAX, true).await, "the first page folds");
        for _ in 0..100 {
            assert!(!page(&folded, "a", 7, true).await);
        }
        assert!(page(&folded, "b", 7, true).await, "another session");
        assert!(page(&folded, "a", 6, false).await, "as it was earlier");
        assert!(!page(&folded, "a", 7, false).await, "the last page");
        assert!(page(&folded, "a", 7, true).await, "after the last page it is let go");
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_asks_on_for_is_let_go() {
        let folded = Folded::default();
        page(&folded, "a", 7, true).await;
        tokio::time::advance(LASTS).await;
        assert!(page(&folded, "a", 7, true).await, "it was too long ago");
        for id in ["b", "c", "d", "e"] {
            page(&folded, id, 7, true).await;
        }
        assert!(page(&folded, "a", 7, false).await, "there is no room for it");
        folded.forget(&SessionId::from("e".to_owned()));
        assert!(page(&folded, "e", 7, false).await, "it was removed");
        assert!(!page(&folded, "d", 7, false).await);
    }
}
