//! One connection to one member of the cluster. Every question has a deadline and is asked once;
//! after no answer the next question goes to the next member on a fresh connection. Asking again is
//! left to those who ask (`mirror.rs`, `keeper.rs`, `registrar.rs`), each of whom has a client of
//! its own, so that a stuck stream of one never holds up another. Next is `mirror.rs`.

use std::{error::Error as _, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Code, Request, Response, Status, Streaming,
    metadata::MetadataValue,
    transport::{Channel, Endpoint},
};

use super::{
    login::Pass,
    wire::{
        end_of,
        etcdserverpb::{
            LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse,
            LeaseRevokeRequest, RangeRequest, RangeResponse, TxnRequest, TxnResponse,
            WatchCreateRequest, WatchRequest, WatchResponse, kv_client::KvClient,
            lease_client::LeaseClient, watch_client::WatchClient, watch_request::RequestUnion,
        },
    },
};
use crate::{Error, Login};

/// A member that has not answered by then is given up for this question.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Members close connections that ask for a sign of life more often than every 5 s, or while
/// nothing is under way.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Thousands of instances in one answer.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// Keys asked for in one page.
const PAGE: i64 = 1000;

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

/// The members, and how to log in.
#[derive(Debug)]
pub(super) struct Cluster {
    members: Vec<Endpoint>,
    names: String,
    pub(super) login: Option<Login>,
}

/// A stream that answers as long as its requests stay open.
#[derive(Debug)]
pub(super) struct Dialogue<Q, A> {
    pub(super) requests: mpsc::Sender<Q>,
    pub(super) answers: Streaming<A>,
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

    /// How many members there are to try.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }
}

/// See the file's head.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) cluster: Arc<Cluster>,
    member: usize,
    pub(super) channel: Channel,
    pub(super) pass: Pass,
}

impl Client {
    pub(super) fn new(cluster: Arc<Cluster>) -> Self {
        let member = fastrand::usize(..cluster.members.len());
        let channel = cluster.members[member].connect_lazy();
        Self { cluster, member, channel, pass: Pass::default() }
    }

    /// Turns to the next member, on a fresh connection even if it is the only one.
    pub(super) fn turn(&mut self) {
        self.member = (self.member + 1) % self.cluster.members.len();
        self.channel = self.cluster.members[self.member].connect_lazy();
    }

    /// All keys that start with `prefix`, as of one revision, which the header names.
    pub(super) async fn list(&mut self, prefix: &str) -> Result<RangeResponse, Failure> {
        let mut whole: Option<RangeResponse> = None;
        let mut key = prefix.as_bytes().to_vec();
        loop {
            let revision = whole.as_ref().map_or(0, |it| it.header.unwrap_or_default().revision);
            let question = RangeRequest { key, range_end: end_of(prefix), limit: PAGE, revision };
            let page = self.ask(question, |channel, question| {
                let mut kv = KvClient::new(channel).max_decoding_message_size(MAX_ANSWER);
                Box::pin(async move { kv.range(question).await })
            });
            let page = page.await?;
            let more = page.more;
            let whole = match &mut whole {
                None => whole.insert(page),
                Some(whole) => {
                    whole.kvs.extend(page.kvs);
                    whole
                }
            };
            match whole.kvs.last() {
                Some(last) if more => key = [last.key.as_slice(), &[0]].concat(),
                _ => return Ok(std::mem::take(whole)),
            }
        }
    }

    pub(super) async fn txn(&mut self, question: TxnRequest) -> Result<TxnResponse, Failure> {
        self.ask(question, |channel, question| {
            Box::pin(async move { KvClient::new(channel).txn(question).await })
        })
        .await
    }

    pub(super) async fn grant(&mut self, ttl: Duration) -> Result<LeaseGrantResponse, Failure> {
        let seconds = i64::try_from(ttl.as_millis().div_ceil(1000)).unwrap_or(i64::MAX);
        self.ask(LeaseGrantRequest { ttl: seconds }, |channel, question| {
            Box::pin(async move { LeaseClient::new(channel).lease_grant(question).await })
        })
        .await
    }

    pub(super) async fn revoke(&mut self, lease: i64) -> Result<(), Failure> {
        self.ask(LeaseRevokeRequest { id: lease }, |channel, question| {
            Box::pin(async move { LeaseClient::new(channel).lease_revoke(question).await })
        })
        .await
        .map(|_| ())
    }

    /// Opens the stream of keep-alives and sends the first.
    pub(super) async fn keep_alive(
        &mut self,
        lease: i64,
    ) -> Result<Dialogue<LeaseKeepAliveRequest, LeaseKeepAliveResponse>, Failure> {
        self.open(LeaseKeepAliveRequest { id: lease }, |channel, questions| {
            Box::pin(async move { LeaseClient::new(channel).lease_keep_alive(questions).await })
        })
        .await
    }

    /// Opens the stream of changes to keys that start with `prefix`.
    pub(super) async fn watch(
        &mut self,
        prefix: &str,
        from_revision: i64,
    ) -> Result<Dialogue<WatchRequest, WatchResponse>, Failure> {
        let create = WatchCreateRequest {
            key: prefix.as_bytes().to_vec(),
            range_end: end_of(prefix),
            start_revision: from_revision,
            progress_notify: true,
            fragment: true,
        };
        let create = WatchRequest { request_union: Some(RequestUnion::CreateRequest(create)) };
        self.open(create, |channel, questions| {
            let mut watch = WatchClient::new(channel).max_decoding_message_size(MAX_ANSWER);
            Box::pin(async move { watch.watch(questions).await })
        })
        .await
    }

    /// One question, one answer; logs in where that is wanted, and anew if the token has aged.
    async fn ask<Q, A>(&mut self, question: Q, send: Send<Q, A>) -> Result<A, Failure>
    where
        Q: Clone,
    {
        loop {
            let request = self.request(question.clone()).await?;
            match answer(send(self.channel.clone(), request)).await {
                Ok(answer) => return Ok(answer),
                Err(status) if self.pass.renew(&self.cluster, &status) => {}
                Err(status) => return Err(self.fail(&status)),
            }
        }
    }

    async fn open<Q: std::marker::Send + 'static, A>(
        &mut self,
        first: Q,
        send: Send<ReceiverStream<Q>, Streaming<A>>,
    ) -> Result<Dialogue<Q, A>, Failure> {
        let (requests, receiver) = mpsc::channel(2);
        let mut request = self.request(ReceiverStream::new(receiver)).await?;
        // A member that is cut off from the others ends the stream instead of keeping silent.
        request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
        // The channel is fresh and holds two.
        let _ = requests.try_send(first);
        match answer(send(self.channel.clone(), request)).await {
            Ok(answers) => Ok(Dialogue { requests, answers }),
            Err(status) => Err(self.fail(&status)),
        }
    }

    /// What a failed question means, and what follows from it for the next one.
    pub(super) fn fail(&mut self, status: &Status) -> Failure {
        let failure = failure(status);
        match failure {
            Failure::Away(_) => self.turn(),
            Failure::Denied(_) => self.pass.forget(),
            Failure::LeaseEnded | Failure::Answer(_) => {}
        }
        failure
    }
}

type Send<Q, A> = fn(Channel, Request<Q>) -> BoxFuture<'static, Result<Response<A>, Status>>;

pub(super) async fn answer<A>(
    asked: BoxFuture<'_, Result<Response<A>, Status>>,
) -> Result<A, Status> {
    match timeout(ANSWER_TIMEOUT, asked).await {
        Ok(answer) => answer.map(Response::into_inner),
        Err(_) => Err(Status::deadline_exceeded("no answer within 3 s")),
    }
}

/// By code alone: etcd's texts are for people.
fn failure(status: &Status) -> Failure {
    let mut reason = status.message().to_owned();
    let mut source = status.source();
    while let Some(error) = source {
        reason = error.to_string();
        source = error.source();
    }
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => Failure::Denied(reason),
        Code::NotFound => Failure::LeaseEnded,
        Code::InvalidArgument
        | Code::FailedPrecondition
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::AlreadyExists
        | Code::DataLoss => Failure::Answer(reason),
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::DeadlineExceeded
        | Code::ResourceExhausted
        | Code::Aborted
        | Code::Internal
        | Code::Unavailable => Failure::Away(reason),
    }
}
