//! Landlock: what the command may open, as a wall of its own behind the view of files, or as the
//! only one where there is no such view. All rights that the kernel knows are taken; what is
//! granted here is all there is.
//!
//! Next: `syscalls.rs`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
    make_bitflags,
};
use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};

use crate::plan::{Isolation, Plan};

use super::masks::find;
use super::view::{DEVICES, ETC, SYSTEM};
use super::{During as _, LaunchError};

/// The least that Landlock must be able to do.
const LEAST: ABI = ABI::V3;
/// All that we know of; what the kernel lacks of it is left out.
const MOST: ABI = ABI::V10;
/// Entries that are granted one by one, at most.
const ENTRIES: usize = 10_000;

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});
const RUN: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir | Execute});

/// Takes everything away but what the plan grants.
pub(super) fn restrict(plan: &Plan) -> Result<(), LaunchError> {
    let mut grants = Grants { ruleset: Some(handle_all(plan.isolation)?), entries: 0 };
    for path in SYSTEM {
        grants.path(Path::new(path), RUN)?;
    }
    for path in DEVICES.map(|name| Path::new("/dev").join(name)) {
        grants.path(&path, make_bitflags!(AccessFs::{ReadFile | WriteFile}))?;
    }
    let everything = all() & !make_bitflags!(AccessFs::{MakeChar | MakeBlock});
    grants.path(Path::new(&plan.scratch), everything)?;
    let workspace = if plan.is_writable { everything } else { RUN };
    match plan.isolation {
        Isolation::Namespaces => {
            // Only what the view shows is there.
            grants.path(Path::new("/"), AccessFs::ReadDir.into())?;
            grants.path(Path::new("/etc"), READ)?;
            grants.path(Path::new("/proc"), READ)?;
            grants.path(Path::new("/dev/shm"), everything)?;
            grants.path(Path::new(&plan.workspace), workspace)?;
        }
        Isolation::Landlock => {
            for path in ETC.map(|name| Path::new("/etc").join(name)) {
                grants.path(&path, READ)?;
            }
            grants.around(plan, workspace)?;
        }
    }
    grants.enforce()
}

fn all() -> BitFlags<AccessFs> {
    AccessFs::from_all(MOST)
}

fn handle_all(isolation: Isolation) -> Result<RulesetCreated, LaunchError> {
    let scopes = match isolation {
        Isolation::Namespaces => CompatLevel::BestEffort,
        // Nothing else keeps its signals in.
        Isolation::Landlock => CompatLevel::HardRequirement,
    };
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))
        .and_then(|ruleset| ruleset.set_compatibility(CompatLevel::BestEffort).handle_access(all()))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(MOST)))
        .and_then(|ruleset| ruleset.set_compatibility(scopes).scope(Scope::from_all(MOST)))
        .and_then(|ruleset| ruleset.set_compatibility(CompatLevel::BestEffort).create())
        .map_err(|error| LaunchError::Landlock(error.to_string()))
}

/// The rules so far.
struct Grants {
    ruleset: Option<RulesetCreated>,
    entries: usize,
}

impl Grants {
    /// Grants a path and all below it, if it is there. Links are followed: they are the system's.
    fn path(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), LaunchError> {
        match open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(handle) => self.handle(&handle, access),
            Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error).during(format!("granting {}", path.display())),
        }
    }

    fn handle(
        &mut self,
        handle: &OwnedFd,
        mut access: BitFlags<AccessFs>,
    ) -> Result<(), LaunchError> {
        let found = fstat(handle).during("granting a path")?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            access &= AccessFs::from_file(MOST);
        }
        let refused = |error: landlock::RulesetError| LaunchError::Landlock(error.to_string());
        let ruleset = self.ruleset.take().map(|ruleset| {
            ruleset.add_rule(PathBeneath::new(handle.as_fd(), access)).map_err(refused)
        });
        self.ruleset = ruleset.transpose()?;
        Ok(())
    }

    /// Grants the workspace around what is hidden or kept in it: a folder that holds such a path
    /// is not granted as a whole, but each of its other entries is.
    fn around(&mut self, plan: &Plan, access: BitFlags<AccessFs>) -> Result<(), LaunchError> {
        let paths = |paths: &[OsString]| -> BTreeSet<PathBuf> {
            paths.iter().map(|path| Path::new("").join(path)).collect()
        };
        let around = Around { hidden: paths(&plan.hidden), kept: paths(&plan.kept), access };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(Path::new(&plan.workspace), flags, Mode::empty());
        let root = root.during("opening the workspace")?;
        self.folder(&root, Path::new(""), &around)?;
        // What was moved meanwhile may have been granted under its new name.
        plan.hidden.iter().chain(&plan.kept).try_for_each(|path| find(root.as_fd(), path).map(drop))
    }

    fn folder(
        &mut self,
        folder: &OwnedFd,
        path: &Path,
        around: &Around,
    ) -> Result<(), LaunchError> {
        if !around.is_near(path) {
            return self.handle(folder, around.access);
        }
        self.handle(folder, AccessFs::ReadDir.into())?;
        let step = || format!("granting {}", path.display());
        for entry in Dir::read_from(folder).during(step())? {
            let entry = entry.during(step())?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > ENTRIES {
                return Err(LaunchError::TooMany(ENTRIES));
            }
            let path = path.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
            if around.hidden.contains(&path) {
                continue;
            }
            let walls = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
            let look = |flags| openat2(folder, name, flags | OFlags::CLOEXEC, Mode::empty(), walls);
            // A link needs no grant, and what went away or may not be opened gets none.
            let Ok(handle) = look(OFlags::PATH) else { continue };
            if around.kept.contains(&path) {
                self.handle(&handle, RUN)?;
            } else if let Ok(below) = look(OFlags::RDONLY | OFlags::DIRECTORY) {
                self.folder(&below, &path, around)?;
            } else {
                self.handle(&handle, around.access)?;
            }
        }
        Ok(())
    }

    fn enforce(self) -> Result<(), LaunchError> {
        let refused = |error: landlock::RulesetError| LaunchError::Landlock(error.to_string());
        let Some(ruleset) = self.ruleset else {
            return Err(LaunchError::Landlock("there are no rules".to_owned()));
        };
        match ruleset.restrict_self().map_err(refused)?.ruleset {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
            RulesetStatus::NotEnforced => {
                Err(LaunchError::Landlock("the kernel does not enforce it".to_owned()))
            }
        }
    }
}

/// What the workspace is granted around.
struct Around {
    hidden: BTreeSet<PathBuf>,
    kept: BTreeSet<PathBuf>,
    access: BitFlags<AccessFs>,
}

impl Around {
    /// Whether something at or below `path` is hidden or kept.
    fn is_near(&self, path: &Path) -> bool {
        let is_below = |paths: &BTreeSet<PathBuf>| {
            paths.range(path.to_owned()..).next().is_some_and(|next| next.starts_with(path))
        };
        is_below(&self.hidden) || is_below(&self.kept)
    }
}
