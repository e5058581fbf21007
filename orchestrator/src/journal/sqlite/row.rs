//! The tables of rows that change.
//!
//! Left to others: what is in them, and which changes are allowed. Next: `blob`.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::journal::chain::Hash;
use crate::journal::convert::word::{Word, parse};
use crate::journal::fault::Fault;
use crate::journal::row::{Settings, StoredClaim, StoredSession, seal_claim, seal_session};
use crate::journal::{Epoch, SessionRow};

impl Settings {
    /// The row, unless its seal does not fit.
    pub(super) fn find(connection: &Connection) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT schema, generation, partitions, seal FROM journal";
        let mut statement = connection.prepare_cached(sql)?;
        let (settings, seal): (Self, Hash) = statement.query_row([], |row| {
            let generation = row.get::<_, i64>(1)?.cast_unsigned();
            Ok((Self { schema: row.get(0)?, generation, partitions: row.get(2)? }, row.get(3)?))
        })?;
        Ok(Some(settings).filter(|settings| settings.seal() == seal))
    }

    /// Stores the row.
    pub(super) fn store(&self, connection: &Connection) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO journal (one, schema, generation, partitions, seal)
            VALUES (1, ?, ?, ?, ?)";
        let generation = self.generation.cast_signed();
        let values = params![self.schema, generation, self.partitions, self.seal()];
        connection.execute(sql, values)?;
        Ok(())
    }
}

impl StoredSession {
    /// The session called `id`.
    pub(super) fn find(connection: &Connection, id: &str) -> Result<Option<Self>, Fault> {
        let mut statement = connection.prepare_cached("SELECT * FROM session WHERE id = ?")?;
        Ok(statement.query_row([id], Self::from_row).optional()?)
    }

    /// Reads a row of `SELECT * FROM session`.
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let session = SessionRow {
            id: row.get::<_, String>(1)?.into(),
            partition: row.get(2)?,
            team: row.get(3)?,
            kind: word(row, 4)?,
            agent: row.get(5)?,
            title: row.get(6)?,
            state: word(row, 7)?,
            wake_at_ms: row.get(8)?,
            last_seq: row.get::<_, i64>(9)?.cast_unsigned(),
            opened_ms: row.get(11)?,
            updated_ms: row.get(12)?,
        };
        let (head, seal): (Hash, Hash) = (row.get(10)?, row.get(13)?);
        let is_sealed = seal == seal_session(&session, &head);
        Ok(Self { key: row.get(0)?, row: session, head, is_sealed })
    }

    /// Stores a session that is not there yet; gives its key.
    pub(super) fn insert(
        connection: &Connection,
        row: &SessionRow,
        head: &Hash,
    ) -> Result<i64, Fault> {
        let sql = "INSERT INTO session (id, partition, team, kind, agent, title, state, wake_at_ms,
            last_seq, head_hash, opened_ms, updated_ms, seal)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        connection.prepare_cached(sql)?.execute(params![
            row.id.as_str(),
            row.partition,
            row.team,
            row.kind.word(),
            row.agent,
            row.title,
            row.state.word(),
            row.wake_at_ms,
            row.last_seq.cast_signed(),
            head,
            row.opened_ms,
            row.updated_ms,
            seal_session(row, head),
        ])?;
        Ok(connection.last_insert_rowid())
    }

    /// Stores what an append changes of a session.
    pub(super) fn update(
        connection: &Connection,
        key: i64,
        row: &SessionRow,
        head: &Hash,
    ) -> Result<(), Fault> {
        let sql = "UPDATE session SET state = ?, wake_at_ms = ?, last_seq = ?, head_hash = ?,
            updated_ms = ?, seal = ? WHERE key = ?";
        connection.prepare_cached(sql)?.execute(params![
            row.state.word(),
            row.wake_at_ms,
            row.last_seq.cast_signed(),
            head,
            row.updated_ms,
            seal_session(row, head),
            key,
        ])?;
        Ok(())
    }
}

impl StoredClaim {
    /// The claim of `partition`.
    pub(super) fn find(connection: &Connection, partition: u32) -> Result<Option<Self>, Fault> {
        let sql = "SELECT id, generation, revision, owner, seal FROM partition WHERE id = ?";
        let mut statement = connection.prepare_cached(sql)?;
        let found = statement.query_row([partition], |row| Ok(Self::from_row(row)?.1)).optional();
        Ok(found?)
    }

    /// Reads a partition's number and claim from a row of `SELECT * FROM partition`.
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<(u32, Self)> {
        let partition = row.get(0)?;
        let epoch = Epoch {
            generation: row.get::<_, i64>(1)?.cast_unsigned(),
            revision: row.get::<_, i64>(2)?.cast_unsigned(),
        };
        let owner: String = row.get(3)?;
        let seal: Hash = row.get(4)?;
        let is_sealed = seal == seal_claim(partition, epoch, &owner);
        Ok((partition, Self { epoch, owner, is_sealed }))
    }

    /// Stores the claim of `partition`.
    pub(super) fn store(
        connection: &Connection,
        partition: u32,
        epoch: Epoch,
        owner: &str,
    ) -> Result<(), Fault> {
        let sql = "INSERT INTO partition (id, generation, revision, owner, seal)
            VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET generation = excluded.generation,
            revision = excluded.revision, owner = excluded.owner, seal = excluded.seal";
        connection.prepare_cached(sql)?.execute(params![
            partition,
            epoch.generation.cast_signed(),
            epoch.revision.cast_signed(),
            owner,
            seal_claim(partition, epoch, owner),
        ])?;
        Ok(())
    }
}

fn word<W: Word>(row: &Row<'_>, column: usize) -> rusqlite::Result<W> {
    let word: String = row.get(column)?;
    parse(&word).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}
