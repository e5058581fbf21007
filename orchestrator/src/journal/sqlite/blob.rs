//! The table of texts that many runs share.
//!
//! Left to others: which texts those are. Next: `claim`.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::journal::blob::Blob;
use crate::journal::chain::Hash;
use crate::journal::fault::Fault;

/// Stores a text unless it is there.
pub(super) fn store(connection: &Connection, blob: &Blob) -> Result<(), Fault> {
    let sql = "INSERT INTO blob (digest, content) VALUES (?, ?) ON CONFLICT DO NOTHING";
    let content = blob.content.as_bytes();
    connection.prepare_cached(sql)?.execute(params![blob.digest, content])?;
    Ok(())
}

/// The text under a digest.
pub(super) fn find(connection: &Connection, digest: &Hash) -> Result<Option<Vec<u8>>, Fault> {
    let mut statement = connection.prepare_cached("SELECT content FROM blob WHERE digest = ?")?;
    Ok(statement.query_row([digest], |row| row.get(0)).optional()?)
}
