//! `find_files`: files below a folder by their names. The walk is in `walk.rs`, the pattern in
//! `glob.rs`, order and wording of rows in `listing.rs`. Searching inside files is the search
//! service's.

use std::{num::NonZero, ops::ControlFlow};

use callboard_tool::{About, Call, Effect, Example, Failure, Output, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answer::{count, json, remark, shown_of},
    beneath::WallError,
    glob::Pattern,
    listing::{DEFAULT_LIMIT, Entry, Ranked, Row, Sort, text},
    meta::Kind,
    relative::RelativePath,
    shown::line,
    walk::{Ignoring, Walk},
    workspace::{Walls, within},
};

/// Finds files by name.
#[derive(Debug)]
pub(crate) struct FindFiles;

/// What to find.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Glob over the file's path below `path`: `*`, `?`, `[ab]`, `{a,b}`, and `**` for any number
    /// of folders. Without a slash it is about the name, at any depth: `*.rs`, `README*`; `./*.rs`
    /// is about files that lie in `path` itself.
    pattern: String,
    /// Folder to search, relative to the workspace. Default: the whole workspace.
    path: Option<String>,
    /// What comes first: `name` (the default), `size` (largest first) or `modified` (newest first).
    #[serde(default)]
    sort: Sort,
    /// Most files to show, at most 1,000. Default: 100. All are counted anyway.
    limit: Option<NonZero<u32>>,
}

/// The same for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// The pattern.
    pattern: String,
    /// Path of the folder from the workspace, links resolved; `.` is the workspace itself.
    path: String,
    /// What comes first.
    sort: Sort,
    /// Files that match, sensitive ones not counted.
    total: u64,
    /// Sensitive files that match and are not shown.
    hidden: u64,
    /// Folders that this service may not read, so that files in them were not found.
    unreadable_folders: u64,
    /// The first files.
    files: Vec<Entry>,
}

impl Tool for FindFiles {
    type Args = Args;

    fn about(&self) -> About {
        About::new(
            "find_files",
            "Finds files by name or extension in a folder of the workspace and all folders below \
             it, with size in bytes and time of the last change (UTC), sorted by name, by size or \
             by time: so the first one is the largest or the newest. The first line of the answer \
             says how many files match. What .gitignore and .ignore name is left out.",
            "Searching for words inside files (search_text), listing one folder with its \
             subfolders (list_dir), reading a file (read_file).",
            Example::new("Find all Rust files below src", r#"{"pattern":"*.rs","path":"src"}"#),
        )
        .words(
            "find, locate, glob files by name, by extension, by pattern; where is the file; all \
             .rs, .md, .py files below, under a folder; how many files of a kind; largest, \
             biggest, newest, latest file below a folder, recursively. 查找文件, 找到, 寻找文件, \
             按名称, 所有某类文件, 文件在哪里, 共有多少个文件, 最大的, 最新的",
        )
        .example(Example::new(
            "Which is the largest .rs file under orchestrator?",
            r#"{"pattern":"**/*.rs","path":"orchestrator","sort":"size"}"#,
        ))
        .example(Example::new(
            "What is the newest Markdown file?",
            r#"{"pattern":"*.md","sort":"modified","limit":1}"#,
        ))
        .example(Example::new("查找所有 Python 文件", r#"{"pattern":"*.py"}"#))
        .effects(&[Effect::Read])
        .read_only()
        .output::<Answer>()
    }

    async fn invoke(&self, args: Args, call: &Call) -> Result<Output, Failure> {
        within(call, move |walls| {
            let pattern = Pattern::new(&args.pattern).map_err(|wrong| {
                Failure::invalid_arguments(wrong.clone()).violation("/pattern", wrong)
            })?;
            let written = args.path.as_deref().unwrap_or(".");
            let folder = walls.folder(written, "name the folder that holds it, or read it")?;
            let found = find(walls, &folder, &pattern, &args);
            let (answer, rows) =
                found.map_err(|error| walls.refuse(written, Kind::Folder, &error))?;
            Ok(Output::text(text(status(&answer), &rows)).structured(json(&answer)?))
        })
        .await
    }
}

/// What one thread of the walk found.
struct Found {
    ranked: Ranked,
    hidden: u64,
    failed: Option<WallError>,
}

fn find(
    walls: &Walls,
    folder: &RelativePath,
    pattern: &Pattern,
    args: &Args,
) -> Result<(Answer, Vec<Row>), WallError> {
    let limit = args.limit.map_or(DEFAULT_LIMIT, NonZero::get);
    let new = || Found { ranked: Ranked::new(args.sort, limit), hidden: 0, failed: None };
    let above = if folder.is_root() { 0 } else { folder.as_bytes().len() + 1 };
    let walk = Walk {
        root: walls.root(),
        start: folder.clone(),
        ignoring: Ignoring::Rules,
        stop: walls.stop(),
    };
    let (parts, unseen) = walk.run(new, |found, entry| {
        if entry.kind != Kind::File {
            return ControlFlow::Continue(());
        }
        let path = entry.path();
        if !pattern.matches(&path.as_bytes()[above..], entry.name()) {
            return ControlFlow::Continue(());
        }
        // A file that is gone by now is passed over.
        let Ok(meta) = entry.meta() else { return ControlFlow::Continue(()) };
        match walls.is_sensitive(entry.name(), Some(meta)) {
            Ok(true) => found.hidden += 1,
            Ok(false) => found.ranked.push(Row { path, meta, target: None }),
            Err(error) => {
                found.failed = Some(error);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    let mut all = new();
    for part in parts {
        if let Some(error) = part.failed {
            return Err(error);
        }
        all.hidden += part.hidden;
        all.ranked.merge(part.ranked);
    }
    let total = all.ranked.total;
    let rows = all.ranked.into_rows();
    let answer = Answer {
        pattern: args.pattern.clone(),
        path: folder.to_string(),
        sort: args.sort,
        total,
        hidden: all.hidden,
        unreadable_folders: unseen.folders,
        files: rows.iter().map(Row::entry).collect(),
    };
    Ok((answer, rows))
}

fn status(answer: &Answer) -> String {
    let Answer { path, sort, total, hidden, unreadable_folders, files, .. } = answer;
    let place = if path == "." { "in the workspace".to_owned() } else { format!("under {path}") };
    let pattern = line(answer.pattern.as_bytes());
    let all = count(*total, "file", "files");
    let order = if *total > 1 { format!(", {}", sort.words()) } else { String::new() };
    let shown = shown_of(files.len() as u64, *total);
    let hidden = remark(
        *hidden,
        "sensitive file matches and is not shown",
        "sensitive files match and are not shown",
    );
    let unread = remark(*unreadable_folders, "folder cannot be read", "folders cannot be read");
    format!("Found {all} matching {pattern} {place}{order}{shown}.{hidden}{unread}")
}
