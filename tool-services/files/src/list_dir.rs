//! `list_dir`: what is in one folder. Which folder may be listed is decided in `workspace.rs`; how
//! rows are ordered and worded, in `listing.rs`. Searching below a folder is `find_files.rs`.

use std::{
    ffi::{CString, OsStr},
    num::NonZero,
    os::unix::ffi::OsStrExt,
};

use callboard_tool::{About, Call, Effect, Example, Failure, Output, Tool};
use rustix::fs::{AtFlags, Dir, readlinkat, statat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answer::{count, json, remark, shown_of},
    beneath::WallError,
    listing::{DEFAULT_LIMIT, Entry, Ranked, Row, Sort, text},
    meta::{Kind, Meta},
    relative::RelativePath,
    workspace::{Walls, within},
};

/// Lists a folder.
#[derive(Debug)]
pub(crate) struct ListDir;

/// What to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Path of the folder, relative to the workspace. Default: the workspace itself.
    path: Option<String>,
    /// What comes first: `name` (the default), `size` (largest first) or `modified` (newest first).
    #[serde(default)]
    sort: Sort,
    /// Most entries to show, at most 1,000. Default: 100. All are counted anyway.
    limit: Option<NonZero<u32>>,
}

/// The same for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// Path of the folder from the workspace, links resolved; `.` is the workspace itself.
    path: String,
    /// What comes first.
    sort: Sort,
    /// Entries of the folder, sensitive files not counted.
    total: u64,
    /// How many of them are files.
    files: u64,
    /// How many of them are folders.
    folders: u64,
    /// Sensitive files, which are not shown.
    hidden: u64,
    /// The first entries.
    entries: Vec<Entry>,
}

impl Tool for ListDir {
    type Args = Args;

    fn about(&self) -> About {
        About::new(
            "list_dir",
            "Lists what is in one folder of the workspace, with type, size in bytes and time of \
             the last change (UTC), sorted by name, by size or by time: so the first entry is the \
             largest or the newest. The first line of the answer says how many entries there are.",
            "Searching the folders below (find_files), reading a file (read_file), searching text \
             inside files (search_text).",
            Example::new("What is in the folder docs?", r#"{"path":"docs"}"#),
        )
        .words(
            "list, ls, dir, show a folder or directory; what is in, contents of a folder; newest, \
             latest, most recent, oldest file in a folder; largest, biggest file in a folder; how \
             many files are in a folder; file sizes. 列出, 目录, 文件夹, 有哪些文件, 最新的文件, \
             最近修改, 最大的文件, 多少个文件, 文件列表",
        )
        .example(Example::new(
            "Which is the newest file in meetings?",
            r#"{"path":"meetings","sort":"modified"}"#,
        ))
        .example(Example::new("What is the largest file here?", r#"{"sort":"size"}"#))
        .example(Example::new("列出 src 目录下的文件", r#"{"path":"src"}"#))
        .effects(&[Effect::Read])
        .read_only()
        .output::<Answer>()
    }

    async fn invoke(&self, args: Args, call: &Call) -> Result<Output, Failure> {
        within(call, move |walls| {
            let written = args.path.as_deref().unwrap_or(".");
            let folder = walls.folder(written, "read it with read_file")?;
            let listed = list(walls, &folder, &args);
            let (answer, rows) =
                listed.map_err(|error| walls.refuse(written, Kind::Folder, &error))?;
            Ok(Output::text(text(status(&answer), &rows)).structured(json(&answer)?))
        })
        .await
    }
}

fn list(walls: &Walls, path: &RelativePath, args: &Args) -> Result<(Answer, Vec<Row>), WallError> {
    let mut ranked = Ranked::new(args.sort, args.limit.map_or(DEFAULT_LIMIT, NonZero::get));
    let (mut files, mut folders, mut hidden) = (0, 0, 0);
    let folder = walls.root().open_folder(path)?;
    let system = |errno| WallError::from_errno(errno, path);
    for entry in Dir::read_from(&folder).map_err(system)? {
        let entry = entry.map_err(system)?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if walls.stop().is_cancelled() {
            return Err(WallError::Stopped);
        }
        let os_name = OsStr::from_bytes(name);
        // An entry that is gone by now is passed over.
        let Ok(stat) = statat(&folder, os_name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let meta = Meta::from(&stat);
        if meta.kind != Kind::Folder && walls.is_sensitive(name, Some(meta))? {
            hidden += 1;
            continue;
        }
        files += u64::from(meta.kind == Kind::File);
        folders += u64::from(meta.kind == Kind::Folder);
        let target = if meta.kind == Kind::Link {
            readlinkat(&folder, os_name, Vec::new()).ok().map(CString::into_bytes)
        } else {
            None
        };
        ranked.push(Row { path: path.join(name), meta, target });
    }
    let total = ranked.total;
    let rows = ranked.into_rows();
    let entries = rows.iter().map(Row::entry).collect();
    let path = path.to_string();
    Ok((Answer { path, sort: args.sort, total, files, folders, hidden, entries }, rows))
}

fn status(answer: &Answer) -> String {
    let Answer { path, sort, total, files, folders, hidden, entries } = answer;
    let what = if *total == 0 {
        ", nothing is in it".to_owned()
    } else {
        let (files, folders) =
            (count(*files, "file", "files"), count(*folders, "folder", "folders"));
        format!(" ({files}, {folders}), {}", sort.words())
    };
    let all = count(*total, "entry", "entries");
    let shown = shown_of(entries.len() as u64, *total);
    let hidden = remark(*hidden, "sensitive file is not shown", "sensitive files are not shown");
    format!("Listed {path}: {all}{what}{shown}.{hidden}")
}
