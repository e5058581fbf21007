//! What a write would do, and how a person is shown it before it is done. Nothing is changed here.

use std::{ffi::OsStr, fmt::Write, io::Read, os::unix::ffi::OsStrExt, path::Path};

use callboard_tool::Failure;
use encoding_rs::UTF_8;
use sha2::{Digest, Sha256};

use crate::{
    answer::{count, number},
    beneath::WallError,
    diff::Diff,
    encoding::{Content, judge},
    meta::Meta,
    relative::RelativePath,
    workspace::Walls,
};

/// Largest file that is written, or replaced, in bytes.
pub(crate) const MAX_SIZE: u64 = 10 * 1024 * 1024;

/// A write that is not yet done.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The path as somebody wrote it.
    pub(crate) written: String,
    /// Where the file is, or will be.
    pub(crate) path: RelativePath,
    /// Its content afterwards.
    pub(crate) content: Vec<u8>,
    /// What is there now.
    pub(crate) old: Option<Old>,
    /// Permissions of the file afterwards, where they are not those of the old one.
    pub(crate) permissions: Option<u32>,
    /// What a person has to see.
    pub(crate) preview: String,
}

/// How a file's text changes.
pub(crate) struct Edit {
    /// What is there now.
    pub(crate) old: (Meta, Vec<u8>),
    /// Its content afterwards.
    pub(crate) content: Vec<u8>,
    /// Both as a person reads them.
    pub(crate) texts: (String, String),
    /// How many bytes of the old content can be kept.
    pub(crate) room: u64,
}

/// The file that is to be replaced.
#[derive(Clone, Debug)]
pub(crate) struct Old {
    pub(crate) meta: Meta,
    pub(crate) bytes: Vec<u8>,
    /// Whether it has the new content already.
    pub(crate) is_same: bool,
}

impl Plan {
    /// Looks at what is there and what would become of it. `room` is how many bytes of the old
    /// content can be kept for going back.
    ///
    /// # Errors
    /// The file may not be written, is no regular file, or is too large.
    pub(crate) fn new(
        walls: &Walls,
        written: String,
        content: String,
        room: u64,
    ) -> Result<Self, Failure> {
        let path = walls.target(&written)?;
        let Some(name) = path.file_name() else {
            return Err(Failure::unsupported(
                "The path is the workspace itself, a folder; name a file in it, such as \
                 `notes/a.md`.",
            ));
        };
        if written.ends_with('/') {
            return Err(Failure::unsupported(format!(
                "`{path}/` names a folder; name a file in it. Missing folders are made."
            )));
        }
        debug_assert!(!name.is_empty());
        let size = content.len() as u64;
        if size > MAX_SIZE {
            return Err(too_large(&path, "The content for", size));
        }
        let old = read_old(walls, &written, &path)?;
        let preview = match &old {
            None => preview_new(&path, &content),
            Some(old) => preview_old(&path, old, &content, room),
        };
        let old = old.map(|(meta, bytes)| {
            let is_same = bytes == content.as_bytes();
            Old { meta, bytes, is_same }
        });
        let content = content.into_bytes();
        Ok(Self { written, path, content, old, permissions: None, preview })
    }

    /// A change of a text file that stays what it is: in the same encoding, under the same name.
    ///
    /// # Errors
    /// It would become too large.
    pub(crate) fn edit(written: String, path: RelativePath, edit: Edit) -> Result<Self, Failure> {
        let Edit { old: (meta, bytes), content, texts, room } = edit;
        if content.len() as u64 > MAX_SIZE {
            return Err(too_large(&path, "The content for", content.len() as u64));
        }
        let mut notes = notes_old("Edit", &path, &bytes, (size(&content), room));
        notes.extend(encoding_note(&bytes, "it stays so."));
        note_links(&meta, &mut notes);
        let preview = shown(&path, notes, (Some(&bytes), &content), (&texts.0, &texts.1));
        let is_same = bytes == content;
        let old = Some(Old { meta, bytes, is_same });
        Ok(Self { written, path, content, old, permissions: None, preview })
    }

    /// Whether nothing has to be done.
    pub(crate) fn is_done(&self) -> bool {
        self.old.as_ref().is_some_and(|old| old.is_same)
    }

    /// Whether the file has the new content by now, whoever wrote it.
    pub(crate) fn is_already_there(&self, walls: &Walls) -> bool {
        let read = read_old(walls, &self.written, &self.path);
        matches!(read, Ok(Some((_, bytes))) if bytes == self.content)
    }

    pub(crate) fn parent(&self) -> RelativePath {
        self.path.parent().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.path.file_name().unwrap_or_default()))
    }
}

/// The content that is there now, if it may be seen.
pub(crate) fn read_old(
    walls: &Walls,
    written: &str,
    path: &RelativePath,
) -> Result<Option<(Meta, Vec<u8>)>, Failure> {
    let open = match walls.root().open_file(path) {
        Ok(open) => open,
        Err(WallError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(walls.refuse_change(written, &error)),
    };
    walls.guard_meta(written, path, open.meta)?;
    if open.meta.size > MAX_SIZE {
        return Err(too_large(path, "The present content of", open.meta.size));
    }
    let mut bytes = Vec::new();
    let read = open.file.take(MAX_SIZE + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        Failure::unavailable(format!("`{path}` cannot be read: {}.", error.kind()))
    })?;
    if bytes.len() as u64 > MAX_SIZE {
        return Err(too_large(path, "The present content of", bytes.len() as u64));
    }
    Ok(Some((open.meta, bytes)))
}

/// Whether folders have to be made is not looked at: one that another write makes meanwhile must not
/// change what a person has approved.
fn preview_new(path: &RelativePath, new: &str) -> String {
    let mut notes = vec![format!("Create {path}: {}.", size(new.as_bytes()))];
    if path.parent().is_some_and(|folder| !folder.is_root()) {
        notes.push("Folders of this path that are missing are made.".to_owned());
    }
    shown(path, notes, (None, new.as_bytes()), ("", new))
}

fn preview_old(path: &RelativePath, old: &(Meta, Vec<u8>), new: &str, room: u64) -> String {
    let (meta, bytes) = old;
    let mut notes = notes_old("Replace", path, bytes, (size(new.as_bytes()), room));
    let old_text = text(bytes, &mut notes);
    note_links(meta, &mut notes);
    shown(path, notes, (Some(bytes), new.as_bytes()), (&old_text, new))
}

fn notes_old(
    verb: &str,
    path: &RelativePath,
    bytes: &[u8],
    (new_size, room): (String, u64),
) -> Vec<String> {
    let kept = if bytes.len() as u64 <= room {
        "The old content is kept for some time, and can be restored."
    } else {
        "Not reversible: the old content is not kept."
    };
    vec![format!("{verb} {path}: {} become {new_size}.", size(bytes)), kept.to_owned()]
}

fn note_links(meta: &Meta, notes: &mut Vec<String>) {
    if meta.links > 1 {
        let others = count(meta.links - 1, "other name", "other names");
        notes.push(format!("It has {others} (hard links), where the old content stays."));
    }
}

/// The notes and the diff of two texts.
fn shown(
    path: &RelativePath,
    mut notes: Vec<String>,
    (old, content): (Option<&[u8]>, &[u8]),
    (old_text, new): (&str, &str),
) -> String {
    let diff = Diff::of(old_text, new);
    notes.push(format!("Lines: +{} −{}.", number(diff.added), number(diff.removed)));
    if diff.folded > 0 || diff.is_cut {
        let rest = count(diff.folded, "line", "lines");
        notes.push(format!(
            "The diff is too long to be shown whole: {rest} and the ends of very long lines are \
             left out. SHA-256 of the old content: {}; of the new content: {}.",
            hash(old.unwrap_or_default()),
            hash(content)
        ));
    }
    let from = if old.is_some() { path.to_string() } else { "/dev/null".to_owned() };
    format!("{}\n--- {from}\n+++ {path}\n{}", notes.join("\n"), diff.text)
}

fn size(bytes: &[u8]) -> String {
    count(bytes.len() as u64, "byte", "bytes")
}

/// The old content as text, with a note on what the diff cannot show.
fn text(bytes: &[u8], notes: &mut Vec<String>) -> String {
    match judge(bytes, true) {
        Content::Binary(name) => {
            notes.push(format!(
                "The old content is no text ({name}, SHA-256 {}); the diff shows only the new one.",
                hash(bytes)
            ));
            String::new()
        }
        Content::Text(kind) => {
            let (text, _) =
                kind.encoding.decode_without_bom_handling(&bytes[usize::from(kind.mark)..]);
            let becomes = format!("the new one is UTF-8 (old SHA-256: {}).", hash(bytes));
            notes.extend(encoding_note(bytes, &becomes));
            text.into_owned()
        }
    }
}

/// What is to be said of text that is not plain UTF-8.
fn encoding_note(bytes: &[u8], becomes: &str) -> Option<String> {
    let Content::Text(kind) = judge(bytes, true) else { return None };
    if kind.encoding == UTF_8 && kind.mark == 0 && std::str::from_utf8(bytes).is_ok() {
        return None;
    }
    let mark = if kind.mark > 0 { " with a byte order mark" } else { "" };
    Some(format!("The old content is {}{mark}; {becomes}", kind.encoding.name()))
}

pub(crate) fn hash(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn too_large(path: &RelativePath, what: &str, size: u64) -> Failure {
    Failure::too_large(format!(
        "{what} `{path}` has {}; files of at most {} (10 MiB) can be written. Nothing was changed.",
        count(size, "byte", "bytes"),
        count(MAX_SIZE, "byte", "bytes")
    ))
}
