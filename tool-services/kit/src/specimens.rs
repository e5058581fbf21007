//! Tools that misbehave on demand, for the kit's own tests. What they did is written in a
//! [`Record`], so that a test never has to believe an answer.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::{
    About, Call, Effect, Example, Failure, Output, Rollback, Service, Tool, Undo, Verdict,
};

/// What happened inside the tools, whatever was answered.
#[derive(Debug)]
pub(crate) struct Record {
    started: Mutex<Vec<String>>,
    /// Works that were begun and are neither finished nor dropped.
    open: AtomicUsize,
    /// A permit lets one waiting work go on.
    pub(crate) gate: Semaphore,
    /// What `preflight` shows.
    pub(crate) preview: Mutex<String>,
    pub(crate) undone: Mutex<Vec<String>>,
}

impl Record {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            started: Mutex::default(),
            open: AtomicUsize::new(0),
            gate: Semaphore::new(0),
            preview: Mutex::new("old".to_owned()),
            undone: Mutex::default(),
        })
    }

    /// Ids of the calls that were begun, in order.
    pub(crate) fn started(&self) -> Vec<String> {
        self.started.lock().unwrap().clone()
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    /// Waits until so many calls were begun.
    pub(crate) async fn begun(&self, count: usize) {
        let begun = async {
            while self.started().len() < count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), begun).await.unwrap();
    }
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    /// Answers at once.
    Answer,
    /// Waits for a permit, then answers.
    Wait,
    /// Waits for a permit, and says so itself when it is stopped.
    WaitPolitely,
    /// Panics.
    Panic,
    /// Keeps its thread for a while.
    Block,
    /// Tells how far it is, then answers.
    Tell,
    /// Fails, in the way that the text names.
    Fail,
}

/// Arguments of a specimen.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What to do.
    act: Act,
    /// What to answer.
    #[serde(default)]
    text: String,
}

/// `look` changes nothing, `change` does, `ask` wants an approval, `refuse` never works.
#[derive(Debug)]
pub(crate) struct Specimen {
    name: &'static str,
    record: Arc<Record>,
}

impl Specimen {
    pub(crate) fn new(name: &'static str, record: &Arc<Record>) -> Self {
        Self { name, record: Arc::clone(record) }
    }
}

pub(crate) fn service(record: &Arc<Record>) -> Service {
    ["look", "change", "ask", "refuse"]
        .into_iter()
        .fold(Service::new("specimens", "1.0.0"), |service, name| {
            service.tool(Specimen::new(name, record))
        })
}

struct Open<'a>(&'a Record);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Tool for Specimen {
    type Args = Args;

    fn about(&self) -> About {
        let example = Example::new("Do it.", r#"{"act":"answer"}"#);
        let about = About::new(self.name, "Tests the kit.", "Anything else.", example)
            .words("test, 测试")
            .timeout(Duration::from_secs(30));
        match self.name {
            "look" => about.read_only().effects(&[Effect::Read]),
            "ask" => about.asks().effects(&[Effect::Read, Effect::Write]),
            "refuse" => about.asks(),
            _ => about
                .effects(&[Effect::Write, Effect::Network])
                .removable(&[Effect::Network])
                .reversible(),
        }
    }

    async fn preflight(&self, args: &Args, call: &Call) -> Verdict {
        match self.name {
            "ask" => {
                let preview = self.record.preview.lock().unwrap().clone();
                call.hold(preview.clone());
                Verdict::Ask { reason: "It writes.".to_owned(), preview, irreversible: true }
            }
            "refuse" if args.act == Act::Panic => panic!("while judging"),
            "refuse" => Verdict::Block { reason: "Never.".to_owned() },
            _ => Verdict::Allow,
        }
    }

    async fn invoke(&self, args: Args, call: &Call) -> Result<Output, Failure> {
        let record = &*self.record;
        record.open.fetch_add(1, Ordering::SeqCst);
        let _open = Open(record);
        record.started.lock().unwrap().push(call.id().to_owned());
        match args.act {
            Act::Answer => {}
            Act::Wait => record.gate.acquire().await.unwrap().forget(),
            Act::WaitPolitely => tokio::select! {
                permit = record.gate.acquire() => permit.unwrap().forget(),
                () = call.cancellation().cancelled() => {
                    return Err(Failure::cancelled("Stopped after 3 of 7."));
                }
            },
            Act::Panic => panic!("as asked"),
            #[expect(clippy::disallowed_methods, reason = "it is the misbehaviour under test")]
            Act::Block => std::thread::sleep(Duration::from_millis(600)),
            Act::Tell => {
                call.progress("begun");
                call.progress_at("half\tdone", 0.5);
                call.chunk(args.text.clone());
            }
            Act::Fail => {
                return Err(match args.text.as_str() {
                    "unavailable" => Failure::unavailable("Away."),
                    "timeout" => Failure::timeout("Too slow."),
                    "not_found" => Failure::not_found("Not there."),
                    "internal" => Failure::internal("Broken."),
                    _ => {
                        Failure::rate_limited("Too many.").retry_after(Duration::from_micros(1500))
                    }
                });
            }
        }
        let held = call.held::<String>().map(|held| held.to_string());
        Ok(Output::text(if args.text.is_empty() { "done".to_owned() } else { args.text })
            .structured(json!({"attempt": call.attempt(), "held": held}))
            .undo_token(call.id()))
    }

    async fn rollback(&self, undo: &Undo, _: &Call) -> Rollback {
        match undo.token.as_str() {
            "changed" => Rollback::Conflict("It was changed since.".to_owned()),
            "panic" => panic!("while taking back"),
            "wait" => {
                self.record.gate.acquire().await.unwrap().forget();
                self.record.undone.lock().unwrap().push(undo.token.clone());
                Rollback::Undone("waited".to_owned())
            }
            _ if undo.dry_run => Rollback::Undone("could".to_owned()),
            _ => {
                self.record.undone.lock().unwrap().push(undo.token.clone());
                Rollback::Undone("did".to_owned())
            }
        }
    }
}
