//! Writes a planned batch with one statement, so that no transaction ever waits for a client: a
//! stopped owner that held a row's lock would keep the next one from claiming.
//!
//! Left to others: what is in the batch. Next: `writer`.

use std::collections::{HashMap, HashSet};

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use crate::journal::convert;
use crate::journal::convert::word::Word as _;
use crate::journal::fault::Fault;
use crate::journal::row::seal_session;

use super::batch::{Change, Known};
use super::row::{self, SESSION};

/// `own` are the partitions that are still ours; their rows stay locked until the commit, so that a
/// claim waits for it. Sessions that are not where the caller thinks they are drop out alone.
const APPEND: &str = "
WITH own AS MATERIALIZED (
  SELECT p.id FROM partition p
    JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[])
         AS o (id, generation, revision, seal)
      ON (p.id, p.generation, p.revision, p.seal) = (o.id, o.generation, o.revision, o.seal)
   ORDER BY p.id FOR SHARE OF p
), changed AS (
  UPDATE session s
     SET state = c.state, wake_at_ms = c.wake_at_ms, last_seq = c.last_seq,
         head_hash = c.head_hash, updated_ms = c.updated_ms, seal = c.seal
    FROM unnest($5::bigint[], $6::bigint[], $7::bytea[], $8::bigint[], $9::text[], $10::bigint[],
                $11::bigint[], $12::bytea[], $13::bigint[], $14::bytea[])
         AS c (key, old_seq, old_hash, partition, state, wake_at_ms, last_seq, head_hash,
               updated_ms, seal)
    JOIN own ON own.id = c.partition
   WHERE s.key = c.key AND s.last_seq = c.old_seq AND s.head_hash = c.old_hash
     AND s.partition = c.partition
  RETURNING s.id, s.key
), opened AS (
  INSERT INTO session (id, partition, team, kind, agent, title, state, wake_at_ms, last_seq,
                       head_hash, opened_ms, updated_ms, seal)
  SELECT n.id, n.partition, n.team, n.kind, n.agent, n.title, n.state, n.wake_at_ms, n.last_seq,
         n.head_hash, n.opened_ms, n.updated_ms, n.seal
    FROM unnest($15::text[], $16::bigint[], $17::text[], $18::text[], $19::text[], $20::text[],
                $21::text[], $22::bigint[], $23::bigint[], $24::bytea[], $25::bigint[],
                $26::bigint[], $27::bytea[]) WITH ORDINALITY
         AS n (id, partition, team, kind, agent, title, state, wake_at_ms, last_seq, head_hash,
               opened_ms, updated_ms, seal, place)
    JOIN own ON own.id = n.partition
   ORDER BY n.place
  ON CONFLICT (id) DO NOTHING
  RETURNING id, key
), done AS (
  SELECT id, key FROM changed UNION ALL SELECT id, key FROM opened
), texts AS (
  INSERT INTO blob (digest, content)
  SELECT digest, content FROM unnest($28::bytea[], $29::bytea[]) AS t (digest, content)
  ON CONFLICT DO NOTHING
), events AS (
  INSERT INTO event (session, seq, generation, revision, append_id, type, schema, wall_ms, payload,
                     prev_hash, hash)
  SELECT done.key, e.seq, e.generation, e.revision, e.append_id, e.type, e.schema, e.wall_ms,
         e.payload, e.prev_hash, e.hash
    FROM unnest($30::text[], $31::bigint[], $32::bigint[], $33::bigint[], $34::bytea[],
                $35::text[], $36::bigint[], $37::bigint[], $38::bytea[], $39::bytea[],
                $40::bytea[])
         AS e (session, seq, generation, revision, append_id, type, schema, wall_ms, payload,
               prev_hash, hash)
    JOIN done ON done.id = e.session
)
SELECT id, key FROM done UNION ALL SELECT NULL, id FROM own";

/// A partition of the batch and what its row must hold.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) partition: u32,
    pub(super) claim: super::writer::Claimed,
}

/// What a statement did.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// The sessions that were written, with their keys.
    pub(super) sessions: HashMap<String, i64>,
    /// The partitions that were still ours.
    pub(super) own: HashSet<u32>,
}

/// Prepares the statement for a connection.
pub(super) async fn prepare(client: &Client) -> Result<Statement, Fault> {
    Ok(client.prepare(APPEND).await?)
}

/// What the journal has of `sessions`; one that it does not have is not in the answer.
pub(super) async fn known(
    client: &Client,
    sessions: &[&str],
) -> Result<HashMap<String, Known>, Fault> {
    let sql = format!(
        "SELECT {SESSION}, e.hash FROM session s
           LEFT JOIN event e ON e.session = s.key AND e.seq = s.last_seq
          WHERE s.id = ANY($1)"
    );
    let mut found = HashMap::new();
    for row in client.query(&sql, &[&sessions]).await? {
        let id: String = row::column(&row, 1)?;
        // The head is compared with the event itself: a changed head would break the chain for
        // good.
        let known = match (row::session(&row), row::hash(&row, 14)) {
            (Ok(stored), Ok(link)) if stored.is_sealed && link == stored.head => {
                Known::Stored(stored)
            }
            _ => Known::Damaged,
        };
        found.insert(id, known);
    }
    Ok(found)
}

/// The appends that events came with.
pub(super) async fn append_ids(
    client: &Client,
    events: &[(&str, u64)],
) -> Result<HashMap<(String, u64), Uuid>, Fault> {
    if events.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = "SELECT s.id, e.seq, e.append_id
        FROM unnest($1::text[], $2::bigint[]) AS q (session, seq)
        JOIN session s ON s.id = q.session
        JOIN event e ON e.session = s.key AND e.seq = q.seq";
    let sessions: Vec<&str> = events.iter().map(|(session, _)| *session).collect();
    let numbers: Vec<i64> = events.iter().map(|(_, seq)| seq.cast_signed()).collect();
    let mut found = HashMap::new();
    for row in client.query(sql, &[&sessions, &numbers]).await? {
        let append_id: &[u8] = row::column(&row, 2)?;
        if let Ok(append_id) = Uuid::from_slice(append_id) {
            found.insert((row::column(&row, 0)?, row::number(&row, 1)?), append_id);
        }
    }
    Ok(found)
}

/// Writes `changes`.
pub(super) async fn write(
    client: &Client,
    statement: &Statement,
    own: &[Own],
    changes: &[Change<'_>],
) -> Result<Done, Fault> {
    let columns = Columns::new(own, changes);
    let rows = client.query(statement, &columns.all()).await?;
    let mut done = Done::default();
    for row in &rows {
        match row::column::<Option<String>>(row, 0)? {
            Some(id) => {
                done.sessions.insert(id, row::column(row, 1)?);
            }
            None => {
                done.own.insert(row::small(row, 1)?);
            }
        }
    }
    Ok(done)
}

type Column<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// The statement's parameters, each a column of one of its tables.
struct Columns<'a>(Vec<Column<'a>>);

impl<'a> Columns<'a> {
    fn new(own: &'a [Own], changes: &'a [Change<'a>]) -> Self {
        let mut columns = Self(Vec::with_capacity(40));
        columns.own(own);
        columns.changed(changes);
        columns.opened(changes);
        columns.texts(changes);
        columns.events(changes);
        columns
    }

    fn all(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.0.iter().map(|column| &**column as &(dyn ToSql + Sync)).collect()
    }

    fn add<R, T: ToSql + Sync + Send + 'a>(
        &mut self,
        rows: impl IntoIterator<Item = R>,
        value: impl FnMut(R) -> T,
    ) {
        self.0.push(Box::new(rows.into_iter().map(value).collect::<Vec<T>>()));
    }

    fn own(&mut self, own: &'a [Own]) {
        self.add(own, |own| i64::from(own.partition));
        self.add(own, |own| own.claim.epoch.generation.cast_signed());
        self.add(own, |own| own.claim.epoch.revision.cast_signed());
        self.add(own, |own| &own.claim.seal[..]);
    }

    fn changed(&mut self, changes: &'a [Change<'a>]) {
        let rows: Vec<_> =
            changes.iter().filter_map(|change| Some((change.before.as_ref()?, change))).collect();
        self.add(rows.clone(), |(before, _)| before.key);
        self.add(rows.clone(), |(before, _)| before.row.last_seq.cast_signed());
        self.add(rows.clone(), |(before, _)| &before.head[..]);
        self.add(rows.clone(), |(_, change)| i64::from(change.after.partition));
        self.add(rows.clone(), |(_, change)| change.after.state.word());
        self.add(rows.clone(), |(_, change)| change.after.wake_at_ms);
        self.add(rows.clone(), |(_, change)| change.after.last_seq.cast_signed());
        self.add(rows.clone(), |(_, change)| &change.head[..]);
        self.add(rows.clone(), |(_, change)| change.after.updated_ms);
        self.add(rows, |(_, change)| seal_session(&change.after, &change.head).to_vec());
    }

    fn opened(&mut self, changes: &'a [Change<'a>]) {
        let rows: Vec<_> = changes.iter().filter(|change| change.before.is_none()).collect();
        self.add(rows.clone(), |change| change.after.id.as_str());
        self.add(rows.clone(), |change| i64::from(change.after.partition));
        self.add(rows.clone(), |change| change.after.team.as_str());
        self.add(rows.clone(), |change| change.after.kind.word());
        self.add(rows.clone(), |change| change.after.agent.as_str());
        self.add(rows.clone(), |change| change.after.title.as_str());
        self.add(rows.clone(), |change| change.after.state.word());
        self.add(rows.clone(), |change| change.after.wake_at_ms);
        self.add(rows.clone(), |change| change.after.last_seq.cast_signed());
        self.add(rows.clone(), |change| &change.head[..]);
        self.add(rows.clone(), |change| change.after.opened_ms);
        self.add(rows.clone(), |change| change.after.updated_ms);
        self.add(rows, |change| seal_session(&change.after, &change.head).to_vec());
    }

    fn texts(&mut self, changes: &'a [Change<'a>]) {
        let mut texts: Vec<_> = changes.iter().flat_map(|change| &change.blobs).collect();
        // In one order everywhere, or two processes that store the same texts wait for one another.
        texts.sort_unstable_by_key(|blob| blob.digest);
        texts.dedup_by_key(|blob| blob.digest);
        self.add(texts.clone(), |blob| &blob.digest[..]);
        self.add(texts, |blob| blob.content.as_bytes());
    }

    fn events(&mut self, changes: &'a [Change<'a>]) {
        let rows: Vec<_> = changes
            .iter()
            .flat_map(|change| change.events.iter().map(move |event| (change, event)))
            .collect();
        self.add(rows.clone(), |(change, _)| change.after.id.as_str());
        self.add(rows.clone(), |(_, event)| event.seq.cast_signed());
        self.add(rows.clone(), |(_, event)| event.epoch.generation.cast_signed());
        self.add(rows.clone(), |(_, event)| event.epoch.revision.cast_signed());
        self.add(rows.clone(), |(_, event)| &event.append_id.as_bytes()[..]);
        self.add(rows.clone(), |(_, event)| event.encoded.kind);
        self.add(rows.clone(), |_| i64::from(convert::SCHEMA));
        self.add(rows.clone(), |(_, event)| event.encoded.wall_ms);
        self.add(rows.clone(), |(_, event)| &event.encoded.payload[..]);
        self.add(rows.clone(), |(_, event)| &event.previous[..]);
        self.add(rows, |(_, event)| &event.link[..]);
    }
}
