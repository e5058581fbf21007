//! A tool service on the other side of a socket, with the server layer in front of it.

use std::pin::Pin;

use callboard_proto::tool::{
    CancelRequest, CancelResponse, DescribeRequest, DescribeResponse, ForgetRequest,
    ForgetResponse, InvokeRequest, InvokeResponse, PreflightRequest, PreflightResponse,
    RollbackRequest, RollbackResponse,
    tool_service_server::{ToolService, ToolServiceServer},
};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_stream::{Stream, wrappers::TcpListenerStream};
use tonic::{Request, Response, Status, transport::Server};
use tracing::{Span, info_span};

use crate::{TraceLayer, span};

/// The running service.
pub(super) struct Running {
    pub(super) endpoint: String,
    server: JoinSet<()>,
}

impl Running {
    /// Ends every connection, and with it every span of the server.
    pub(super) async fn stop(mut self) {
        self.server.shutdown().await;
    }
}

pub(super) async fn start() -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let router = Server::builder()
        .layer(TraceLayer::grpc("callboard.tool.v1.ToolService"))
        .add_service(ToolServiceServer::new(Calculator));
    let mut server = JoinSet::new();
    server.spawn(async move {
        router.serve_with_incoming(TcpListenerStream::new(listener)).await.unwrap();
    });
    Running { endpoint, server }
}

struct Calculator;

#[tonic::async_trait]
impl ToolService for Calculator {
    type InvokeStream = Pin<Box<dyn Stream<Item = Result<InvokeResponse, Status>> + Send>>;

    async fn describe(
        &self,
        _: Request<DescribeRequest>,
    ) -> Result<Response<DescribeResponse>, Status> {
        Err(Status::internal("broken"))
    }

    async fn preflight(
        &self,
        _: Request<PreflightRequest>,
    ) -> Result<Response<PreflightResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn invoke(
        &self,
        _: Request<InvokeRequest>,
    ) -> Result<Response<Self::InvokeStream>, Status> {
        span::become_tool(&Span::current(), "calculate", "c-1");
        let pieces = (0..3).map(|number| {
            if number == 2 {
                drop(info_span!("calculation"));
            }
            Ok(InvokeResponse::default())
        });
        Ok(Response::new(Box::pin(tokio_stream::iter(pieces))))
    }

    async fn cancel(&self, _: Request<CancelRequest>) -> Result<Response<CancelResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn rollback(
        &self,
        _: Request<RollbackRequest>,
    ) -> Result<Response<RollbackResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn forget(&self, _: Request<ForgetRequest>) -> Result<Response<ForgetResponse>, Status> {
        Err(Status::unauthenticated("who are you"))
    }
}
