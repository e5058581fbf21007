//! Who may listen where, and whose connections are taken.

use std::{
    env, fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
    path::Path,
    process::Stdio,
    time::Duration,
};

use futures_util::StreamExt as _;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    net::UnixStream,
    process::Command,
    task::JoinSet,
    time::timeout,
};

use super::{TOKEN, check_health, credentials, io_kind, loopback};
use crate::{
    Address, FolderError,
    testing::{DEADLINE, folder},
    transport::{BindError, Credentials, Peer, bind, channel},
};

#[tokio::test]
async fn an_address_in_use_is_named() {
    let folder = folder();
    for listen in [loopback(), Address::Unix(folder.path().join("c.sock"))] {
        let first = bind(&listen, &credentials(TOKEN)).await.unwrap();
        let error = bind(first.address(), &credentials(TOKEN)).await.unwrap_err();
        assert!(
            matches!(&error, BindError::InUse(address) if address == first.address()),
            "{error}"
        );
        assert!(error.to_string().contains("in use by another process"), "{error}");
        let address = first.address().clone();
        drop(first);
        bind(&address, &credentials(TOKEN)).await.unwrap();
    }
}

#[tokio::test]
async fn a_host_that_is_not_ours_is_refused() {
    let elsewhere = Address::Tcp("192.0.2.1:0".into());
    let error = bind(&elsewhere, &credentials(TOKEN)).await.unwrap_err();
    assert!(matches!(error, BindError::Io { .. }), "{error}");
    assert!(error.to_string().starts_with("cannot listen on tcp:192.0.2.1:0: "), "{error}");
}

#[tokio::test]
async fn only_a_dead_socket_is_replaced_and_by_one_alone() {
    let folder = folder();
    let socket = folder.path().join("c.sock");
    let address = Address::Unix(socket.clone());
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let mut binds = JoinSet::new();
    for _ in 0..8 {
        let address = address.clone();
        binds.spawn(async move { bind(&address, &Credentials::default()).await });
    }
    let (bound, refused): (Vec<_>, Vec<_>) =
        binds.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!((bound.len(), refused.len()), (1, 7));
    for error in refused {
        assert!(matches!(error.unwrap_err(), BindError::InUse(_)));
    }
    UnixStream::connect(&socket).await.unwrap();
    drop(bound);

    fs::write(&socket, "precious").unwrap();
    let error = bind(&address, &Credentials::default()).await.unwrap_err();
    assert!(matches!(error, BindError::NotASocket(_)), "{error}");
    assert_eq!(fs::read_to_string(&socket).unwrap(), "precious");
    fs::remove_file(&socket).unwrap();
    symlink("/nonexistent", &socket).unwrap();
    let error = bind(&address, &Credentials::default()).await.unwrap_err();
    assert!(matches!(error, BindError::NotASocket(_)), "{error}");
}

#[tokio::test]
async fn a_successors_socket_is_not_removed() {
    let folder = folder();
    let socket = folder.path().join("c.sock");
    let address = Address::Unix(socket.clone());
    let first = bind(&address, &Credentials::default()).await.unwrap();
    fs::remove_file(&socket).unwrap();
    let second = bind(&address, &Credentials::default()).await.unwrap();
    drop(first);
    assert!(socket.exists());
    drop(second);
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_path_that_does_not_fit_is_measured() {
    let folder = folder();
    let room = 107 - folder.path().as_os_str().len() - 1;
    let fits = Address::Unix(folder.path().join("x".repeat(room)));
    bind(&fits, &Credentials::default()).await.unwrap();
    let long = Address::Unix(folder.path().join("x".repeat(room + 1)));
    let error = bind(&long, &Credentials::default()).await.unwrap_err();
    assert!(matches!(error, BindError::PathTooLong { length: 108, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("has 108 bytes, 107 are possible"), "{text}");
    assert!(text.contains("choose a shorter folder"), "{text}");
}

#[tokio::test]
async fn a_folder_that_is_not_private_holds_no_socket() {
    let folder = folder();
    let inside = |folder: &Path| Address::Unix(folder.join("c.sock"));
    let refused = async |address: Address| match bind(&address, &Credentials::default()).await {
        Err(BindError::Folder(error)) => error,
        other => panic!("{other:?}"),
    };
    let error = refused(inside(&folder.path().join("none"))).await;
    assert!(matches!(error, FolderError::Io { .. }), "{error}");
    assert!(error.to_string().contains("create it, or name another one"), "{error}");
    for mode in [0o710, 0o770, 0o701, 0o755] {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        let error = refused(inside(folder.path())).await;
        assert!(matches!(error, FolderError::NotPrivate { mode: found, .. } if found == mode));
        assert!(error.to_string().contains("run `chmod 700` on it"), "{error}");
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    if is_root() {
        chown(folder.path(), Some(NOBODY), None).unwrap();
        let error = refused(inside(folder.path())).await;
        let FolderError::Foreign { owner, user, .. } = error else { panic!("{error}") };
        assert_eq!((owner, user), (NOBODY, 0));
    }
}

const NOBODY: u32 = 65534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs only as a child of another test, as another user: connects, and tells what came of it.
#[tokio::test]
async fn foreign_client_process() {
    let Some(path) = env::var_os("CALLBOARD_TEST_CLIENT") else { return };
    let mut stream = UnixStream::connect(path).await.unwrap();
    let mut answer = Vec::new();
    let read = timeout(DEADLINE, stream.read_to_end(&mut answer)).await.unwrap();
    println!("\nread {:?}", read.map_err(|error| error.kind()));
}

/// Runs only as a child of another test, as another user: listens until it is killed.
#[tokio::test]
async fn foreign_server_process() {
    let Some(path) = env::var_os("CALLBOARD_TEST_SERVER") else { return };
    let _listener = std::os::unix::net::UnixListener::bind(path).unwrap();
    println!("\nlistening");
    std::future::pending::<()>().await;
}

/// This test binary, to be run by another user: its own folder may be closed to others.
fn as_nobody(folder: &Path, test: &str) -> Command {
    let binary = folder.join("test");
    fs::copy(env::current_exe().unwrap(), &binary).unwrap();
    let mut command = Command::new(&binary);
    command.args(["--exact", test, "--nocapture"]).current_dir("/");
    command.uid(NOBODY).gid(NOBODY).kill_on_drop(true).stdout(Stdio::piped());
    command
}

#[tokio::test]
async fn a_peer_of_another_user_is_dropped_and_the_next_one_served() {
    // Only root can play another user.
    if !is_root() {
        return;
    }
    let folder = folder();
    let socket = folder.path().join("c.sock");
    let address = Address::Unix(socket.clone());
    let mut incoming = Box::pin(bind(&address, &Credentials::default()).await.unwrap().incoming());
    // As if somebody had opened the folder since.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
    let mut foreign =
        as_nobody(folder.path(), "transport::tests::listening::foreign_client_process");
    let foreign = foreign.env("CALLBOARD_TEST_CLIENT", &socket).output();
    let (foreign, ours) = tokio::join!(
        async {
            let output = foreign.await.unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            // Closed without a byte: either way of closing will do.
            assert!(text.contains("read Ok(0)") || text.contains("ConnectionReset"), "{text}");
            UnixStream::connect(&socket).await.unwrap()
        },
        incoming.next()
    );
    assert_eq!(ours.unwrap().unwrap().peer(), Peer::SameUser);
    drop(foreign);
}

#[tokio::test]
async fn a_client_does_not_speak_to_another_users_server() {
    if !is_root() {
        return;
    }
    let folder = folder();
    let socket = folder.path().join("c.sock");
    let mut server =
        as_nobody(folder.path(), "transport::tests::listening::foreign_server_process");
    chown(folder.path(), Some(NOBODY), None).unwrap();
    let mut server = server.env("CALLBOARD_TEST_SERVER", &socket).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    while lines.next_line().await.unwrap().expect("the child listens") != "listening" {}
    assert_eq!(fs::metadata(&socket).unwrap().uid(), NOBODY);
    let channel = channel(&Address::Unix(socket), &Credentials::default()).unwrap();
    let status = check_health(channel).await.unwrap_err();
    assert_eq!(io_kind(&status), Some(io::ErrorKind::PermissionDenied));
}

/// Runs only as a child of another test: uses up its own file descriptors.
#[tokio::test]
async fn exhausted_process() {
    let Some(path) = env::var_os("CALLBOARD_TEST_EXHAUST") else { return };
    let address = Address::Unix(path.into());
    let Address::Unix(socket) = &address else { unreachable!("it is a socket") };
    let mut incoming = Box::pin(bind(&address, &Credentials::default()).await.unwrap().incoming());
    let limit = rustix::process::Rlimit { current: Some(40), maximum: Some(40) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    // One waits for accept, the others take all descriptors that are left.
    let mut clients = Vec::new();
    while let Ok(client) = UnixStream::connect(socket).await {
        clients.push(client);
    }
    let mut accepted = Vec::new();
    let none = timeout(Duration::from_millis(200), incoming.next()).await;
    assert!(none.is_err(), "there was no descriptor to accept with");
    clients.truncate(1);
    accepted.push(timeout(DEADLINE, incoming.next()).await.unwrap().unwrap().unwrap());
    println!("\nsurvived");
}

#[tokio::test]
async fn the_accept_loop_survives_a_want_of_descriptors() {
    let folder = folder();
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "transport::tests::listening::exhausted_process", "--nocapture"])
        .env("CALLBOARD_TEST_EXHAUST", folder.path().join("c.sock"))
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("survived"), "{text}");
}
