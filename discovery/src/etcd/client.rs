//! One connection to one member of the cluster. Every question has a deadline and is asked once;
//! after no answer the next question goes to the next member on a fresh connection. Asking again is
//! left to those who ask (`mirror.rs`, `keeper.rs`, `registrar.rs`), each of whom has a client of
//! its own, so that a stuck stream of one never holds up another. Next is `mirror.rs`.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming, metadata::MetadataValue, transport::Channel};

use super::{
    cluster::{Cluster, Failure},
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

/// A member that has not answered by then is given up for this question.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// Thousands of instances in one answer.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// Keys asked for in one page.
const PAGE: i64 = 1000;

/// A stream that answers as long as its requests stay open.
#[derive(Debug)]
pub(super) struct Dialogue<Q, A> {
    pub(super) requests: mpsc::Sender<Q>,
    pub(super) answers: Streaming<A>,
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
        let member = fastrand::usize(..cluster.len());
        let channel = cluster.connect(member);
        Self { cluster, member, channel, pass: Pass::default() }
    }

    /// Turns to the next member, on a fresh connection even if it is the only one.
    pub(super) fn turn(&mut self) {
        self.member = (self.member + 1) % self.cluster.len();
        self.channel = self.cluster.connect(self.member);
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
        let failure = Failure::from(status);
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
