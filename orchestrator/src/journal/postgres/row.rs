//! The tables of rows that change, as they are read.
//!
//! Left to others: what is in them, and which changes are allowed. Next: `batch`.

use tokio_postgres::types::FromSql;
use tokio_postgres::{GenericClient, Row};

use crate::journal::chain::Hash;
use crate::journal::convert::word::{Word, parse};
use crate::journal::fault::Fault;
use crate::journal::row::{Settings, StoredClaim, StoredSession, seal_claim, seal_session};
use crate::journal::{Epoch, SessionRow};

/// The columns that [`session`] reads.
pub(super) const SESSION: &str = "s.key, s.id, s.partition, s.team, s.kind, s.agent, s.title, \
    s.state, s.wake_at_ms, s.last_seq, s.head_hash, s.opened_ms, s.updated_ms, s.seal";

/// The value of a column; one that cannot be read was changed.
pub(super) fn column<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, Fault> {
    row.try_get(index).map_err(|error| Fault::Damaged(error.to_string()))
}

/// A digest in a column.
pub(super) fn hash(row: &Row, index: usize) -> Result<Hash, Fault> {
    let bytes: &[u8] = column(row, index)?;
    bytes.try_into().map_err(|_| Fault::Damaged(format!("column {index} is no digest")))
}

/// A number that is not negative in a column.
pub(super) fn number(row: &Row, index: usize) -> Result<u64, Fault> {
    Ok(column::<i64>(row, index)?.cast_unsigned())
}

/// A small number in a column.
pub(super) fn small(row: &Row, index: usize) -> Result<u32, Fault> {
    let number: i64 = column(row, index)?;
    u32::try_from(number).map_err(|_| Fault::Damaged(format!("column {index} is out of range")))
}

fn word<W: Word>(row: &Row, index: usize) -> Result<W, Fault> {
    parse(column(row, index)?).map_err(|error| Fault::Damaged(error.to_string()))
}

/// The journal's own row, unless its seal does not fit.
pub(super) async fn settings(client: &impl GenericClient) -> Result<Option<Settings>, Fault> {
    let sql = "SELECT schema, generation, partitions, seal FROM callboard.journal";
    let Some(row) = client.query_opt(sql, &[]).await? else { return Ok(None) };
    let settings = Settings {
        schema: small(&row, 0)?,
        generation: number(&row, 1)?,
        partitions: small(&row, 2)?,
    };
    let seal = hash(&row, 3)?;
    Ok(Some(settings).filter(|settings| settings.seal() == seal))
}

/// Stores the journal's own row.
pub(super) async fn store_settings(
    client: &impl GenericClient,
    settings: &Settings,
) -> Result<(), Fault> {
    let sql = "INSERT INTO callboard.journal (one, schema, generation, partitions, seal)
        VALUES (1, $1, $2, $3, $4) ON CONFLICT (one) DO UPDATE SET schema = excluded.schema,
        generation = excluded.generation, partitions = excluded.partitions, seal = excluded.seal";
    let (schema, partitions) = (i64::from(settings.schema), i64::from(settings.partitions));
    let generation = settings.generation.cast_signed();
    client.execute(sql, &[&schema, &generation, &partitions, &&settings.seal()[..]]).await?;
    Ok(())
}

/// A session from a row that starts with [`SESSION`].
pub(super) fn session(row: &Row) -> Result<StoredSession, Fault> {
    let session = SessionRow {
        id: column::<&str>(row, 1)?.into(),
        partition: small(row, 2)?,
        team: column(row, 3)?,
        kind: word(row, 4)?,
        agent: column(row, 5)?,
        title: column(row, 6)?,
        state: word(row, 7)?,
        wake_at_ms: column(row, 8)?,
        last_seq: number(row, 9)?,
        opened_ms: column(row, 11)?,
        updated_ms: column(row, 12)?,
    };
    let (head, seal) = (hash(row, 10)?, hash(row, 13)?);
    let is_sealed = seal == seal_session(&session, &head);
    Ok(StoredSession { key: column(row, 0)?, row: session, head, is_sealed })
}

/// The session called `id`.
pub(super) async fn find(
    client: &impl GenericClient,
    id: &str,
) -> Result<Option<StoredSession>, Fault> {
    let sql = format!("SELECT {SESSION} FROM session s WHERE s.id = $1");
    let row = client.query_opt(&sql, &[&id]).await?;
    row.as_ref().map(session).transpose()
}

/// A partition's number and claim.
pub(super) fn claim(row: &Row) -> Result<(u32, StoredClaim), Fault> {
    let partition = small(row, 0)?;
    let epoch = Epoch { generation: number(row, 1)?, revision: number(row, 2)? };
    let owner: String = column(row, 3)?;
    let is_sealed = hash(row, 4)? == seal_claim(partition, epoch, &owner);
    Ok((partition, StoredClaim { epoch, owner, is_sealed }))
}
