//! `serve stack`: a whole stack in the background, for as long as clients hold on to it.
//!
//! The client that starts it is its standard input, a socket: the first line is the order, what
//! follows is the life of that client. It runs in a session of its own, away from any terminal.

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream as StdStream;

use anyhow::Context as _;
use callboard_discovery::InstanceId;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::{backend, on_signal, telemetry};
use crate::commands::here::Here;
use crate::config::settings::Settings;
use crate::exit::Exit;
use crate::place::Place;
use crate::stack::hello::{Answer, Failed};
use crate::stack::{Kind, Plan, StackOrder, Supervisor, lock, plan};

/// An order has at most so many bytes.
const ORDER_LIMIT: u64 = 4 << 20;

/// Runs a stack until its last client has left.
///
/// # Errors
/// What kept it from starting or going on; its clients were told.
pub(super) fn run(here: &Here) -> anyhow::Result<Exit> {
    // Whoever leads a group already has a session of its own.
    let _ = rustix::process::setsid();
    // One thread is enough to watch others work, and the roles' parent must never be a thread that
    // ends before the process does.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(supervise(here));
    runtime.shutdown_background();
    ended.map(|()| Exit::Done)
}

async fn supervise(here: &Here) -> anyhow::Result<()> {
    let stdin = StdStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    stdin.set_nonblocking(true)?;
    let mut client = UnixStream::from_std(stdin).context("standard input is no socket")?;
    let mut line = String::new();
    BufReader::new(&mut client).take(ORDER_LIMIT).read_line(&mut line).await?;
    let order: StackOrder = serde_json::from_str(&line).context("the order cannot be read")?;
    match prepare(here, order, &mut client).await {
        Ok(None) => Ok(()),
        Ok(Some((mut plan, settings))) => {
            plan.first_client = Some(client);
            live(plan, &settings).await
        }
        Err(error) => {
            answer(&mut client, &Answer::Failed(Failed::of(&error))).await;
            Err(error)
        }
    }
}

/// The plan of the stack; `None` if another one holds the lock, which the client was told.
async fn prepare(
    here: &Here,
    order: StackOrder,
    client: &mut UnixStream,
) -> anyhow::Result<Option<(Plan, Settings)>> {
    let place = Place {
        workspace: here.workspace()?,
        state: here.global.state.clone().context("no --state")?,
        sockets: order.sockets.clone(),
    };
    let Some(lock) = lock::take(&place.state).context("the state folder cannot be locked")? else {
        answer(client, &Answer::Taken).await;
        return Ok(None);
    };
    let settings = crate::config::handed(&order.settings)?;
    let plan = plan(&place, order, Kind::Background, lock)?;
    Ok(Some((plan, settings)))
}

async fn live(plan: Plan, settings: &Settings) -> anyhow::Result<()> {
    let instance = InstanceId::new("stack");
    let telemetry = telemetry("stack", &instance, settings, plan.state(), false)?;
    let shutdown = CancellationToken::new();
    let signals = tokio::spawn(on_signal(shutdown.clone()));
    let discovery = callboard_discovery::connect(backend(settings, &plan.hello.directory)).await?;
    let mut stack = Supervisor::start(plan, discovery, shutdown).await?;
    let ended = match stack.until_ready().await {
        Ok(Some(_)) => stack.until_end().await,
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    stack.drain().await;
    telemetry.shutdown().await;
    signals.abort();
    ended
}

async fn answer(client: &mut UnixStream, answer: &Answer) {
    if let Ok(mut line) = serde_json::to_string(answer) {
        line.push('\n');
        // A client that is gone needs no answer.
        let _ = client.write_all(line.as_bytes()).await;
    }
}
