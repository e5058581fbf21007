//! Tools that write a line to a ledger, and kill their own process where a file says so.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::PathBuf,
    time::Duration,
};

use callboard_tool::{
    About, Call, Effect, Example, Failure, Intent, Output, Recovered, Rollback, Service, Tool, Undo,
};
use rustix::process::{Signal, getpid, kill_process};
use schemars::JsonSchema;
use serde::Deserialize;

/// Names the ledger; beside it, with the suffix `die`, when to be killed.
pub(crate) const FILE: &str = "CALLBOARD_TEST_LEDGER";

pub(crate) fn service() -> Service {
    ["look", "blind", "careful", "slow"]
        .into_iter()
        .fold(Service::new("ledger", "1.0.0"), |service, name| service.tool(Ledger { name }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What to write.
    line: String,
}

struct Ledger {
    name: &'static str,
}

fn file() -> PathBuf {
    std::env::var_os(FILE).unwrap().into()
}

fn write(line: &str) {
    let mut ledger = OpenOptions::new().create(true).append(true).open(file()).unwrap();
    writeln!(ledger, "{line}").unwrap();
    ledger.sync_all().unwrap();
}

fn has(line: &str) -> bool {
    fs::read_to_string(file()).unwrap_or_default().lines().any(|one| one == line)
}

/// Kills this process, once, if it is to die now.
fn die_at(when: &str) {
    let mark = file().with_extension("die");
    if fs::read_to_string(&mark).is_ok_and(|text| text == when) {
        fs::remove_file(mark).unwrap();
        kill_process(getpid(), Signal::KILL).unwrap();
        loop {
            std::thread::park();
        }
    }
}

impl Tool for Ledger {
    type Args = Args;

    fn about(&self) -> About {
        let example = Example::new("Write x", r#"{"line":"x"}"#);
        let about = About::new(self.name, "Writes a line.", "Anything else.", example).words("写");
        match self.name {
            "look" => about.read_only().effects(&[Effect::Read]),
            _ => about.effects(&[Effect::Write]).reversible(),
        }
    }

    async fn invoke(&self, args: Args, call: &Call) -> Result<Output, Failure> {
        if self.name == "look" {
            return Ok(Output::text("seen"));
        }
        die_at("before");
        if self.name == "careful" {
            call.intend(Intent::new(&args.line)?).await?;
        }
        die_at("noted");
        if self.name == "slow" {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        write(&args.line);
        die_at("after");
        Ok(Output::text("written"))
    }

    async fn recover(&self, intent: Option<&Intent>, _: &Call) -> Recovered {
        match (self.name, intent.map(|intent| intent.facts::<String>().unwrap())) {
            ("careful", Some(line)) if has(&line) => Recovered::Done(Output::text("found written")),
            ("careful", _) => Recovered::Untouched,
            _ => Recovered::Unknown,
        }
    }

    async fn rollback(&self, undo: &Undo, _: &Call) -> Rollback {
        let Some(intent) = &undo.intent else {
            return Rollback::NotReversible("Nothing is known of it.".to_owned());
        };
        let line: String = intent.facts().unwrap();
        die_at("undo_before");
        if has(&line) {
            fs::write(file(), format!("- {line}\n")).unwrap();
        }
        die_at("undo_after");
        Rollback::Undone("struck out".to_owned())
    }
}
