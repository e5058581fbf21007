//! The whole program around one service, for a team that ships it as its own binary. It is a
//! composition root: the one place in the kit that reads the environment (`environment.rs`, next),
//! listens to signals and prints.

mod environment;

use std::{io, process::ExitCode};

use callboard_discovery::InstanceId;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::environment::{SettingError, Settings};
use crate::{ServeError, Service, serve};

/// Why the program ended.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Telemetry(#[from] callboard_telemetry::Error),
    #[error("discovery cannot start")]
    Discovery(#[from] callboard_discovery::Error),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error("the runtime cannot start")]
    Runtime(#[from] io::Error),
}

/// Serves a service as its own program until SIGTERM or SIGINT, then drains. Exit code 0 after a
/// drain, 2 for settings that cannot work, 1 for any other fault.
///
/// The environment says how: `CALLBOARD_ETCD` (endpoints, comma separated) or
/// `CALLBOARD_DIRECTORY` (a folder) is where instances find one another; `CALLBOARD_LISTEN` is
/// `tcp:HOST:PORT` or `unix:/PATH` (default: a socket in the directory) and `CALLBOARD_ADVERTISE`
/// how others reach it; `CALLBOARD_TOKEN_FILE` holds the deployment token, without which TCP is
/// refused. Optional: `CALLBOARD_TEAM`, `CALLBOARD_ZONE`, `CALLBOARD_WORKSPACE` (`ID=PATH`, comma
/// separated), `CALLBOARD_STORE` (a folder of the service's own, for one that changes things),
/// `CALLBOARD_CAPACITY`, `CALLBOARD_DRAIN_SECONDS`, `CALLBOARD_ETCD_PREFIX`,
/// `CALLBOARD_ETCD_USER`, `CALLBOARD_ETCD_PASSWORD_FILE`, `CALLBOARD_LOG`, `CALLBOARD_LOG_DIR`,
/// `CALLBOARD_TRACE_SAMPLE` and `OTEL_EXPORTER_OTLP_ENDPOINT`.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     callboard_tool::main(|| callboard_tool::Service::new("weather", "1.0.0"))
/// }
/// ```
pub fn main(service: impl FnOnce() -> Service) -> ExitCode {
    match run(service()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            report(&fault);
            let is_setting = matches!(
                fault,
                Fault::Setting(_)
                    | Fault::Telemetry(_)
                    | Fault::Serve(
                        ServeError::Descriptor(_) | ServeError::Bind(_) | ServeError::Store(_)
                    )
            );
            ExitCode::from(if is_setting { 2 } else { 1 })
        }
    }
}

#[expect(clippy::print_stderr, reason = "the last words of a program, logs may not be set up")]
fn report(fault: &Fault) {
    let mut text = fault.to_string();
    let mut source = std::error::Error::source(fault);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    eprintln!("error: {text}");
}

#[expect(clippy::disallowed_methods, reason = "a composition root reads the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn run(service: Service) -> Result<(), Fault> {
    let instance = InstanceId::new(service.name());
    let settings = Settings::read(variable, &instance)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let telemetry =
            callboard_telemetry::init(service.name(), instance.as_str(), &settings.telemetry)?;
        let result = serve_until_signal(service, settings).await;
        telemetry.shutdown().await;
        result
    });
    // A tool that blocks its thread must not keep the process.
    runtime.shutdown_background();
    result
}

async fn serve_until_signal(service: Service, settings: Settings) -> Result<(), Fault> {
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let shutdown = CancellationToken::new();
    let discovery = callboard_discovery::connect(settings.discovery).await?;
    let tasks = TaskTracker::new();
    let watch = {
        let shutdown = shutdown.clone();
        tasks.spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            shutdown.cancel();
        })
    };
    let result = serve(service, settings.serve, discovery, shutdown).await;
    watch.abort();
    Ok(result?)
}
