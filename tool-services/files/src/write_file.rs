//! `write_file`: a file's whole content, after a person saw the change. What it would do is in
//! `replace/plan.rs`, how it is done in `replace.rs`; here is who may do it when.

use callboard_tool::{
    About, Call, Effect, Example, Failure, Intent, Output, Recovered, Rollback, Tool, Undo, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answer::{count, json},
    change,
    replace::{Old, Plan, Written, replace_noting},
    under_way::UnderWay,
    workspace::within,
};

/// Writes a file.
#[derive(Debug)]
pub(crate) struct WriteFile {
    under_way: UnderWay,
}

impl WriteFile {
    pub(crate) fn new(under_way: UnderWay) -> Self {
        Self { under_way }
    }
}

/// What to write.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Path of the file, relative to the workspace, such as `notes/summary.md`. Missing folders are
    /// made.
    path: String,
    /// The whole content of the file afterwards, written as it is: no character is added, removed
    /// or changed.
    content: String,
}

/// The same for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// Path of the file from the workspace.
    path: String,
    /// Size of the file in bytes.
    size: u64,
    /// Lines of the file: line ends, plus one if the last line has none.
    lines: u64,
    /// Whether there was no such file before.
    created: bool,
    /// Whether anything was written; false if the file had this content already.
    changed: bool,
    /// Folders that were made.
    folders: Vec<String>,
}

impl Tool for WriteFile {
    type Args = Args;

    fn about(&self) -> About {
        About::new(
            "write_file",
            "Writes a text file of the workspace as a whole: makes a new file with its folders, or \
             replaces all that is in an old one. A person sees the change first and decides. The \
             content is written exactly as given.",
            "Looking at a file (read_file), changing a few places in one (edit_file), running a program (run_command), answers that nobody \
             asked to have saved.",
            Example::new(
                "Save \"Meet on Monday\" as notes/monday.md",
                r#"{"path":"notes/monday.md","content":"Meet on Monday\n"}"#,
            ),
        )
        .words(
            "write, save, store, create, make a file; put text into a file; save the summary, the \
             answer, the result as a file; overwrite, replace a file. 写入, 保存, 存为, 创建文件, \
             新建文件, 写到文件, 覆盖, 另存",
        )
        .example(Example::new(
            "Create hello.txt with the text hello",
            r#"{"path":"hello.txt","content":"hello\n"}"#,
        ))
        .example(Example::new(
            "把“明天开会”写入 todo.txt",
            r#"{"path":"todo.txt","content":"明天开会\n"}"#,
        ))
        .effects(&[Effect::Write])
        .destructive(true)
        .idempotent()
        .reversible()
        .asks()
        .output::<Answer>()
    }

    async fn preflight(&self, args: &Args, call: &Call) -> Verdict {
        let (path, content) = (args.path.clone(), args.content.clone());
        let room = call.intents().room();
        match within(call, move |walls| Plan::new(walls, path, content, room)).await {
            // There is nothing to decide about a write that changes nothing.
            Ok(plan) if plan.is_done() => {
                call.hold(plan);
                Verdict::Allow
            }
            Ok(plan) => {
                let what = if plan.old.is_some() { "replaces" } else { "makes" };
                let reason = format!("This {what} the file {}.", plan.path);
                let preview = plan.preview.clone();
                call.hold(plan);
                Verdict::Ask { reason, preview, irreversible: false }
            }
            // Nobody is asked about a write that cannot be.
            Err(failure) => Verdict::Block { reason: failure.message },
        }
    }

    async fn invoke(&self, args: Args, call: &Call) -> Result<Output, Failure> {
        // What the preview showed is what is written, or nothing.
        let Some(plan) = call.held::<Plan>() else {
            return Err(Failure::internal(format!("`{}` was not looked at first.", args.path)));
        };
        let (under_way, intents) = (self.under_way.clone(), call.intents().clone());
        within(call, move |walls| {
            if plan.is_done() {
                return output(&plan, &Written::AlreadyThere);
            }
            let _turn = under_way.begin(walls, &plan)?;
            let written = replace_noting(walls, &plan, |coming| {
                let done = Written::Done { parents: coming.parents.to_vec() };
                let told = output(&plan, &done)?;
                intents.keep_blocking(change::intent(&plan, coming, &told, intents.room())?)
            })?;
            output(&plan, &written)
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

fn output(plan: &Plan, written: &Written) -> Result<Output, Failure> {
    let path = &plan.path;
    let size = plan.content.len() as u64;
    let is_open = plan.content.last().is_some_and(|byte| *byte != b'\n');
    let lines = memchr::memchr_iter(b'\n', &plan.content).count() as u64 + u64::from(is_open);
    let extent = format!("{}, {}", count(size, "byte", "bytes"), count(lines, "line", "lines"));
    let (text, folders) = match written {
        Written::AlreadyThere => (
            format!("{path} has this very content already ({extent}); nothing was written."),
            &[][..],
        ),
        Written::Done { parents } => {
            let what =
                if plan.old.is_some() { "the old content is replaced" } else { "a new file" };
            (format!("Wrote {path}: {extent}; {what}."), &parents[..])
        }
    };
    let changed = *written != Written::AlreadyThere;
    let answer = Answer {
        path: path.to_string(),
        size,
        lines,
        created: changed && plan.old.is_none(),
        changed,
        folders: folders.iter().map(ToString::to_string).collect(),
    };
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
