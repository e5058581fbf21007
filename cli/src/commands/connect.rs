//! Finds the gateway that a command talks to: `--server`, the stack that runs on the state folder, or
//! one that is started for this command and ends with it. Next: `ask`.

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
    let connection = open(here).await?;
    let done = act(&connection.client).await;
    connection.close().await;
    done
}

fn remote(here: &Here) -> anyhow::Result<Option<Connection>> {
    let Some(server) = &here.global.server else { return Ok(None) };
    let token = match &here.global.token_file {
        Some(file) => Some(
            std::fs::read_to_string(file)
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
