//! The walls as tools meet them: a path as somebody wrote it goes in, something open that may be
//! used comes out, or a [`Failure`] with a way out. Every tool that touches files starts here, for
//! reading, listing and changing alike; what it then does is its own business, beginning with
//! `read_file.rs`, which is next.

use std::sync::{Arc, OnceLock};

use callboard_tool::{Call, Failure, FailureKind, Verdict};
use tokio_util::sync::CancellationToken;

use crate::{
    beneath::{OpenFile, Resolved, Root, WallError},
    blocking::blocking,
    meta::{Kind, Meta},
    nearest::nearest,
    protected,
    relative::RelativePath,
    sensitive::{self, Sensitive, is_sensitive},
    shown::{Shown, unescape},
    walk::Entry,
};

mod pointed;
mod refusal;

use self::pointed::Pointed;

/// How often something is opened anew because a name became a link in between.
const MAX_TURNS: u32 = 32;

/// A workspace behind its walls, for one call.
#[derive(Clone, Debug)]
pub struct Walls(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    root: Root,
    stop: CancellationToken,
    /// Which files are sensitive, looked for when a file with several names is met.
    sensitive: OnceLock<Result<Sensitive, WallError>>,
    pointed: Pointed,
}

/// A file that may be read.
#[derive(Debug)]
pub struct Readable {
    /// Where it is, links resolved.
    pub path: RelativePath,
    /// The file itself.
    pub open: OpenFile,
}

/// Works inside the walls of a call's workspace, where it may block. The walls stop the work when
/// the call ends, also when this future is dropped.
///
/// # Errors
/// Those of `work`; or the call has no workspace, or it cannot be entered.
pub async fn within<T: Send + 'static>(
    call: &Call,
    work: impl FnOnce(&Walls) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let Some(workspace) = call.workspace() else {
        return Err(Failure::unsupported(
            "This tool works in a workspace, and the call comes without one.",
        ));
    };
    let folder = workspace.path.clone();
    blocking(call, move |stop| work(&Walls::around(&folder, stop)?)).await
}

/// What became of opening a file that a walk came across.
#[derive(Debug)]
pub enum Met {
    /// It may be read.
    File(OpenFile),
    /// It is sensitive.
    Hidden,
    /// It is not there any more, or something else is.
    Gone,
    /// It cannot be opened.
    Closed,
}

impl Walls {
    /// The walls around a folder. Blocks.
    ///
    /// # Errors
    /// The folder cannot be entered.
    pub fn around(folder: &std::path::Path, stop: &CancellationToken) -> Result<Self, Failure> {
        let root = Root::open(folder).map_err(|error| {
            Failure::unavailable(format!("The workspace cannot be entered: {error}."))
        })?;
        let sensitive = OnceLock::new();
        let pointed = Pointed::default();
        Ok(Self(Arc::new(Inner { root, stop: stop.clone(), sensitive, pointed })))
    }

    /// The workspace.
    pub fn root(&self) -> &Root {
        &self.0.root
    }

    /// Fires when the call has ended: work that takes long has to poll it.
    pub fn stop(&self) -> &CancellationToken {
        &self.0.stop
    }

    /// Opens a file for reading. Links are followed as long as they stay inside.
    ///
    /// # Errors
    /// `blocked` for a sensitive file, under whatever name; else what is in the way.
    pub fn read(&self, written: &str) -> Result<Readable, Failure> {
        for _ in 0..MAX_TURNS {
            let resolved = self.resolve(written, Kind::File)?;
            self.guard(written, &resolved)?;
            let path = resolved.path;
            match self.root().open_file(&path) {
                Ok(open) => {
                    self.guard_meta(written, &path, open.meta)?;
                    return Ok(Readable { path, open });
                }
                // It was replaced by a link or went away after it was resolved.
                Err(WallError::Link { .. } | WallError::NotFound { .. }) => {}
                Err(error) => return Err(self.refuse(written, Kind::File, &error)),
            }
        }
        Err(self.refuse(written, Kind::File, &WallError::Unsettled { path: RelativePath::root() }))
    }

    /// Where a file or folder is. Links are followed as long as they stay inside.
    ///
    /// # Errors
    /// What is in the way; `blocked` if it is a sensitive file.
    pub fn find(&self, written: &str) -> Result<(RelativePath, Meta), Failure> {
        self.locate(written, Kind::Unknown)
    }

    /// Where a folder is. `instead` says what to do with anything else.
    ///
    /// # Errors
    /// As for [`Walls::find`]; `unsupported` for anything but a folder.
    pub fn folder(&self, written: &str, instead: &str) -> Result<RelativePath, Failure> {
        match self.locate(written, Kind::Folder)? {
            (path, Meta { kind: Kind::Folder, .. }) => Ok(path),
            (path, meta) => Err(Failure::unsupported(format!(
                "`{path}` is a {}, not a folder; {instead}.",
                meta.kind
            ))),
        }
    }

    /// Where a file that is to be written, moved or deleted is, or would be. No link is followed.
    ///
    /// # Errors
    /// `blocked` for sensitive and protected files; else what is in the way.
    pub fn target(&self, written: &str) -> Result<RelativePath, Failure> {
        let path = self
            .root()
            .resolve_for_change(written.as_bytes())
            .map_err(|error| self.refuse_change(written, &error))?;
        if path.file_name().is_some_and(is_sensitive) {
            return Err(refusal::sensitive(written));
        }
        if let Some(reason) = protected::reason(&path) {
            return Err(Failure::blocked(format!(
                "`{path}` is not changed by any tool: {reason}. A person can change it."
            )));
        }
        Ok(path)
    }

    /// Whether the file `name` with these facts is sensitive, by its name or because it is a
    /// sensitive file under another one.
    ///
    /// # Errors
    /// That could not be found out: then it must not be used.
    pub fn is_sensitive(&self, name: &[u8], meta: Option<Meta>) -> Result<bool, WallError> {
        if is_sensitive(name) {
            return Ok(true);
        }
        let Some(meta) = meta.filter(|meta| meta.kind == Kind::File && meta.links > 1) else {
            return Ok(false);
        };
        let found = self.0.sensitive.get_or_init(|| sensitive::find(self.root(), &self.0.stop));
        let found = found.as_ref().map_err(Clone::clone)?;
        // What could not be looked at may be the sensitive name of this very file.
        Ok(found.unseen.is_some() || found.identities.contains(&meta.identity))
    }

    /// Whether a link with a sensitive name, in the folder of the file or above, leads to it.
    ///
    /// # Errors
    /// That could not be found out: then it must not be used.
    pub fn is_pointed_at(&self, path: &RelativePath, meta: Meta) -> Result<bool, WallError> {
        if meta.kind != Kind::File {
            return Ok(false);
        }
        self.0.pointed.has(self.root(), path, meta.identity)
    }

    /// Opens a file that a walk came across, if it may be read. What it holds must not be told where
    /// [`Walls::is_pointed_at`] says so.
    ///
    /// # Errors
    /// Whether it is sensitive could not be found out: then nothing may be used.
    pub fn open_entry(&self, entry: &Entry<'_>) -> Result<Met, WallError> {
        // A name is enough for most sensitive files: those are not even opened.
        if is_sensitive(entry.name()) {
            return Ok(Met::Hidden);
        }
        match entry.open() {
            Ok(open) if self.is_sensitive(b"", Some(open.meta))? => Ok(Met::Hidden),
            Ok(open) => Ok(Met::File(open)),
            Err(WallError::NotFound { .. } | WallError::Link { .. }) => Ok(Met::Gone),
            Err(_) => Ok(Met::Closed),
        }
    }

    /// What a preflight makes of an attempt: what is blocked is blocked at once, and every other
    /// failure is told by the call itself.
    pub fn verdict<T>(attempt: Result<T, Failure>) -> Verdict {
        match attempt {
            Err(failure) if failure.kind == FailureKind::Blocked => {
                Verdict::Block { reason: failure.message }
            }
            Ok(_) | Err(_) => Verdict::Allow,
        }
    }

    /// Words a failure of the wall for the path that somebody wrote.
    pub fn refuse(&self, written: &str, wanted: Kind, error: &WallError) -> Failure {
        let near = if matches!(error, WallError::NotFound { .. }) {
            nearest(self.root(), written, wanted, &self.0.stop)
        } else {
            Vec::new()
        };
        refusal::for_reading(written, wanted, error, &near)
    }

    /// The same for a path that was to be changed.
    pub fn refuse_change(&self, written: &str, error: &WallError) -> Failure {
        match error {
            WallError::Link { path } => refusal::link(path, self.root().resolve(path.as_bytes())),
            error => refusal::for_reading(written, Kind::Folder, error, &[]),
        }
    }

    fn locate(&self, written: &str, wanted: Kind) -> Result<(RelativePath, Meta), Failure> {
        let resolved = self.resolve(written, wanted)?;
        self.guard(written, &resolved)?;
        let node = self.root().node(&resolved.path);
        let meta = node.map_err(|error| self.refuse(written, wanted, &error))?.meta;
        self.guard_meta(written, &resolved.path, meta)?;
        Ok((resolved.path, meta))
    }

    fn resolve(&self, written: &str, wanted: Kind) -> Result<Resolved, Failure> {
        let mut resolved = self.root().resolve(written.as_bytes());
        // A name that is no text is shown escaped and may be given back as it was shown.
        if let (Err(WallError::NotFound { .. }), Some(bytes)) = (&resolved, unescape(written)) {
            resolved = self.root().resolve(&bytes).or(resolved);
        }
        resolved.map_err(|error| self.refuse(written, wanted, &error))
    }

    /// Refuses a path if any name that leads to it is sensitive.
    fn guard(&self, written: &str, resolved: &Resolved) -> Result<(), Failure> {
        let mut last_names = resolved.through.iter().chain([&resolved.path]);
        if last_names.any(|path| path.file_name().is_some_and(is_sensitive))
            && self.root().node(&resolved.path).is_ok_and(|node| node.meta.kind == Kind::File)
        {
            return Err(refusal::sensitive(written));
        }
        Ok(())
    }

    /// Refuses a file that is sensitive under another name.
    pub(crate) fn guard_meta(
        &self,
        written: &str,
        path: &RelativePath,
        meta: Meta,
    ) -> Result<(), Failure> {
        let is_pointed = || self.is_pointed_at(path, meta);
        match self.is_sensitive(b"", Some(meta)).and_then(|is| Ok(is || is_pointed()?)) {
            Ok(false) => Ok(()),
            Ok(true) => Err(refusal::sensitive(written)),
            Err(error) => Err(self.refuse(written, Kind::File, &error)),
        }
    }
}

/// A path as it is named in a sentence.
pub(crate) fn named(written: &str) -> String {
    format!("`{}`", Shown(written.as_bytes()))
}
