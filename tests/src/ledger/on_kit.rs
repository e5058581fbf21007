//! The same ledger as a team would write it, on the kit, with a store: outcomes, attach and epochs are
//! the kit's. The file with the lines stays the oracle.

use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use callboard_tool::{
    About, Call, Effect, Example, Failure, Intent, Output, Rollback, Service, Tool, Undo,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{LEDGER_KEEP, STRUCK};

/// The service over the file at `path`.
pub(super) fn service(path: &Path) -> Service {
    let note = |name| Note { name, path: path.to_owned() };
    Service::new("ledger", "0.1.0")
        .tool(note("ledger_read"))
        .tool(note("ledger_put"))
        .tool(note("ledger_add"))
        .tool(note(LEDGER_KEEP))
}

struct Note {
    name: &'static str,
    path: PathBuf,
}

/// What to note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The line.
    note: String,
    /// How long the work takes after it, in milliseconds.
    work_ms: u64,
}

impl Tool for Note {
    type Args = Args;

    fn about(&self) -> About {
        let example = Example::new("note a line", r#"{"note":"a line","work_ms":0}"#);
        let about = About::new(self.name, "Notes a line in the ledger.", "Not for files.", example)
            .words("note a line, put it in the ledger; 记一笔")
            .destructive(false)
            .timeout(Duration::from_mins(1));
        match self.name {
            "ledger_read" => about.read_only().effects(&[Effect::Read]),
            LEDGER_KEEP => about.reversible().effects(&[Effect::Write]),
            "ledger_put" => about.idempotent().effects(&[Effect::Write]),
            _ => about.effects(&[Effect::Write]),
        }
    }

    async fn invoke(&self, args: Args, call: &Call) -> Result<Output, Failure> {
        if self.name == LEDGER_KEEP {
            call.intend(Intent::new(&args.note)?).await?;
        }
        self.write(call.id());
        tokio::time::sleep(Duration::from_millis(args.work_ms)).await;
        Ok(Output::text(format!("noted {}", args.note)))
    }

    async fn rollback(&self, undo: &Undo, call: &Call) -> Rollback {
        if !undo.dry_run {
            self.write(&format!("{STRUCK}{}", call.id()));
        }
        Rollback::Undone("Its line is struck out.".to_owned())
    }
}

impl Note {
    fn write(&self, line: &str) {
        let mut file = File::options().append(true).open(&self.path).unwrap();
        writeln!(file, "{line}").unwrap();
        file.sync_data().unwrap();
    }
}
