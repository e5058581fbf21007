//! A tool process with one unary function.

use std::pin::Pin;

use callboard_proto::tool::{
    tool_service_server::{ToolService, ToolServiceServer},
    *,
};
use tonic::{Request, Response, Status, transport::Server};

struct One;

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl ToolService for One {
    type InvokeStream =
        Pin<Box<dyn futures_util::Stream<Item = Result<InvokeResponse, Status>> + Send>>;

    async fn preflight(&self, _: Request<PreflightRequest>) -> Answer<PreflightResponse> {
        let verdict = Some(preflight_response::Verdict::Allow(Allow {}));
        Ok(Response::new(PreflightResponse { verdict }))
    }

    async fn describe(&self, _: Request<DescribeRequest>) -> Answer<DescribeResponse> {
        Err(Status::unimplemented("one function only"))
    }

    async fn invoke(&self, _: Request<InvokeRequest>) -> Answer<Self::InvokeStream> {
        Err(Status::unimplemented("one function only"))
    }

    async fn cancel(&self, _: Request<CancelRequest>) -> Answer<CancelResponse> {
        Err(Status::unimplemented("one function only"))
    }

    async fn rollback(&self, _: Request<RollbackRequest>) -> Answer<RollbackResponse> {
        Err(Status::unimplemented("one function only"))
    }

    async fn forget(&self, _: Request<ForgetRequest>) -> Answer<ForgetResponse> {
        Err(Status::unimplemented("one function only"))
    }
}

pub async fn serve() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
    Server::builder()
        .tcp_nodelay(true)
        .add_service(ToolServiceServer::new(One))
        .serve_with_incoming(incoming)
        .await
        .unwrap();
}
