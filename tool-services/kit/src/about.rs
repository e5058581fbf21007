//! What a tool says about itself: everything that a model and a policy need to choose it. Whether
//! it is well said is checked in `descriptor.rs`, when the service starts.

use std::time::Duration;

use schemars::JsonSchema;
use serde_json::Value;

/// A tool's description. What it is for, what it is not for and one example are required; the
/// defaults of the rest are the careful reading: not read-only, destructive, not idempotent.
///
/// ```
/// use callboard_tool::{About, Effect, Example};
///
/// let about = About::new(
///     "read_file",
///     "Reads a text file of the workspace.",
///     "Listing a folder; use list_dir.",
///     Example::new("What does notes.md say?", r#"{"path":"notes.md"}"#),
/// )
/// .words("read, open, show a file, cat; 读取, 打开, 查看文件")
/// .effects(&[Effect::Read])
/// .read_only();
/// # let _ = about;
/// ```
#[derive(Clone, Debug)]
pub struct About {
    pub(crate) name: String,
    pub(crate) purpose: String,
    pub(crate) not_for: String,
    pub(crate) words: String,
    pub(crate) examples: Vec<Example>,
    pub(crate) output_schema: Option<Value>,
    pub(crate) behaviour: Behaviour,
    pub(crate) effects: Vec<Effect>,
    pub(crate) removable: Vec<Effect>,
    pub(crate) timeout: Duration,
    pub(crate) cost: Cost,
    pub(crate) result_chars: u32,
    pub(crate) calls_per_minute: u32,
}

/// MCP's annotations and our own, as plain facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent claim on the wire")]
pub(crate) struct Behaviour {
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
    pub(crate) idempotent: bool,
    pub(crate) open_world: bool,
    pub(crate) reversible: bool,
    pub(crate) affinity_session: bool,
    pub(crate) asks: bool,
}

/// A request as a person might word it, and the arguments that serve it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    pub(crate) request: String,
    pub(crate) arguments: String,
}

impl Example {
    /// An example; `arguments` is JSON text that the tool would accept.
    pub fn new(request: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { request: request.into(), arguments: arguments.into() }
    }
}

/// A kind of effect, for policies that name effects rather than tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Reads data of the workspace.
    Read,
    /// Changes data of the workspace.
    Write,
    /// Starts programs.
    Execute,
    /// Uses the network.
    Network,
}

impl Effect {
    /// As policies name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
            Self::Network => "network",
        }
    }
}

/// Relative price of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cost {
    /// Micro- to milliseconds of one core.
    #[default]
    Cheap,
    /// Seconds, or a paid request.
    Moderate,
    /// Minutes, or real money.
    Expensive,
}

/// Time after which a call is stopped if nobody asks for less.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

impl About {
    /// A description. `name` is `[a-z0-9_.-]{1,64}`; `purpose` says what the tool is for and
    /// `not_for` what it must not be called for, in whole sentences.
    pub fn new(
        name: impl Into<String>,
        purpose: impl Into<String>,
        not_for: impl Into<String>,
        example: Example,
    ) -> Self {
        Self {
            name: name.into(),
            purpose: purpose.into(),
            not_for: not_for.into(),
            words: String::new(),
            examples: vec![example],
            output_schema: None,
            behaviour: Behaviour { destructive: true, ..Behaviour::default() },
            effects: Vec::new(),
            removable: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            cost: Cost::Cheap,
            result_chars: 0,
            calls_per_minute: 0,
        }
    }

    /// Adds another example.
    #[must_use]
    pub fn example(mut self, example: Example) -> Self {
        self.examples.push(example);
        self
    }

    /// How people ask for it, in English and Chinese; becomes part of the description.
    #[must_use]
    pub fn words(mut self, words: impl Into<String>) -> Self {
        self.words = words.into();
        self
    }

    /// The tool changes nothing.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.behaviour.read_only = true;
        self.behaviour.destructive = false;
        self.behaviour.idempotent = true;
        self
    }

    /// Whether a change may destroy something that was there.
    #[must_use]
    pub fn destructive(mut self, destructive: bool) -> Self {
        self.behaviour.destructive = destructive;
        self
    }

    /// Repeating a call with the same arguments changes nothing more.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.behaviour.idempotent = true;
        self
    }

    /// The tool meets the world outside; what it returns is not to be trusted.
    #[must_use]
    pub fn open_world(mut self) -> Self {
        self.behaviour.open_world = true;
        self
    }

    /// [`crate::Tool::rollback`] can take an effect back.
    #[must_use]
    pub fn reversible(mut self) -> Self {
        self.behaviour.reversible = true;
        self
    }

    /// The calls of one session must meet the same instance.
    #[must_use]
    pub fn affinity_session(mut self) -> Self {
        self.behaviour.affinity_session = true;
        self
    }

    /// [`crate::Tool::preflight`] depends on the arguments and must be asked.
    #[must_use]
    pub fn asks(mut self) -> Self {
        self.behaviour.asks = true;
        self
    }

    /// What kinds of effect a call can have.
    #[must_use]
    pub fn effects(mut self, effects: &[Effect]) -> Self {
        self.effects = effects.to_vec();
        self
    }

    /// Those of the effects that the tool can do without when [`crate::Call::denies`] them.
    #[must_use]
    pub fn removable(mut self, effects: &[Effect]) -> Self {
        self.removable = effects.to_vec();
        self
    }

    /// Time after which a call is stopped if nobody asks for less; 30 s by default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Relative price of a call; cheap by default.
    #[must_use]
    pub fn cost(mut self, cost: Cost) -> Self {
        self.cost = cost;
        self
    }

    /// Characters of a result that a model should see at once, for a tool that pages its results
    /// itself; at most 16,000. By default the caller decides, mostly for 2,000.
    #[must_use]
    pub fn result_chars(mut self, chars: u32) -> Self {
        self.result_chars = chars;
        self
    }

    /// Calls that a team should make in a minute, at most, for a tool whose calls cost money or
    /// somebody's patience; any number by default, and a deployment may say otherwise.
    #[must_use]
    pub fn calls_per_minute(mut self, calls: u32) -> Self {
        self.calls_per_minute = calls;
        self
    }

    /// The shape of [`crate::Output::structured`].
    #[must_use]
    pub fn output<T: JsonSchema>(mut self) -> Self {
        self.output_schema = Some(crate::descriptor::schema::<T>());
        self
    }
}
