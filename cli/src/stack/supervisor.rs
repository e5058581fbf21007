//! Starts the roles of a stack, keeps them alive, and ends them.
//!
//! One task owns all state and hears of everything by message: what happens to a role, what clients
//! do, who is registered, that it is time to end. Next: `drain`, then `join` for the clients' side.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use callboard_discovery::{Address, Discovery, LiveSet, Role, State};
use callboard_orchestrator::call::policy::RulesRead;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::control::{ClientEvent, Clients};
use super::hello::{Answer, Failed, Hello};
use super::lock::Lock;
use super::offered;
use super::order::{Change, Order, Report, RoleName};
use super::restart::Restarts;
use super::role::{Launcher, RoleEvent, Running};
use crate::config::settings;

/// Events of roles that wait for the supervisor; a full mailbox only makes roles wait.
const MAILBOX_CAPACITY: usize = 64;

/// How long the roles have to become ready.
const START_LIMIT: Duration = Duration::from_secs(20);

/// How long all roles together have to end. A role's own limit, after the end of its standard input,
/// is longer, so that this one decides as long as there is a supervisor.
const DRAIN_LIMIT: Duration = Duration::from_millis(2500);

/// What a stack is to be.
#[derive(Debug)]
pub(crate) struct Plan {
    /// How roles are started.
    pub(crate) launcher: Launcher,
    /// The orders of all roles.
    pub(crate) orders: BTreeMap<RoleName, Order>,
    /// What clients are told, so far as it is known beforehand.
    pub(crate) hello: Hello,
    /// Folder of the sockets.
    pub(crate) sockets: PathBuf,
    /// Whether the stack ends when its last client leaves; else only when it is told to.
    pub(crate) ends_with_clients: bool,
    /// The client that started the stack.
    pub(crate) first_client: Option<UnixStream>,
    /// The lock of the state folder.
    pub(crate) lock: Lock,
    /// The rules as they are read again; none where they stay as they are.
    pub(crate) rules: Option<watch::Receiver<RulesRead>>,
}

impl Plan {
    /// The state folder.
    pub(crate) fn state(&self) -> &Path {
        &self.launcher.state
    }
}

/// A stack of roles.
pub(crate) struct Supervisor {
    pub(super) launcher: Launcher,
    pub(super) orders: BTreeMap<RoleName, Order>,
    pub(super) roles: BTreeMap<RoleName, Running>,
    pub(super) tasks: JoinSet<()>,
    pub(super) clients: Clients,
    pub(super) shutdown: CancellationToken,
    hello: Hello,
    /// How long the roles have to end.
    pub(super) drain_limit: Duration,
    is_ready: bool,
    ends_with_clients: bool,
    events: mpsc::Sender<(RoleName, RoleEvent)>,
    mailbox: mpsc::Receiver<(RoleName, RoleEvent)>,
    /// Keeps the view alive.
    _discovery: Arc<dyn Discovery>,
    live: watch::Receiver<LiveSet>,
    /// Roles that have nothing to offer here.
    withheld: BTreeSet<RoleName>,
    restarts: Restarts,
    due: BTreeMap<RoleName, Instant>,
    rules: Option<watch::Receiver<RulesRead>>,
    pub(super) lock: Lock,
}

/// What a turn of the loop came to.
enum Turn {
    GoOn,
    End,
}

impl Supervisor {
    /// Opens the control socket and starts every role; none is ready yet.
    ///
    /// # Errors
    /// When a socket or a process cannot be made.
    pub(crate) async fn start(
        plan: Plan,
        discovery: Arc<dyn Discovery>,
        shutdown: CancellationToken,
    ) -> anyhow::Result<Self> {
        let clients = Clients::open(&plan.sockets).context("cannot open the control socket")?;
        let (events, mailbox) = mpsc::channel(MAILBOX_CAPACITY);
        let mut stack = Self {
            launcher: plan.launcher,
            orders: plan.orders,
            roles: BTreeMap::new(),
            tasks: JoinSet::new(),
            clients,
            shutdown,
            hello: plan.hello,
            drain_limit: DRAIN_LIMIT,
            is_ready: false,
            ends_with_clients: plan.ends_with_clients,
            events,
            mailbox,
            live: discovery.live(),
            _discovery: discovery,
            withheld: BTreeSet::new(),
            restarts: Restarts::default(),
            due: BTreeMap::new(),
            rules: plan.rules,
            lock: plan.lock,
        };
        if let Some(client) = plan.first_client {
            stack.clients.add(client);
        }
        for role in RoleName::ALL {
            if let Err(error) = stack.launch(role).await {
                return Err(stack.fail(error).await);
            }
        }
        Ok(stack)
    }

    /// Waits until every role is registered and serving and its tools can be called, and tells the
    /// clients.
    ///
    /// # Errors
    /// When a role ends instead, or takes too long; the clients were told and all roles are gone.
    pub(crate) async fn until_ready(&mut self) -> anyhow::Result<Option<&Hello>> {
        let deadline = Instant::now() + START_LIMIT;
        let mut offered = None;
        loop {
            if offered.is_none() && self.is_complete() {
                let services = offered::by_all(self.hello.gateway.clone(), self.services());
                offered = Some(Box::pin(services));
            }
            tokio::select! {
                () = async { match &mut offered {
                    Some(offered) => offered.await,
                    None => std::future::pending().await,
                } } => break,
                turn = self.turn() => match turn {
                    Ok(Turn::GoOn) => {}
                    Ok(Turn::End) => return Ok(None),
                    Err(error) => return Err(self.fail(error).await),
                },
                () = sleep_until(deadline) => {
                    let missing = self.missing();
                    let what = if missing.is_empty() { vec!["their tools"] } else { missing };
                    let error = anyhow::anyhow!(
                        "not ready after {} s; still missing: {} (logs: {})",
                        START_LIMIT.as_secs(),
                        what.join(", "),
                        self.launcher.state.join("logs").display()
                    );
                    return Err(self.fail(error).await);
                }
            }
        }
        self.is_ready = true;
        info!(workspace = self.hello.workspace, "stack ready");
        self.clients.tell_all(&Answer::Ready(Box::new(self.hello.clone()))).await;
        Ok(Some(&self.hello))
    }

    /// Keeps the stack alive until it is told to end, or its last client leaves.
    ///
    /// # Errors
    /// When a role cannot be kept alive; all roles are gone.
    pub(crate) async fn until_end(&mut self) -> anyhow::Result<()> {
        loop {
            match self.turn().await {
                Ok(Turn::GoOn) => {}
                Ok(Turn::End) => return Ok(()),
                Err(error) => return Err(self.fail(error).await),
            }
        }
    }

    /// Waits for one thing to happen and acts on it.
    async fn turn(&mut self) -> anyhow::Result<Turn> {
        let next_start = self.due.iter().map(|(role, at)| (*at, *role)).min();
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => return Ok(Turn::End),
            event = self.mailbox.recv() => {
                if let Some((role, event)) = event {
                    self.on_role(role, event)?;
                }
            }
            event = self.clients.next() => return Ok(self.on_client(event).await),
            () = async { match next_start {
                Some((at, _)) => sleep_until(at).await,
                None => std::future::pending().await,
            } } => {
                if let Some((_, role)) = next_start {
                    self.due.remove(&role);
                    self.launch(role).await?;
                }
            }
            changed = self.live.changed() => {
                if changed.is_err() {
                    anyhow::bail!("the discovery ended");
                }
            }
            rules = async { match &mut self.rules {
                Some(rules) => changed(rules).await,
                None => std::future::pending().await,
            } } => match rules {
                Some(rules) => self.adopt(rules).await,
                None => self.rules = None,
            },
            Some(_) = self.tasks.join_next() => {}
        }
        Ok(Turn::GoOn)
    }

    /// Hands rules that were read again to the orchestrator, its next process and new clients.
    async fn adopt(&mut self, rules: RulesRead) {
        if let Ok(config) = &rules {
            if let Some(order) = self.orders.get_mut(&RoleName::Orchestrator) {
                settings::set_rules(&mut order.settings, config);
            }
            self.hello.agree_on_rules(config);
        }
        if let Some(running) = self.roles.get_mut(&RoleName::Orchestrator) {
            running.tell(&Change::Rules(rules)).await;
        }
    }

    async fn launch(&mut self, role: RoleName) -> anyhow::Result<()> {
        let Some(order) = self.orders.get(&role) else { return Ok(()) };
        let started = self.launcher.start(role, order).await;
        let (running, following) = started
            .with_context(|| format!("cannot start the {role} process"))?
            .follow(role, self.events.clone());
        info!(%role, pid = running.pid, "role started");
        self.roles.insert(role, running);
        self.tasks.spawn(following);
        Ok(())
    }

    fn on_role(&mut self, role: RoleName, event: RoleEvent) -> anyhow::Result<()> {
        match event {
            RoleEvent::Reported(Report::Http(address)) => {
                // A role that is started again takes the port that clients know already.
                if let Some(order) = self.orders.get_mut(&role) {
                    order.http = Some(address.clone());
                }
                self.hello.http = Some(format!("http://{address}"));
            }
            RoleEvent::Reported(Report::Withheld(reason)) => {
                warn!(%role, reason, "role has nothing to offer");
                self.withheld.insert(role);
            }
            RoleEvent::Reported(Report::Failed(failed)) if !self.is_ready => {
                let message = format!("{role}: {}", failed.error);
                return Err(Failed { error: message, ..failed }.into());
            }
            RoleEvent::Reported(Report::Failed(failed)) => {
                warn!(%role, error = failed.error, "role failed");
            }
            RoleEvent::Ended(status) => {
                self.roles.remove(&role);
                if !self.is_ready {
                    anyhow::bail!(
                        "the {role} process ended at once ({status}); its logs are in {}",
                        self.launcher.state.join("logs").display()
                    );
                }
                let now = Instant::now();
                let Some(wait) = self.restarts.after_death(role, now) else {
                    let logs = self.launcher.state.join("logs");
                    anyhow::bail!(self.restarts.gave_up(role, &logs));
                };
                warn!(%role, %status, wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX), "role ended, starting it again");
                self.due.insert(role, now + wait);
            }
        }
        Ok(())
    }

    async fn on_client(&mut self, event: ClientEvent) -> Turn {
        match event {
            ClientEvent::Came(stream) => {
                let id = self.clients.add(stream);
                if self.is_ready {
                    let answer = Answer::Ready(Box::new(self.hello.clone()));
                    self.clients.tell(id, &answer).await;
                }
                return Turn::GoOn;
            }
            // The last one hears of the end by the end of this process.
            ClientEvent::SaidBye(_) if self.ends_with_clients && self.clients.count() == 1 => {
                return Turn::End;
            }
            ClientEvent::SaidBye(id) => {
                self.clients.tell(id, &Answer::GoesOn).await;
                self.clients.remove(id);
            }
            ClientEvent::Gone(id) => self.clients.remove(id),
        }
        if self.ends_with_clients && self.clients.count() == 0 { Turn::End } else { Turn::GoOn }
    }

    /// Whether every role is serving, and the gateway has said where, if it was asked to.
    fn is_complete(&self) -> bool {
        let wants_http = self.orders.values().any(|order| order.http.is_some());
        (!wants_http || self.hello.http.is_some()) && self.missing().is_empty()
    }

    /// The instances that offer tools.
    fn services(&self) -> BTreeSet<String> {
        let pids: BTreeSet<u32> = self.roles.values().map(|running| running.pid).collect();
        let live = self.live.borrow();
        let services = live.instances.values().filter(|instance| instance.role == Role::Tool);
        let ours = services.filter(|instance| pids.contains(&instance.pid));
        ours.map(|instance| instance.id.to_string()).collect()
    }

    /// The roles that are not serving yet.
    fn missing(&self) -> Vec<&'static str> {
        let live = self.live.borrow();
        let serves = |pid: u32, listen: &Address| {
            live.instances.values().any(|instance| {
                instance.pid == pid
                    && instance.state == State::Serving
                    && instance.address == *listen
            })
        };
        let is_missing = |(role, order): (&RoleName, &Order)| {
            let running = self.roles.get(role);
            let is_serving = running.is_some_and(|running| serves(running.pid, &order.listen));
            (!is_serving && !self.withheld.contains(role)).then(|| role.as_str())
        };
        self.orders.iter().filter_map(is_missing).collect()
    }

    /// Ends everything because of `error`, which the clients are told.
    async fn fail(&mut self, error: anyhow::Error) -> anyhow::Error {
        tracing::error!(error = format!("{error:#}"), "stack failed");
        self.clients.tell_all(&Answer::Failed(Failed::of(&error))).await;
        self.drain().await;
        error
    }

    /// The next event of a role, while the stack ends.
    pub(super) async fn next_role_event(&mut self) -> Option<(RoleName, RoleEvent)> {
        self.mailbox.recv().await
    }
}

/// The rules once they are others; `None` when nobody reads them any more.
async fn changed(rules: &mut watch::Receiver<RulesRead>) -> Option<RulesRead> {
    rules.changed().await.ok()?;
    Some(rules.borrow_and_update().clone())
}

#[cfg(test)]
mod tests;
