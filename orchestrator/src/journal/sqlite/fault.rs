//! What SQLite's errors mean here.
//!
//! Left to others: whom to tell. Next: `lock`.

use rusqlite::{Error, ErrorCode, ffi};

use crate::journal::fault::Fault;

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
