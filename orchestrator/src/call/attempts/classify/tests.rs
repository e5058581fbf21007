//! Real frames on real sockets: what our transport makes of them is an agreement with nobody, so it
//! is pinned here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use callboard_discovery::Address;
use callboard_discovery::transport::{Credentials, channel};
use callboard_proto::tool::tool_service_client::ToolServiceClient;
use callboard_proto::tool::{InvokeMode, InvokeRequest, ToolCall};
use h2::Reason;
use http::{HeaderMap, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

use super::*;

const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
const SETTINGS_ACK: [u8; 9] = [0, 0, 0, 4, 1, 0, 0, 0, 0];
/// The stream that a client opens first.
const FIRST: u32 = 1;

fn goaway(last: u32, reason: Reason) -> Vec<u8> {
    let mut frame = vec![0, 0, 8, 7, 0, 0, 0, 0, 0];
    frame.extend(last.to_be_bytes());
    frame.extend(u32::from(reason).to_be_bytes());
    frame
}

fn rst_stream(stream: u32, reason: Reason) -> Vec<u8> {
    let mut frame = vec![0, 0, 4, 3, 0];
    frame.extend(stream.to_be_bytes());
    frame.extend(u32::from(reason).to_be_bytes());
    frame
}

/// Speaks just enough HTTP/2 to hear a request, and answers it with raw bytes.
async fn answer_with(mut socket: UnixStream, bytes: Vec<u8>, stays: bool) {
    let mut preface = [0; 24];
    socket.read_exact(&mut preface).await.unwrap();
    socket.write_all(&SETTINGS).await.unwrap();
    loop {
        let mut head = [0; 9];
        if socket.read_exact(&mut head).await.is_err() {
            return;
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        socket.read_exact(&mut payload).await.unwrap();
        match (head[3], head[4] & 1) {
            (4, 0) => socket.write_all(&SETTINGS_ACK).await.unwrap(),
            // HEADERS: the request is there.
            (1, _) => {
                socket.write_all(&bytes).await.unwrap();
                if !stays {
                    return;
                }
            }
            _ => {}
        }
    }
}

/// Answers with a head, some bytes and trailers, over a real HTTP/2 server.
async fn respond(
    socket: UnixStream,
    response: Response<()>,
    body: Vec<u8>,
    trailers: Option<HeaderMap>,
) {
    let mut connection = h2::server::handshake(socket).await.unwrap();
    while let Some(Ok((_, mut answer))) = connection.accept().await {
        let is_end = body.is_empty() && trailers.is_none();
        let mut stream = answer.send_response(clone(&response), is_end).unwrap();
        if !is_end {
            stream.send_data(Bytes::from(body.clone()), trailers.is_none()).unwrap();
        }
        if let Some(trailers) = trailers.clone() {
            stream.send_trailers(trailers).unwrap();
        }
    }
}

fn clone(response: &Response<()>) -> Response<()> {
    let mut copy = Response::new(());
    *copy.status_mut() = response.status();
    *copy.headers_mut() = response.headers().clone();
    copy
}

fn grpc() -> Response<()> {
    Response::builder().header("content-type", "application/grpc").body(()).unwrap()
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("s.sock")
}

/// Calls what listens there; the first error, and whether the answer had begun.
async fn call(path: &Path) -> Classified {
    let channel = channel(&Address::Unix(path.to_owned()), &Credentials::default()).unwrap();
    let mut client = ToolServiceClient::new(channel);
    let call = ToolCall { call_id: "c".to_owned(), ..ToolCall::default() };
    let mut request =
        tonic::Request::new(InvokeRequest { call: Some(call), mode: InvokeMode::Start.into() });
    request.set_timeout(Duration::from_secs(10));
    match client.invoke(request).await {
        Err(status) => classify(&status, Phase::Opening),
        Ok(response) => {
            let mut stream = response.into_inner();
            loop {
                match stream.message().await {
                    Ok(Some(_)) => {}
                    // As `send` has it: a stream without an outcome is broken.
                    Ok(None) => {
                        let status = Status::unknown("no outcome");
                        return classify(&status, Phase::Answering);
                    }
                    Err(status) => return classify(&status, Phase::Answering),
                }
            }
        }
    }
}

async fn classified_after(bytes: Vec<u8>, stays: bool) -> Classified {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(socket(folder.path())).unwrap();
    let server = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        answer_with(socket, bytes, stays).await;
    });
    let classified = call(&socket(folder.path())).await;
    server.abort();
    classified
}

async fn classified_of(
    response: Response<()>,
    body: Vec<u8>,
    trailers: Option<HeaderMap>,
) -> Classified {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(socket(folder.path())).unwrap();
    let server = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        respond(socket, response, body, trailers).await;
    });
    let classified = call(&socket(folder.path())).await;
    server.abort();
    classified
}

#[tokio::test]
async fn a_connection_that_cannot_be_made_sent_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = socket(folder.path());
    let classified = call(&path).await;
    assert_eq!(classified.error, AttemptError::NotSent);
    assert_eq!(classified.detail, "UNAVAILABLE: entity not found");

    drop(UnixListener::bind(&path).unwrap());
    let classified = call(&path).await;
    assert_eq!(classified.error, AttemptError::NotSent);
    assert_eq!(classified.detail, "UNAVAILABLE: connection refused");
}

#[tokio::test]
async fn frames_that_say_that_nothing_was_started_are_believed() {
    for bytes in [
        rst_stream(FIRST, Reason::REFUSED_STREAM),
        goaway(0, Reason::NO_ERROR),
        goaway(0, Reason::ENHANCE_YOUR_CALM),
        goaway(0, Reason::PROTOCOL_ERROR),
    ] {
        for stays in [true, false] {
            let classified = classified_after(bytes.clone(), stays).await;
            assert_eq!(classified.error, AttemptError::NotSent, "{bytes:?}: {}", classified.detail);
        }
    }
}

#[tokio::test]
async fn frames_that_leave_it_open_do_not_count_as_not_sent() {
    for (bytes, lost) in [
        (rst_stream(FIRST, Reason::CANCEL), Lost::Cancelled),
        (rst_stream(FIRST, Reason::INTERNAL_ERROR), Lost::Broken),
        (rst_stream(FIRST, Reason::NO_ERROR), Lost::Broken),
        (rst_stream(FIRST, Reason::ENHANCE_YOUR_CALM), Lost::Broken),
        // Our stream is among those that may have been worked on.
        (goaway(FIRST, Reason::NO_ERROR), Lost::Gone),
        (goaway(FIRST, Reason::INTERNAL_ERROR), Lost::Gone),
        // The connection closes, without a word.
        (Vec::new(), Lost::Gone),
    ] {
        let classified = classified_after(bytes.clone(), false).await;
        assert_eq!(
            classified.error,
            AttemptError::Unanswered(lost),
            "{bytes:?}: {}",
            classified.detail
        );
    }
}

#[tokio::test]
async fn what_is_no_http2_leaves_it_open() {
    for bytes in [
        b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
        vec![0xFF; 64],
        vec![0, 0, 4, 1, 5, 0, 0, 0, 1, 9, 9, 9, 9],
    ] {
        let classified = classified_after(bytes.clone(), false).await;
        assert!(
            matches!(classified.error, AttemptError::Unanswered(_)),
            "{bytes:?}: {classified:?}"
        );
    }
}

#[tokio::test]
async fn bodies_that_are_no_grpc_are_broken_answers() {
    let status = |code: u16| Response::builder().status(code).body(()).unwrap();
    let trailers = |code: &'static str| {
        HeaderMap::from_iter([(
            http::HeaderName::from_static("grpc-status"),
            code.parse().unwrap(),
        )])
    };
    let framed = |flag: u8, payload: &[u8]| {
        let mut bytes = vec![flag];
        bytes.extend(u32::try_from(payload.len()).unwrap().to_be_bytes());
        bytes.extend(payload);
        bytes
    };
    let broken = AttemptError::Unanswered(Lost::Broken);
    for (what, response, body, trailers, error) in [
        ("no protobuf", grpc(), framed(0, &[0xFF; 40]), Some(trailers("0")), broken.clone()),
        (
            "text that is no UTF-8",
            grpc(),
            framed(0, &[0x12, 0x02, 0xC3, 0x28]),
            Some(trailers("0")),
            broken.clone(),
        ),
        ("an unknown compression", grpc(), framed(1, b"x"), Some(trailers("0")), broken.clone()),
        (
            "a message that was cut",
            grpc(),
            framed(0, &[1; 40])[..20].to_vec(),
            Some(trailers("0")),
            broken.clone(),
        ),
        (
            "5 GB of announced bytes",
            grpc(),
            vec![0, 0xFF, 0xFF, 0xFF, 0xFF, 1],
            None,
            broken.clone(),
        ),
        ("an end without trailers", grpc(), framed(0, b""), None, broken.clone()),
        (
            "a status that is no number",
            grpc(),
            framed(0, b""),
            Some(trailers("many")),
            broken.clone(),
        ),
        ("an HTTP error", status(500), Vec::new(), None, broken.clone()),
        ("a gateway's error", status(503), Vec::new(), None, AttemptError::Unanswered(Lost::Gone)),
        ("no such path", status(404), Vec::new(), None, AttemptError::Unusable { answered: true }),
    ] {
        let classified = classified_of(response, body, trailers).await;
        assert_eq!(classified.error, error, "{what}: {}", classified.detail);
    }
}

#[test]
fn reasons_of_services_are_told_apart_by_details_and_never_by_words() {
    let with = |code, domain: &str, reason: &str| {
        let details =
            ErrorDetails::with_error_info(reason, domain, std::collections::HashMap::new());
        classify(&Status::with_error_details(code, "words", details), Phase::Opening).error
    };
    for (code, reason, error) in [
        (Code::Unavailable, reason::NOT_ADMITTED, AttemptError::NotSent),
        (Code::ResourceExhausted, reason::NOT_ADMITTED, AttemptError::NotSent),
        (Code::FailedPrecondition, reason::STALE_OWNER, AttemptError::Fenced),
        (Code::NotFound, reason::UNKNOWN_CALL, AttemptError::UnknownCall),
        (Code::DataLoss, reason::OUTCOME_GONE, AttemptError::OutcomeGone),
    ] {
        assert_eq!(with(code, reason::DOMAIN, reason), error, "{reason}");
        assert_ne!(with(code, "elsewhere", reason), error, "another domain says nothing to us");
    }
    let unknown = with(Code::Unavailable, reason::DOMAIN, "SOMETHING_NEW");
    assert_eq!(unknown, AttemptError::Unanswered(Lost::Gone), "an unknown reason leaves the code");
    let plain = classify(&Status::unavailable("NOT_ADMITTED"), Phase::Opening).error;
    assert_eq!(plain, AttemptError::Unanswered(Lost::Gone));
    let AttemptError::Refused(failure) =
        with(Code::Unimplemented, reason::DOMAIN, reason::UNKNOWN_TOOL)
    else {
        panic!("an unknown tool is refused")
    };
    assert_eq!(failure.kind, Kind::NotFound);
}

#[test]
fn violations_of_a_refusal_are_kept() {
    let details =
        ErrorDetails::with_bad_request(vec![FieldViolation::new("/a", "is 1, must be 2")]);
    let status = Status::with_error_details(Code::InvalidArgument, "at 10.0.0.1", details);
    let AttemptError::Refused(failure) = classify(&status, Phase::Opening).error else {
        panic!("invalid arguments are refused")
    };
    assert_eq!(failure.kind, Kind::InvalidArguments);
    assert_eq!(
        failure.violations,
        [Violation { pointer: "/a".into(), message: "is 1, must be 2".into() }]
    );
    assert!(!failure.message.contains("10.0.0.1"));
}

#[test]
fn times_to_wait_are_read_and_bounded() {
    let with = |value: &str| {
        let mut status = Status::unavailable("no");
        status.metadata_mut().insert("grpc-retry-pushback-ms", value.parse().unwrap());
        classify(&status, Phase::Opening).pushback
    };
    for (value, pushback) in [
        ("250", Pushback::After(Duration::from_millis(250))),
        ("0", Pushback::After(Duration::ZERO)),
        ("-1", Pushback::Never),
        ("soon", Pushback::Never),
        ("99999999999", Pushback::After(MAX_WAIT)),
    ] {
        assert_eq!(with(value), pushback, "{value}");
    }
    let details = ErrorDetails::with_retry_info(Some(Duration::from_secs(2)));
    let status = Status::with_error_details(Code::ResourceExhausted, "no", details);
    assert_eq!(classify(&status, Phase::Opening).pushback, Pushback::After(Duration::from_secs(2)));
    assert_eq!(classify(&Status::unavailable("no"), Phase::Opening).pushback, Pushback::None);
}
