//! `edit_file`: exact replacements in a text file, after a person saw the change. How they are
//! done is in `edit_file/apply.rs`, which is next; how the file takes its place, in `replace.rs`.

use callboard_tool::{
    About, Call, Effect, Example, Failure, FailureKind, Intent, Output, Recovered, Rollback, Tool,
    Undo, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    apply::{Replacement, apply},
    coded::Coded,
};
use crate::{
    answer::{count, json},
    beneath::WallError,
    change,
    meta::Kind,
    replace::{Edit, Old, Plan, Written, read_old, replace_noting},
    under_way::UnderWay,
    workspace::{Walls, within},
};

mod apply;
mod coded;
mod missed;

/// Edits a file.
#[derive(Debug)]
pub(crate) struct EditFile {
    under_way: UnderWay,
}

/// What to edit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Path of the file, relative to the workspace. It must exist.
    path: String,
    /// What to replace, in this order, each in what the ones before it left. If one does not fit,
    /// none is done.
    #[schemars(length(min = 1, max = 100))]
    edits: Vec<Replacement>,
}

/// The same for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// Path of the file from the workspace.
    path: String,
    /// Size of the file in bytes.
    size: u64,
    /// How many places were replaced.
    replacements: u64,
    /// Whether anything was written.
    changed: bool,
}

/// Edits that fit.
#[derive(Clone, Debug)]
struct Edited {
    plan: Plan,
    replacements: u64,
}

impl EditFile {
    pub(crate) fn new(under_way: UnderWay) -> Self {
        Self { under_way }
    }
}

impl Tool for EditFile {
    type Args = Args;

    fn about(&self) -> About {
        About::new(
            "edit_file",
            "Replaces exact pieces of text in an existing text file of the workspace and leaves \
             everything else as it is: encoding, line ends and permissions too. Each piece must be \
             there exactly once, unless all of them are meant; either all edits are done or none. \
             A person sees the change first and decides.",
            "Making a new file or replacing a whole one (write_file), looking at a file \
             (read_file), searching text (search_text), patterns or regular expressions.",
            Example::new(
                "Edit config.toml: replace \"port = 80\" by \"port = 8080\"",
                r#"{"path":"config.toml","edits":[{"old":"port = 80","new":"port = 8080"}]}"#,
            ),
        )
        .words(
            "edit a file, replace text in a file, substitute, fix a line, patch. 编辑文件, \
             修改文件, 替换文本",
        )
        .example(Example::new(
            "Replace every \"colour\" in style.css by \"color\"",
            r#"{"path":"style.css","edits":[{"old":"colour","new":"color","all":true}]}"#,
        ))
        .effects(&[Effect::Write])
        .destructive(true)
        .reversible()
        .asks()
        .output::<Answer>()
    }

    async fn preflight(&self, args: &Args, call: &Call) -> Verdict {
        let (path, edits) = (args.path.clone(), args.edits.clone());
        let room = call.intents().room();
        match within(call, move |walls| plan(walls, path, &edits, room)).await {
            // There is nothing to decide about edits that undo each other.
            Ok(edited) if edited.plan.is_done() => {
                call.hold(edited);
                Verdict::Allow
            }
            Ok(edited) => {
                let reason = format!("This changes the file {}.", edited.plan.path);
                let preview = edited.plan.preview.clone();
                call.hold(edited);
                Verdict::Ask { reason, preview, irreversible: false }
            }
            Err(failure) if failure.kind == FailureKind::Blocked => {
                Verdict::Block { reason: failure.message }
            }
            // Nobody is asked about edits that do not fit: the call itself says why.
            Err(failure) => {
                call.hold(failure);
                Verdict::Allow
            }
        }
    }

    async fn invoke(&self, args: Args, call: &Call) -> Result<Output, Failure> {
        if let Some(failure) = call.held::<Failure>() {
            return Err(Failure::clone(&failure));
        }
        // What the preview showed is what is written, or nothing.
        let Some(edited) = call.held::<Edited>() else {
            return Err(Failure::internal(format!("`{}` was not looked at first.", args.path)));
        };
        let (under_way, intents) = (self.under_way.clone(), call.intents().clone());
        within(call, move |walls| {
            let plan = &edited.plan;
            if plan.is_done() {
                return output(&edited, false);
            }
            let _turn = under_way.begin(walls, plan)?;
            let written = replace_noting(walls, plan, |coming| {
                let told = output(&edited, true)?;
                intents.keep_blocking(change::intent(plan, coming, &told, intents.room())?)
            })?;
            output(&edited, written != Written::AlreadyThere)
        })
        .await
    }

    async fn recover(&self, intent: Option<&Intent>, call: &Call) -> Recovered {
        change::recover(intent, call).await
    }

    async fn rollback(&self, undo: &Undo, call: &Call) -> Rollback {
        change::roll_back(undo, call).await
    }
}

fn plan(
    walls: &Walls,
    written: String,
    edits: &[Replacement],
    room: u64,
) -> Result<Edited, Failure> {
    let path = walls.target(&written)?;
    let Some(old) = read_old(walls, &written, &path)? else {
        return Err(walls.refuse(&written, Kind::File, &WallError::NotFound { path }));
    };
    let mut coded = Coded::new(&path, &old.1)?;
    let before = coded.shown().into_owned();
    let replacements = apply(&mut coded.text, edits)?;
    let content = coded.bytes(&path)?;
    let texts = (before, coded.shown().into_owned());
    let plan = Plan::edit(written, path, Edit { old, content, texts, room })?;
    Ok(Edited { plan, replacements })
}

fn output(edited: &Edited, changed: bool) -> Result<Output, Failure> {
    let Edited { plan, replacements } = edited;
    let path = &plan.path;
    let size = plan.content.len() as u64;
    let extent = count(size, "byte", "bytes");
    let text = if changed {
        let places = count(*replacements, "replacement", "replacements");
        format!("Edited {path}: {places}; it has {extent} now.")
    } else {
        format!("{path} has this very content already ({extent}); nothing was written.")
    };
    let answer = Answer { path: path.to_string(), size, replacements: *replacements, changed };
    let output = Output::text(format!("{text} Nothing more to do for this file."));
    let output = output.structured(json(&answer)?);
    Ok(match &plan.old {
        Some(Old { meta, .. }) if changed && meta.links > 1 => output.diagnostic(format!(
            "{path} had {} (hard links); the old content is still there.",
            count(meta.links - 1, "other name", "other names")
        )),
        Some(_) | None => output,
    })
}
