//! What PostgreSQL's errors mean here.
//!
//! Left to others: whom to tell.

use std::error::Error as _;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::journal::fault::Fault;

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let text = describe(&error);
        if let Some(code) = error.code() {
            return from_state(code, text);
        }
        match io_source(&error) {
            Some(source) if is_about_trust(source) => Self::Other(format!(
                "{text}; name the CA of the server's certificate in `orchestrator.journal.ca_file`"
            )),
            Some(_) => Self::Unreachable(text),
            None if error.is_closed() => Self::Unreachable(text),
            None => Self::Other(text),
        }
    }
}

fn from_state(code: &SqlState, text: String) -> Fault {
    match *code {
        SqlState::DISK_FULL => Fault::Full(text),
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::TOO_MANY_CONNECTIONS
        | SqlState::READ_ONLY_SQL_TRANSACTION
        | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => Fault::Unreachable(text),
        SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::LOCK_NOT_AVAILABLE
        | SqlState::QUERY_CANCELED => Fault::Busy(text),
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => Fault::Damaged(text),
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => Fault::Other(
            format!("{text}; check the user and the password in `orchestrator.journal.url`"),
        ),
        SqlState::INVALID_CATALOG_NAME => Fault::Other(format!("{text}; create it first")),
        SqlState::INSUFFICIENT_PRIVILEGE => Fault::Other(format!(
            "{text}; grant the user CREATE on the database, or make the schema `callboard` its own"
        )),
        // Class 08: the connection broke.
        ref other if other.code().starts_with("08") => Fault::Unreachable(text),
        _ => Fault::Other(text),
    }
}

/// The innermost of an error's sources says what happened; PostgreSQL's own words where it spoke.
fn describe(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    if error.is_closed() {
        return "the connection broke".to_owned();
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = inner.to_string();
        source = inner.source();
    }
    if text == "database does not allow writes" {
        return "it takes no writes: it is a standby, or set to read only".to_owned();
    }
    text
}

fn io_source(error: &Error) -> Option<&io::Error> {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(found) = inner.downcast_ref() {
            return Some(found);
        }
        source = inner.source();
    }
    None
}

fn is_about_trust(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>)
}
