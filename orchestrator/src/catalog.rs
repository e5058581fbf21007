//! The tools that can be called now, and the instances behind each.
//!
//! [`Catalog`] follows discovery and asks each service once what it offers (`follow`); [`Snapshot`]
//! is the view that a call is resolved in and never changes (`view`); `wait` is where calls wait for
//! services that are away. Whether a call may run is left
//! to `call`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use callboard_discovery::Discovery;
use callboard_discovery::transport::Credentials;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub mod config;
pub mod tool;
pub mod instance;
mod offer;
mod view;
mod follow;
mod tokens;
mod select;
mod wait;

pub use self::config::Config;
pub use self::instance::Instance;
pub use self::tool::{Descriptor, Tool};

use self::select::Index;
use self::wait::Waits;
use crate::call::builtin::{self, Builtin};
use crate::run::event::AttemptStarted;

/// The catalog of one orchestrator.
pub struct Catalog {
    snapshots: watch::Receiver<Arc<Snapshot>>,
    discovery: Arc<dyn Discovery>,
    waits: Waits,
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalog").field("snapshot", &self.snapshot()).finish_non_exhaustive()
    }
}

impl Catalog {
    /// Follows `discovery` in a task of `tasks` until `shutdown`.
    pub fn spawn(
        config: Config,
        discovery: Arc<dyn Discovery>,
        credentials: Credentials,
        tasks: &TaskTracker,
        shutdown: CancellationToken,
    ) -> Arc<Self> {
        let first = Snapshot::of_builtins(&config.shared_team);
        let (sender, snapshots) = watch::channel(Arc::new(first));
        let follower = follow::Follower::new(config, credentials, sender);
        tasks.spawn(follower.run(discovery.live(), shutdown));
        Arc::new(Self { snapshots, discovery, waits: Waits::default() })
    }

    /// The view as it is now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshots.borrow())
    }

    /// Every view as it comes; the newest one counts.
    pub fn changes(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.clone()
    }

    /// Waits until every live service was described or found faulty. Dropping the future is fine.
    pub async fn ready(&self) {
        let mut snapshots = self.snapshots.clone();
        // A catalog that was shut down gets no better.
        let _ = snapshots.wait_for(|snapshot| snapshot.ready).await;
    }

    /// False while discovery does not confirm that we are who we think we are.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.discovery.is_confirmed()
    }
}

/// What can be called at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Owners of names, by team and name, withheld ones included.
    tools: BTreeMap<(String, String), Arc<Tool>>,
    /// Tools whose name belongs to another service.
    shadowed: Vec<Arc<Tool>>,
    /// Every descriptor that some instance serves, by team, service and digest.
    variants: HashMap<(String, String, String), Arc<Tool>>,
    services: Vec<Service>,
    /// Live instances, by team and service.
    instances: BTreeMap<(String, String), Vec<Arc<Instance>>>,
    shared_team: String,
    ready: bool,
    /// What each team can search in, made when it first does.
    teams: Mutex<HashMap<String, Arc<Choice>>>,
}

/// The tools that a team can call, by name, and their words.
#[derive(Debug)]
struct Choice {
    tools: Vec<Arc<Tool>>,
    index: Index,
}

/// A tool service as the catalog sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Team that owns it.
    pub team: String,
    /// Its name.
    pub name: String,
    /// Live instances.
    pub instances: usize,
    /// Why its tools cannot be called; empty if they can.
    pub problem: String,
}

impl Snapshot {
    /// A view with nothing but the tools that the orchestrator answers itself.
    fn of_builtins(shared_team: &str) -> Self {
        let mut snapshot = Self { shared_team: shared_team.to_owned(), ..Self::default() };
        for builtin in Builtin::ALL {
            snapshot.claim(tool::answered_by_us(builtin, shared_team));
        }
        snapshot
    }

    /// A view with these tools and the orchestrator's own, for tests of the stages.
    #[cfg(test)]
    pub(crate) fn of(tools: impl IntoIterator<Item = Tool>) -> Self {
        let mut snapshot = Self::of_builtins("shared");
        tools.into_iter().for_each(|tool| snapshot.claim(tool));
        snapshot.ready = true;
        snapshot
    }

    /// The tool that a team means by a name: its own, or a shared one.
    pub fn tool(&self, team: &str, name: &str) -> Option<&Arc<Tool>> {
        let of = |team: &str| self.tools.get(&(team.to_owned(), name.to_owned()));
        of(team).or_else(|| of(&self.shared_team))
    }

    /// The tools that a team can see, by name, withheld ones included; where a name is there
    /// twice, the one that is called by it comes first.
    pub fn tools(&self, team: &str) -> Vec<Arc<Tool>> {
        let mut seen: Vec<Arc<Tool>> = self
            .tools
            .values()
            .filter(|tool| self.is_visible(team, tool))
            .chain(self.shadowed.iter().filter(|tool| {
                tool.descriptor.team == team || tool.descriptor.team == self.shared_team
            }))
            .cloned()
            .collect();
        seen.sort_by(|a, b| a.descriptor.name.cmp(&b.descriptor.name));
        seen
    }

    /// The services of all teams, with what is wrong with them.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// True once every live service was described or found faulty.
    pub fn ready(&self) -> bool {
        self.ready
    }

    /// The tools for one model call, at most `max`, in the order of their names: those `used` in
    /// the run first, then the best matches for `task`.
    pub fn select(&self, team: &str, task: &str, used: &[String], max: usize) -> Vec<Arc<Tool>> {
        let choice = self.choice(team);
        select::select(&choice.tools, &choice.index, (task, used), max)
    }

    /// The best matches for a query, at most `max`; none of the orchestrator's own.
    pub fn search(&self, team: &str, query: &str, max: usize) -> Vec<Arc<Tool>> {
        let choice = self.choice(team);
        select::search(&choice.tools, &choice.index, query, max)
    }

    /// The tool under which a call was planned, as it is served now; `None` if nobody does.
    pub(crate) fn variant(&self, team: &str, service: &str, digest: &str) -> Option<&Arc<Tool>> {
        let of = |team: &str| {
            self.variants.get(&(team.to_owned(), service.to_owned(), digest.to_owned()))
        };
        of(team).or_else(|| of(&self.shared_team))
    }

    /// Names of the tools of a service that only read, the first few: with them it can be seen what
    /// became of a call to another one.
    pub(crate) fn checks(&self, team: &str, service: &str) -> Vec<String> {
        let tools = self.tools(team);
        let fits = |tool: &&Arc<Tool>| {
            let of = &tool.descriptor;
            of.service == service && of.annotations.read_only && tool.withheld.is_empty()
        };
        tools.iter().filter(fits).take(3).map(|tool| tool.descriptor.name.clone()).collect()
    }

    /// Live instances of the service that a team means by a name, whatever they offer.
    pub(crate) fn instances_of(&self, team: &str, service: &str) -> &[Arc<Instance>] {
        let of = |team: &str| self.instances.get(&(team.to_owned(), service.to_owned()));
        of(team).or_else(|| of(&self.shared_team)).map_or(&[], Vec::as_slice)
    }

    /// The instance that an attempt went to, if it is still alive.
    pub(crate) fn instance(&self, attempt: &AttemptStarted) -> Option<Arc<Instance>> {
        let mut all = self.instances.values().flatten();
        all.find(|instance| instance.incarnation == attempt.incarnation).cloned()
    }

    fn is_visible(&self, team: &str, tool: &Tool) -> bool {
        let (of, name) = (&tool.descriptor.team, &tool.descriptor.name);
        *of == team
            || (*of == self.shared_team
                && !self.tools.contains_key(&(team.to_owned(), name.clone())))
    }

    fn choice(&self, team: &str) -> Arc<Choice> {
        let mut teams = self.teams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(choice) = teams.get(team) {
            return Arc::clone(choice);
        }
        let mut tools: Vec<Arc<Tool>> = self
            .tools
            .values()
            .filter(|tool| self.is_visible(team, tool) && tool.withheld.is_empty())
            .cloned()
            .collect();
        tools.sort_by(|a, b| a.descriptor.name.cmp(&b.descriptor.name));
        let choice = Arc::new(Choice { index: Index::new(&tools), tools });
        teams.insert(team.to_owned(), Arc::clone(&choice));
        choice
    }

    /// Service that owns a name.
    fn owner(&self, team: &str, name: &str) -> Option<&str> {
        let tool = self.tools.get(&(team.to_owned(), name.to_owned()))?;
        Some(&tool.descriptor.service)
    }

    fn is_current(&self, descriptor: &Descriptor) -> bool {
        let key = (descriptor.team.clone(), descriptor.name.clone());
        self.tools.get(&key).is_some_and(|tool| tool.descriptor.digest == descriptor.digest)
    }

    /// Gives a tool its name, if nobody has it.
    fn claim(&mut self, mut tool: Tool) {
        let key = (tool.descriptor.team.clone(), tool.descriptor.name.clone());
        let is_ours = tool.descriptor.answered_by != tool::AnsweredBy::Service;
        let is_reserved = Builtin::ALL.iter().any(|own| own.name() == key.1) && !is_ours;
        let owner = if is_reserved { Some(builtin::SERVICE) } else { self.owner(&key.0, &key.1) };
        if let Some(owner) = owner {
            tool.withheld = format!("the name belongs to the service `{owner}`");
            self.shadowed.push(Arc::new(tool));
            return;
        }
        let tool = Arc::new(tool);
        self.remember(Arc::clone(&tool));
        self.tools.insert(key, tool);
    }

    /// Knows a tool for calls that were planned with it.
    fn remember(&mut self, tool: Arc<Tool>) {
        let of = &tool.descriptor;
        let key = (of.team.clone(), of.service.clone(), of.digest.clone());
        self.variants.insert(key, tool);
    }
}

#[cfg(test)]
mod tests;
