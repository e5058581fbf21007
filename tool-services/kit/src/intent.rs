//! What a tool is about to do and how it is taken back, kept durably before it is done. After a
//! crash it tells which side of the effect the process died on; later it is what a rollback works
//! from. Where it is kept is `store.rs`' business, which is next.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Failure,
    outcomes::Key,
    store::{Kept, Store},
};

/// Largest facts of an intent, as JSON.
pub(crate) const FACTS: usize = 64 * 1024;

/// A record of one effect: facts of the tool's own making (what, where, a hash of the state before
/// and of the state after) and, where it takes that to go back, the old content.
///
/// A tool that can be undone, and that knows after a crash whether it was done. It keeps its intent
/// right before one atomic step, and its other two methods look at which side of it the world is:
///
/// ```
/// use std::{fs, io, path::PathBuf};
///
/// use callboard_tool::{
///     About, Call, Effect, Example, Failure, Intent, Output, Recovered, Rollback, Service,
///     StoreSettings, Tool, Undo, UndoMode, testing,
/// };
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
/// use serde_json::json;
///
/// /// Sets the motto.
/// struct SetMotto(PathBuf);
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct Args {
///     /// The new motto.
///     motto: String,
/// }
///
/// /// What there was, and what there is after.
/// #[derive(Deserialize, Serialize)]
/// struct Change {
///     before: String,
///     after: String,
/// }
///
/// impl SetMotto {
///     fn now(&self) -> Result<String, Failure> {
///         fs::read_to_string(&self.0).map_err(|_| Failure::unavailable("No motto can be read."))
///     }
///
///     /// One atomic step: the old motto or the new one, never half of it.
///     fn put(&self, motto: &str) -> io::Result<()> {
///         let beside = self.0.with_extension("new");
///         fs::write(&beside, motto)?;
///         fs::File::open(&beside)?.sync_all()?;
///         fs::rename(beside, &self.0)
///     }
/// }
///
/// impl Tool for SetMotto {
///     type Args = Args;
///
///     fn about(&self) -> About {
///         let example = Example::new("Our motto is: onwards", r#"{"motto":"onwards"}"#);
///         About::new("set_motto", "Sets the motto.", "Reading it.", example)
///             .words("motto, 座右铭")
///             .effects(&[Effect::Write])
///             .reversible()
///     }
///
///     async fn invoke(&self, args: Args, call: &Call) -> Result<Output, Failure> {
///         let change = Change { before: self.now()?, after: args.motto };
///         call.intend(Intent::new(&change)?).await?;
///         self.put(&change.after).map_err(|_| Failure::unavailable("It cannot be written."))?;
///         Ok(Output::text("Set."))
///     }
///
///     async fn recover(&self, intent: Option<&Intent>, _: &Call) -> Recovered {
///         // Without an intent nothing was done yet.
///         let Some(intent) = intent else { return Recovered::Untouched };
///         match (intent.facts::<Change>(), self.now()) {
///             (Ok(change), Ok(now)) if now == change.after => {
///                 Recovered::Done(Output::text("Set."))
///             }
///             (Ok(change), Ok(now)) if now == change.before => Recovered::Untouched,
///             _ => Recovered::Unknown,
///         }
///     }
///
///     async fn rollback(&self, undo: &Undo, _: &Call) -> Rollback {
///         let change = undo.intent.as_ref().map(Intent::facts::<Change>);
///         let (Some(Ok(change)), Ok(mut now)) = (change, self.now()) else {
///             return Rollback::NotReversible("What was there before is not known.".to_owned());
///         };
///         // What a dry run takes for taken back by then.
///         for later in undo.assumed.iter().filter_map(|later| later.facts::<Change>().ok()) {
///             now = if now == later.after { later.before } else { now };
///         }
///         let is_changed = now != change.after && now != change.before;
///         if is_changed && undo.mode != UndoMode::Force {
///             return Rollback::Conflict(format!("It was changed since, and is {now:?} now."));
///         }
///         // A dry run says the same and changes nothing.
///         if !undo.dry_run && self.put(&change.before).is_err() {
///             return Rollback::NotReversible("It cannot be written.".to_owned());
///         }
///         Rollback::Undone(format!("The motto is {:?} again.", change.before))
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let motto = folder.path().join("motto");
/// fs::write(&motto, "slowly")?;
/// let service = Service::new("mottos", "1.0.0").tool(SetMotto(motto.clone()));
/// let served = testing::start_with(service, |config| {
///     config.store = Some(StoreSettings::new(folder.path().join("store")));
/// })
/// .await?;
/// let call = served.call("set_motto", &json!({"motto": "onwards"}));
/// served.start(call.clone()).await?.map_err(|failure| failure.message)?;
/// assert_eq!(fs::read_to_string(&motto)?, "onwards");
/// served.undo(&call, "a wish of this name is granted once").await?;
/// assert_eq!(fs::read_to_string(&motto)?, "slowly");
/// # served.stop().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    pub(crate) facts: String,
    pub(crate) content: Option<Bytes>,
}

impl Intent {
    /// An intent with these facts, kept as JSON of at most 64 KiB.
    ///
    /// # Errors
    /// `internal`: the facts cannot be written as JSON, or are too long.
    pub fn new<T: Serialize>(facts: &T) -> Result<Self, Failure> {
        let facts = serde_json::to_string(facts)
            .map_err(|error| Failure::internal(format!("The effect cannot be noted: {error}.")))?;
        if facts.len() > FACTS {
            return Err(Failure::internal("The facts of the effect are too long to be noted."));
        }
        Ok(Self { facts, content: None })
    }

    /// Adds what was there before, at most [`Intents::room`] bytes.
    #[must_use]
    pub fn content(mut self, content: impl Into<Bytes>) -> Self {
        self.content = Some(content.into());
        self
    }

    /// The facts.
    ///
    /// # Errors
    /// `unsupported`: they were written by a version of the tool that this one cannot read.
    pub fn facts<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.facts).map_err(|error| {
            Failure::unsupported(format!("The record of the effect cannot be read: {error}."))
        })
    }

    /// What was there before, if it was kept.
    pub fn kept(&self) -> Option<&Bytes> {
        self.content.as_ref()
    }
}

/// Keeps the intent of one call. A clone can be moved to where the work blocks.
#[derive(Clone, Debug, Default)]
pub struct Intents {
    place: Option<Place>,
    kept: Arc<AtomicBool>,
}

#[derive(Clone, Debug)]
struct Place {
    store: Store,
    key: Arc<Key>,
    tool: Arc<str>,
}

impl Intents {
    pub(crate) fn new(store: Store, key: Arc<Key>, tool: &str) -> Self {
        Self { place: Some(Place { store, key, tool: tool.into() }), kept: Arc::default() }
    }

    /// Bytes that the content of an intent may have; 0 where the service has no store, so that
    /// nothing can be taken back. The same for every call.
    pub fn room(&self) -> u64 {
        self.place.as_ref().map_or(0, |place| place.store.room())
    }

    /// Keeps an intent durably. To be done once in a call, right before the effect: until it
    /// returns nothing may have been changed. Without a store it does nothing.
    ///
    /// # Errors
    /// It cannot be kept: then the effect must not be had. `unavailable` if the disk is full.
    pub async fn keep(&self, intent: Intent) -> Result<(), Failure> {
        let Some(place) = self.begin(&intent)? else { return Ok(()) };
        self.end(place.store.intend(&place.key, &place.tool, intent).await)
    }

    /// The same where the work blocks.
    ///
    /// # Errors
    /// As for [`Intents::keep`].
    ///
    /// # Panics
    /// Within an asynchronous task.
    pub fn keep_blocking(&self, intent: Intent) -> Result<(), Failure> {
        let Some(place) = self.begin(&intent)? else { return Ok(()) };
        self.end(place.store.intend_blocking(&place.key, &place.tool, intent))
    }

    /// Whether an intent was kept, so that there is something to take back.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Acquire)
    }

    fn begin(&self, intent: &Intent) -> Result<Option<&Place>, Failure> {
        let Some(place) = &self.place else { return Ok(None) };
        if self.is_kept() {
            return Err(Failure::internal("A call has one effect; another was to be noted."));
        }
        let (size, room) =
            (intent.content.as_ref().map_or(0, |content| content.len() as u64), self.room());
        if size > room {
            return Err(Failure::too_large(format!(
                "What was there before has {size} bytes; at most {room} can be kept. Nothing was \
                 changed."
            )));
        }
        Ok(Some(place))
    }

    fn end(&self, kept: Result<Kept, crate::store::Fault>) -> Result<(), Failure> {
        match kept {
            Ok(Kept::Done) => {
                self.kept.store(true, Ordering::Release);
                Ok(())
            }
            Ok(Kept::NotOurs) => Err(Failure::conflict(
                "Another process of this service has taken the call over; nothing was changed.",
            )),
            Err(fault) => Err(Failure::unavailable(format!(
                "The effect cannot be noted first, so nothing was changed: {fault}."
            ))),
        }
    }
}
