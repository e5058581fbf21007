//! Finds the gateway that a command talks to: `--server`, the stack that runs on the state folder, or
//! one that is started for this command and ends with it. Next: `ask`.

use std::path::Path;

use callboard_discovery::small_file::{self, SECRET_LIMIT};

use crate::client::Client;
use crate::commands::here::{Here, stack_order};
use crate::config::Loaded;
use crate::exit::usage;
use crate::place::Place;
use crate::stack::hello::Hello;
use crate::stack::join::{self, Joined};

/// A gateway to talk to.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Its client.
    pub(crate) client: Client,
    /// The hold on the stack behind it, if that is on this machine.
    joined: Option<Joined>,
}

/// Connects, and starts a stack where none runs. Dropping the future, or the connection, leaves.
///
/// # Errors
/// A stack that cannot start, or one of another workspace or configuration.
pub(crate) async fn open(here: &Here) -> anyhow::Result<Connection> {
    if let Some(connection) = remote(here)? {
        return Ok(connection);
    }
    let loaded = here.load()?;
    let place = here.place()?;
    let joined = join::join_or_start(&place, &stack_order(&place, &loaded)).await?;
    embedded(&place, &loaded, joined)
}

/// Connects to what runs already; `None` if nothing does.
///
/// # Errors
/// As [`open`].
pub(crate) async fn open_running(here: &Here) -> anyhow::Result<Option<Connection>> {
    if let Some(connection) = remote(here)? {
        return Ok(Some(connection));
    }
    let loaded = here.load()?;
    let place = here.place()?;
    match join::join_running(&place).await? {
        Some(joined) => embedded(&place, &loaded, joined).map(Some),
        None => Ok(None),
    }
}

impl Connection {
    /// Lets `act` work for as long as the stack lives.
    ///
    /// # Errors
    /// What `act` says, or why the stack ended before.
    pub(crate) async fn run<T>(
        &mut self,
        act: impl AsyncFnOnce(&Client) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let ended = async {
            match &mut self.joined {
                Some(joined) => joined.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            done = act(&self.client) => done,
            error = ended => Err(error),
        }
    }

    /// The stack on this machine behind the gateway.
    pub(crate) fn stack(&self) -> Option<&Hello> {
        self.joined.as_ref().map(|joined| &joined.hello)
    }

    /// Leaves; a stack that lives for its clients is gone when this returns, if this was the last.
    pub(crate) async fn close(self) {
        if let Some(joined) = self.joined {
            joined.leave().await;
        }
    }
}

/// Connects, lets `act` work, and leaves whatever came of it.
///
/// # Errors
/// As [`open`], and what `act` says.
pub(crate) async fn with<T>(
    here: &Here,
    act: impl AsyncFnOnce(&Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut connection = open(here).await?;
    let done = connection.run(act).await;
    connection.close().await;
    done
}

fn remote(here: &Here) -> anyhow::Result<Option<Connection>> {
    let Some(server) = &here.global.server else { return Ok(None) };
    if let Some(socket) = server.strip_prefix("unix:") {
        let client = Client::unix(Path::new(socket))?;
        return Ok(Some(Connection { client, joined: None }));
    }
    let token = match &here.global.token_file {
        Some(file) => Some(
            small_file::read(file, SECRET_LIMIT)
                .map_err(|error| usage(format!("--token-file {}: {error}", file.display())))?,
        ),
        None => std::env::var_os("CALLBOARD_TOKEN").and_then(|token| token.into_string().ok()),
    };
    let client = Client::url(server, token.as_deref())?;
    Ok(Some(Connection { client, joined: None }))
}

fn embedded(place: &Place, loaded: &Loaded, joined: Joined) -> anyhow::Result<Connection> {
    agree(place, loaded, &joined.hello)?;
    let client = Client::unix(&joined.hello.gateway)?;
    Ok(Connection { client, joined: Some(joined) })
}

/// The stack that runs must be the one that would have been started.
fn agree(place: &Place, loaded: &Loaded, stack: &Hello) -> anyhow::Result<()> {
    let state = place.state.display();
    if stack.workspace_digest != place.workspace_digest() {
        return Err(usage(format!(
            "the stack on the state folder {state} (process {}) works on {}, not on {}: choose \
             another state folder with --state DIR, or --workspace {}",
            stack.pid,
            stack.workspace,
            place.workspace.display(),
            stack.workspace
        )));
    }
    if stack.version != env!("CARGO_PKG_VERSION") {
        return Err(usage(format!(
            "the stack on the state folder {state} (process {}) is of version {}, and this is {}: \
             end it, or use the same program",
            stack.pid,
            stack.version,
            env!("CARGO_PKG_VERSION")
        )));
    }
    let differences = loaded.agreement().differences(&stack.agreement);
    if differences.is_empty() {
        return Ok(());
    }
    Err(usage(format!(
        "the stack on the state folder {state} (process {}) runs with another configuration; end \
         it, use the same configuration, or choose another state folder with --state DIR:\n  {}",
        stack.pid,
        differences.join("\n  ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Sources};
    use crate::exit::{Exit, of};
    use crate::place::Bases;

    fn place() -> Place {
        Place { workspace: "/w/one".into(), state: "/state".into(), sockets: "/run".into() }
    }

    fn loaded(variables: &[(&str, &str)]) -> Loaded {
        let variables = variables.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
        let bases = Bases::default();
        config::load(&Sources { bases, variables, ..Sources::default() }).unwrap()
    }

    /// A stack on `place` that was started without any setting.
    fn stack(place: &Place) -> Hello {
        let agreement = loaded(&[]).agreement();
        Hello {
            workspace: place.workspace.display().to_string(),
            workspace_digest: place.workspace_digest(),
            config_digest: agreement.digest(),
            agreement,
            gateway: "/run/gateway.sock".into(),
            directory: place.directory(),
            http: None,
            pid: 42,
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    fn refused(place: &Place, loaded: &Loaded, stack: &Hello) -> String {
        let error = agree(place, loaded, stack).unwrap_err();
        assert_eq!(of(&error), Exit::Usage);
        error.to_string()
    }

    #[test]
    fn a_stack_of_the_same_workspace_and_configuration_is_joined() {
        let stack = stack(&place());
        agree(&place(), &loaded(&[]), &stack).unwrap();
        // Where `up` listens and what it logs is its own business.
        let own = [
            ("CALLBOARD__GATEWAY__LISTEN", "127.0.0.1:1"),
            ("CALLBOARD__TELEMETRY__LEVEL", "debug"),
        ];
        agree(&place(), &loaded(&own), &stack).unwrap();
    }

    #[test]
    fn another_workspace_is_refused_and_both_are_named() {
        let other = Place { workspace: "/w/two".into(), ..place() };
        let error = refused(&other, &loaded(&[]), &stack(&place()));
        assert!(error.contains("/w/one") && error.contains("/w/two"), "{error}");
        assert!(error.contains("process 42"), "{error}");
    }

    #[test]
    fn another_configuration_is_refused_and_both_values_are_named() {
        let here = loaded(&[("CALLBOARD__ORCHESTRATOR__AGENT__MAX_STEPS", "3")]);
        let error = refused(&place(), &here, &stack(&place()));
        assert!(error.contains("`orchestrator.agent.max_steps` is 3 here and 16 there"), "{error}");
        let key = loaded(&[("OPENAI_API_KEY", "sk-1234567890")]);
        let error = refused(&place(), &key, &stack(&place()));
        assert!(error.contains("api_key") && !error.contains("1234567890"), "{error}");
    }

    #[test]
    fn another_version_is_refused() {
        let old = Hello { version: "0.0.1".into(), ..stack(&place()) };
        assert!(refused(&place(), &loaded(&[]), &old).contains("version 0.0.1"));
    }
}
