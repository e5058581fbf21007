//! What SQLite's errors mean here: try later, leave one session alone, or stop for good.
//!
//! Left to others: whom to tell. Next: `chain`.

use rusqlite::{Error, ErrorCode, ffi};

use super::{AppendError, JournalError};

/// A failure of the database.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// No space; nothing was written.
    Full(String),
    /// The disk failed while writing. What was written cannot be known any more: after a failed
    /// sync the kernel may report the next one as done although the data is gone.
    Write(String),
    /// What is stored cannot be read, or is not what was stored.
    Damaged(String),
    /// Another process holds a lock.
    Busy(String),
    /// Anything else; nothing was written.
    Other(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::SqliteFailure(failure, _) => from_code(failure, text),
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..) => Self::Damaged(text),
            _ => Self::Other(text),
        }
    }
}

fn from_code(failure: ffi::Error, text: String) -> Fault {
    match failure.code {
        ErrorCode::DiskFull => Fault::Full(text),
        ErrorCode::SystemIoFailure => match failure.extended_code {
            // The index of the log could not grow; the log itself was not touched.
            ffi::SQLITE_IOERR_SHMSIZE => Fault::Full(text),
            ffi::SQLITE_IOERR_READ | ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS => {
                Fault::Damaged(text)
            }
            ffi::SQLITE_IOERR_NOMEM => Fault::Other(text),
            _ => Fault::Write(text),
        },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Fault::Damaged(text),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            Fault::Busy(format!("{text} by another process"))
        }
        _ => Fault::Other(text),
    }
}

impl From<Fault> for AppendError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Full(text) => Self::Full(text),
            Fault::Write(_) => Self::Closed,
            Fault::Damaged(_) => Self::Conflict,
            Fault::Busy(text) | Fault::Other(text) => Self::Backend(text),
        }
    }
}

impl From<Fault> for JournalError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Full(text) => Self::Full(text),
            Fault::Write(_) => Self::Closed,
            Fault::Damaged(text) | Fault::Busy(text) | Fault::Other(text) => Self::Backend(text),
        }
    }
}
