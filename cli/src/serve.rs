//! `callboard serve ROLE`: one role as a process, for a stack's supervisor or a deployment of its own.
//!
//! [`lifeline`] is how a supervised role ends with its supervisor, `resident` keeps it small;
//! `gateway`, `orchestrator` and `tools` wire one kind of role each, `stack` all of them. Next:
//! `serve/lifeline.rs`.

mod lifeline;
mod resident;
mod gateway;
mod orchestrator;
mod tools;
pub(crate) mod stack;

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use callboard_discovery::transport::{Credentials, DeploymentToken};
use callboard_discovery::{Address, Discovery, InstanceId, Login};
use callboard_orchestrator::call::policy::RulesRead;
use callboard_telemetry::Telemetry;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::args;
use crate::commands::here::Here;
use crate::config::reload;
use crate::config::settings::{self, Backend, Settings};
use crate::exit::{Exit, usage};
use crate::print;
use crate::stack::hello::Failed;
use crate::stack::order::{Order, Report, RoleName};

/// How long a supervised role lets work in flight finish: all of them together have 2.5 s.
const SUPERVISED_DRAIN: Duration = Duration::from_millis(1_500);

/// Threads of one role's runtime, at most.
const MOST_WORKERS: usize = 64;

/// A role with everything that it needs.
struct Role {
    name: RoleName,
    instance: InstanceId,
    order: Order,
    settings: Settings,
    workspace: PathBuf,
    state: PathBuf,
    discovery: Arc<dyn Discovery>,
    credentials: Credentials,
    telemetry: Telemetry,
    is_supervised: bool,
    /// The rules as they are read again.
    rules: Option<watch::Receiver<RulesRead>>,
    shutdown: CancellationToken,
}

/// Serves what the command line names until it is told to end.
///
/// # Errors
/// What kept it from serving.
pub(crate) fn run(here: &Here, serve: &args::Serve) -> anyhow::Result<Exit> {
    let Some(role) = serve.role.role() else { return stack::run(here) };
    let served = prepare(here, serve, role).and_then(|(order, settings)| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers(&settings, role, serve.supervised))
            .thread_name(role.as_str())
            .enable_all()
            .build()?;
        let served = runtime.block_on(serve_role(here, role, order, settings, serve.supervised));
        // A blocking read that nobody waits for must not hold up the end.
        runtime.shutdown_background();
        served
    });
    match served {
        Ok(()) => Ok(Exit::Done),
        // The supervisor tells the person.
        Err(error) if serve.supervised => {
            report(&Report::Failed(Failed::of(&error)));
            Ok(crate::exit::of(&error))
        }
        Err(error) => Err(error),
    }
}

/// Threads of a role's runtime. Roles under one supervisor share the machine: threads that wake one
/// another for work of microseconds would cost all of them more than they win.
fn workers(settings: &Settings, role: RoleName, is_supervised: bool) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = match settings.serve.worker_threads {
        0 if is_supervised && role != RoleName::Orchestrator => 1,
        0 => cores,
        configured => configured,
    };
    workers.clamp(1, MOST_WORKERS)
}

/// The order and the settings: handed by the supervisor, or from the command line and the files.
fn prepare(here: &Here, serve: &args::Serve, role: RoleName) -> anyhow::Result<(Order, Settings)> {
    if serve.supervised {
        // The lifeline tells of the supervisor's end; this one is faster where the kernel has it.
        let _ =
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
        let order = lifeline::read_order()?;
        let settings = crate::config::handed(&order.settings)?;
        return Ok((order, settings));
    }
    let loaded = here.load()?;
    let place = here.place()?;
    let settings = loaded.settings.clone();
    let own = format!("{}.sock", InstanceId::new(role.as_str()));
    let order = Order {
        settings: settings::share(loaded.layers.table(), role),
        listen: serve.listen.clone().unwrap_or_else(|| Address::Unix(place.sockets.join(own))),
        advertise: serve.advertise.clone(),
        http: serve.http.clone().or_else(|| settings.gateway.listen.clone()),
        directory: place.directory(),
        logs_to_stderr: settings.telemetry.stderr,
    };
    Ok((order, settings))
}

async fn serve_role(
    here: &Here,
    name: RoleName,
    order: Order,
    settings: Settings,
    is_supervised: bool,
) -> anyhow::Result<()> {
    let (workspace, state) = (here.workspace()?, here.place()?.state);
    let instance = InstanceId::new(name.as_str());
    let telemetry = telemetry(name.as_str(), &instance, &settings, &state, order.logs_to_stderr)?;
    let shutdown = CancellationToken::new();
    let rules = if is_supervised {
        Some(lifeline::watch(shutdown.clone())?)
    } else if name == RoleName::Orchestrator {
        // Its task ends with the receiver.
        Some(reload::follow(here.clone(), &here.load()?).0)
    } else {
        None
    };
    let signals = tokio::spawn(on_signal(shutdown.clone()));
    let role = Role {
        discovery: discovery(&settings, &order).await?,
        credentials: credentials(&settings)?,
        name,
        instance,
        order,
        settings,
        workspace,
        state,
        telemetry,
        is_supervised,
        rules,
        shutdown,
    };
    let small = tokio::spawn(resident::let_go_of_start());
    let (served, telemetry) = role.serve().await;
    small.abort();
    telemetry.shutdown().await;
    signals.abort();
    served
}

impl Role {
    async fn serve(self) -> (anyhow::Result<()>, Telemetry) {
        match self.name {
            RoleName::Gateway => gateway::serve(self).await,
            RoleName::Orchestrator => orchestrator::serve(self).await,
            RoleName::Calculator | RoleName::Files | RoleName::Search | RoleName::Shell => {
                tools::serve(self).await
            }
        }
    }

    /// The given time to drain, within what a supervisor leaves.
    fn drain(&self, configured: Duration) -> Duration {
        if self.is_supervised { configured.min(SUPERVISED_DRAIN) } else { configured }
    }
}

/// Telemetry of a process of this program: logs go to the state folder unless set otherwise.
pub(crate) fn telemetry(
    role: &str,
    instance: &InstanceId,
    settings: &Settings,
    state: &std::path::Path,
    is_stderr: bool,
) -> anyhow::Result<Telemetry> {
    let mut config = settings.telemetry.clone();
    config.log_dir.get_or_insert_with(|| state.join("logs"));
    config.stderr &= is_stderr;
    callboard_telemetry::init(role, instance.as_str(), &config).map_err(|error| {
        let source = std::error::Error::source(&error);
        let source = source.map_or(String::new(), |source| format!(": {source}"));
        usage(format!("{error}{source}"))
    })
}

/// The discovery that the settings name.
async fn discovery(settings: &Settings, order: &Order) -> anyhow::Result<Arc<dyn Discovery>> {
    Ok(callboard_discovery::connect(backend(settings, &order.directory)).await?)
}

/// The backend that the settings name; `directory` is the folder of the one without a server.
pub(crate) fn backend(
    settings: &Settings,
    directory: &std::path::Path,
) -> callboard_discovery::Config {
    let discovery = &settings.discovery;
    match discovery.backend {
        Backend::Directory => callboard_discovery::Config::Directory { path: directory.to_owned() },
        Backend::Etcd => callboard_discovery::Config::Etcd {
            endpoints: discovery.endpoints.clone(),
            prefix: discovery.prefix.clone(),
            lease_ttl: Duration::from_millis(discovery.lease_ttl_ms),
            login: discovery.user.clone().map(|user| Login {
                user,
                password: discovery.password.clone().unwrap_or_default(),
            }),
        },
    }
}

/// What proves this role to the others over TCP.
fn credentials(settings: &Settings) -> anyhow::Result<Credentials> {
    let Some(file) = &settings.discovery.token_file else { return Ok(Credentials::default()) };
    let token = DeploymentToken::read(file)
        .map_err(|error| usage(format!("`discovery.token_file`: {error}")))?;
    Ok(Credentials { token: Some(token) })
}

/// Cancels `shutdown` at the first SIGTERM or SIGINT; a second one ends the process at once.
async fn on_signal(shutdown: CancellationToken) {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    for is_second in [false, true] {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        if is_second {
            std::process::exit(i32::from(Exit::Cancelled.code()));
        }
        shutdown.cancel();
    }
}

/// Tells the supervisor. One that is gone needs no report.
fn report(report: &Report) {
    if let Ok(line) = serde_json::to_string(report) {
        let _ = print::out(&line);
    }
}

/// An error of a role's own settings or addresses, which the person can put right.
fn refused(error: &(dyn std::error::Error + 'static)) -> anyhow::Error {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        source = inner.source();
    }
    usage(text)
}
