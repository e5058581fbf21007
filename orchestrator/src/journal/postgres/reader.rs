//! Reads for everyone, always against the hash chain.
//!
//! A session that is damaged is refused by name, and only that one. Next: `verify`.

use std::collections::HashMap;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, IsolationLevel, Row, Transaction};
use uuid::Uuid;

use crate::journal::chain::Hash;
use crate::journal::fault::Fault;
use crate::journal::row::StoredSession;
use crate::journal::walk::{Break, Chain, Followed, StoredEvent};
use crate::journal::{Epoch, JournalError, SessionRow};
use crate::run::event::Recorded;
use crate::run::ids::SessionId;

use super::row::{self, SESSION};

/// Events that are asked for at once.
const PAGE: usize = 512;

/// A view of the journal at one moment.
pub(super) async fn snapshot(client: &mut Client) -> Result<Transaction<'_>, Fault> {
    let transaction = client.build_transaction();
    let transaction = transaction.isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    Ok(transaction.start().await?)
}

/// Events of a session; an unknown session has none.
pub(super) async fn read(
    client: &mut Client,
    session: &SessionId,
    (after, limit): (u64, usize),
) -> Result<Vec<Recorded>, JournalError> {
    let transaction = snapshot(client).await?;
    let mut events = Vec::new();
    if let Some(stored) = find(&transaction, session).await? {
        let take = |recorded| events.push(recorded);
        let walked = walk(&transaction, &stored, (after, limit), take).await;
        walked.map_err(|broken| broken.of(session))?;
    }
    transaction.commit().await.map_err(Fault::from)?;
    Ok(events)
}

/// One session, if its row can be trusted.
pub(super) async fn session(
    client: &mut Client,
    session: &SessionId,
) -> Result<Option<SessionRow>, JournalError> {
    let transaction = snapshot(client).await?;
    let found = find(&transaction, session).await?;
    transaction.commit().await.map_err(Fault::from)?;
    Ok(found.map(|stored| stored.row))
}

async fn find(
    transaction: &Transaction<'_>,
    session: &SessionId,
) -> Result<Option<StoredSession>, JournalError> {
    let changed = |seq| Break::Damaged { seq, what: "the session's own row was changed".into() };
    match row::find(transaction, session.as_str()).await {
        Ok(Some(stored)) if !stored.is_sealed => {
            let mut good = 0;
            let take = |recorded: Recorded| good = recorded.seq;
            // How it ends does not matter here.
            let _ = walk(transaction, &stored, (0, usize::MAX), take).await;
            Err(changed(good + 1).of(session))
        }
        Ok(found) => Ok(found),
        Err(Fault::Damaged(_)) => Err(changed(1).of(session)),
        Err(fault) => Err(fault.into()),
    }
}

/// Hands at most `limit` events after number `after` to `take`. What can be taken in is; then it
/// says what is wrong.
pub(super) async fn walk(
    transaction: &Transaction<'_>,
    stored: &StoredSession,
    (mut after, limit): (u64, usize),
    mut take: impl FnMut(Recorded),
) -> Result<(), Break> {
    let mut chain = Chain::new(stored);
    if after > stored.row.last_seq {
        return Ok(());
    }
    if after > 0 {
        let link = chain.seen(link_at(transaction, stored.key, after).await)?;
        chain = Chain::at(stored, after, link)?;
    }
    let mut left = limit;
    while left > 0 {
        let wanted = left.min(PAGE);
        let page = chain.seen(page(transaction, stored.key, (after, wanted)).await)?;
        let followed = follow(&mut chain, &page);
        let texts = chain.seen(texts(transaction, &followed.events).await)?;
        for event in followed.events {
            let digest = event.wanted()?;
            let content = digest.and_then(|digest| texts.get(&digest).cloned());
            take(event.complete(content)?);
            after += 1;
        }
        if let Some(broken) = followed.broken {
            return Err(broken);
        }
        left -= wanted;
        if page.len() < wanted {
            return chain.end();
        }
    }
    Ok(())
}

/// The events of a page up to the first that does not follow.
struct Page {
    events: Vec<Followed>,
    broken: Option<Break>,
}

fn follow(chain: &mut Chain<'_>, rows: &[Row]) -> Page {
    let mut page = Page { events: Vec::with_capacity(rows.len()), broken: None };
    for row in rows {
        match chain.seen(event(row)).and_then(|event| chain.follow(&event)) {
            Ok(followed) => page.events.push(followed),
            Err(broken) => {
                page.broken = Some(broken);
                break;
            }
        }
    }
    page
}

async fn page(
    transaction: &Transaction<'_>,
    key: i64,
    (after, limit): (u64, usize),
) -> Result<Vec<Row>, Fault> {
    let sql = "SELECT seq, generation, revision, append_id, type, schema, wall_ms, payload,
        prev_hash, hash FROM event WHERE session = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(transaction.query(sql, &[&key, &after.cast_signed(), &limit]).await?)
}

/// The shared texts that events lack, by digest.
async fn texts(
    transaction: &Transaction<'_>,
    events: &[Followed],
) -> Result<HashMap<Hash, Vec<u8>>, Fault> {
    // A digest that cannot be read is found again where its event is completed.
    let wanted: Vec<Hash> = events.iter().filter_map(|event| event.wanted().ok()?).collect();
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let digests: Vec<&[u8]> = wanted.iter().map(|digest| &digest[..]).collect();
    let sql = "SELECT digest, content FROM blob WHERE digest = ANY($1)";
    let rows = transaction.query(sql, &[&digests]).await?;
    rows.iter().map(|row| Ok((row::hash(row, 0)?, row::column(row, 1)?))).collect()
}

async fn link_at(transaction: &Transaction<'_>, key: i64, seq: u64) -> Result<Option<Hash>, Fault> {
    let sql = "SELECT hash FROM event WHERE session = $1 AND seq = $2";
    let row = transaction.query_opt(sql, &[&key, &seq.cast_signed()]).await?;
    row.as_ref().map(|row| row::hash(row, 0)).transpose()
}

/// A row of the table `event`.
fn event(row: &Row) -> Result<StoredEvent<'_>, Fault> {
    let append_id = Uuid::from_slice(row::column(row, 3)?);
    Ok(StoredEvent {
        seq: row::number(row, 0)?,
        epoch: Epoch { generation: row::number(row, 1)?, revision: row::number(row, 2)? },
        append_id: append_id.map_err(|error| Fault::Damaged(error.to_string()))?,
        kind: row::column(row, 4)?,
        schema: row::small(row, 5)?,
        wall_ms: row::column(row, 6)?,
        payload: row::column(row, 7)?,
        previous: row::hash(row, 8)?,
        link: row::hash(row, 9)?,
    })
}

/// Sessions by a condition on their rows; those that cannot be trusted are left out.
pub(super) async fn list(
    client: &Client,
    condition: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<SessionRow>, Fault> {
    let sql = format!("SELECT {SESSION} FROM session s WHERE {condition}");
    let mut sessions = Vec::new();
    for row in client.query(&sql, values).await? {
        match row::session(&row) {
            Ok(stored) if stored.is_sealed => sessions.push(stored.row),
            Ok(stored) => tracing::warn!(session = %stored.row.id, "damaged session left out"),
            Err(error) => tracing::warn!(?error, "damaged session left out"),
        }
    }
    Ok(sessions)
}
