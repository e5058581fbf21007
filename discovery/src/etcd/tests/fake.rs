//! Plays an etcd that tells lies no real one can be made to tell on demand: it lists what it is told
//! to list and streams what it is told to stream.

use std::{net::Ipv4Addr, pin::Pin, sync::Arc};

use futures_util::Stream;
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc, watch},
    task::JoinSet,
};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status, Streaming, transport::Server};

use crate::etcd::wire::{
    etcdserverpb::{
        RangeRequest, RangeResponse, ResponseHeader, TxnRequest, TxnResponse, WatchRequest,
        WatchResponse,
        kv_server::{Kv, KvServer},
        watch_request::RequestUnion,
        watch_server::{Watch, WatchServer},
    },
    mvccpb::KeyValue,
};

type Answer = Result<WatchResponse, Status>;

/// The first revision that is watched for, and where to stream to.
type Opened = (i64, mpsc::Sender<Answer>);

/// What the fake answers to a list of any prefix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    pub(crate) revision: i64,
    pub(crate) kvs: Vec<KeyValue>,
}

pub(crate) struct Fake {
    url: String,
    pub(crate) store: watch::Sender<Store>,
    /// Each watch that was opened for services.
    pub(crate) watches: mpsc::Receiver<Opened>,
    _task: JoinSet<()>,
}

struct Service {
    store: watch::Receiver<Store>,
    opened: Arc<Mutex<mpsc::Sender<Opened>>>,
}

impl Fake {
    pub(crate) async fn start(first: Store) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let store = watch::Sender::new(first);
        let (opened, watches) = mpsc::channel(16);
        let opened = Arc::new(Mutex::new(opened));
        let service = || Service { store: store.subscribe(), opened: Arc::clone(&opened) };
        let server = Server::builder()
            .add_service(KvServer::new(service()))
            .add_service(WatchServer::new(service()))
            .serve_with_incoming(TcpListenerStream::new(listener));
        let mut task = JoinSet::new();
        task.spawn(async move { server.await.unwrap() });
        Self { url, store, watches, _task: task }
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }
}

#[tonic::async_trait]
impl Kv for Service {
    async fn range(
        &self,
        request: Request<RangeRequest>,
    ) -> Result<Response<RangeResponse>, Status> {
        let asked = request.into_inner();
        let store = self.store.borrow().clone();
        let kvs =
            store.kvs.into_iter().filter(|kv| kv.key >= asked.key && kv.key < asked.range_end);
        let header = Some(ResponseHeader { revision: store.revision });
        Ok(Response::new(RangeResponse { header, kvs: kvs.collect(), more: false }))
    }

    async fn txn(&self, _: Request<TxnRequest>) -> Result<Response<TxnResponse>, Status> {
        Err(Status::unimplemented("nothing is written here"))
    }
}

#[tonic::async_trait]
impl Watch for Service {
    type WatchStream = Pin<Box<dyn Stream<Item = Answer> + Send>>;

    async fn watch(
        &self,
        request: Request<Streaming<WatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let first = request.into_inner().message().await?;
        let Some(RequestUnion::CreateRequest(create)) = first.and_then(|it| it.request_union)
        else {
            return Err(Status::invalid_argument("no create request"));
        };
        if create.key.ends_with(b"/partitions/") {
            return Ok(Response::new(Box::pin(futures_util::stream::pending())));
        }
        let (sender, receiver) = mpsc::channel(16);
        sender.send(Ok(WatchResponse { created: true, ..Default::default() })).await.unwrap();
        let opened = self.opened.lock().await;
        opened.send((create.start_revision, sender)).await.unwrap();
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }
}
