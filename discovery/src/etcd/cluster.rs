//! The members of the cluster, how they are called, and what their refusals mean. Asking them is
//! `client.rs`.

use std::{error::Error as _, time::Duration};

use tonic::{
    Code, Status,
    transport::{Channel, Endpoint},
};

use crate::{Error, Login};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Members close connections that ask for a sign of life more often than every 5 s, or while
/// nothing is under way.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The members, and how to log in.
#[derive(Debug)]
pub(super) struct Cluster {
    members: Vec<Endpoint>,
    names: String,
    pub(super) login: Option<Login>,
}

/// Why a question has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Failure {
    /// Nobody answered: it heals when the cluster does.
    #[error("{0}")]
    Away(String),
    /// The user may not, or its token is too old.
    #[error("{0}")]
    Denied(String),
    /// The lease has ended.
    #[error("the lease has ended")]
    LeaseEnded,
    /// Any other answer that is none.
    #[error("{0}")]
    Answer(String),
}

impl Cluster {
    pub(super) fn new(endpoints: &[String], login: Option<Login>) -> Result<Self, Error> {
        let refuse = |reason| Err(Error::Setting { key: "etcd endpoints", reason });
        if endpoints.is_empty() {
            return refuse("none is given; write http://host:2379".to_owned());
        }
        let mut members = Vec::new();
        for endpoint in endpoints {
            if !endpoint.starts_with("http://") {
                let reason = format!("`{endpoint}` is not of the form http://host:port");
                return refuse(reason);
            }
            match Endpoint::from_shared(endpoint.clone()) {
                Ok(member) => members.push(
                    member
                        .connect_timeout(CONNECT_TIMEOUT)
                        .tcp_nodelay(true)
                        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
                        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT),
                ),
                Err(error) => return refuse(format!("`{endpoint}` cannot be called: {error}")),
            }
        }
        Ok(Self { members, names: endpoints.join(", "), login })
    }

    /// The failure in the words of the crate.
    pub(super) fn error(&self, failure: Failure) -> Error {
        match failure {
            Failure::Away(reason) => Error::Unavailable { endpoints: self.names.clone(), reason },
            Failure::Denied(reason) => Error::Denied { reason },
            Failure::LeaseEnded | Failure::Answer(_) => Error::Answer(failure.to_string()),
        }
    }

    /// A fresh connection to a member, made at the first question.
    pub(super) fn connect(&self, member: usize) -> Channel {
        self.members[member % self.members.len()].connect_lazy()
    }

    /// How many members there are to try.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }
}

/// By code alone: etcd's texts are for people.
impl From<&Status> for Failure {
    fn from(status: &Status) -> Self {
        let mut reason = status.message().to_owned();
        let mut source = status.source();
        while let Some(error) = source {
            reason = error.to_string();
            source = error.source();
        }
        match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => Self::Denied(reason),
            Code::NotFound => Self::LeaseEnded,
            Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::AlreadyExists
            | Code::DataLoss => Self::Answer(reason),
            Code::Ok
            | Code::Cancelled
            | Code::Unknown
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Internal
            | Code::Unavailable => Self::Away(reason),
        }
    }
}
