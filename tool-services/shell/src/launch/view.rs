//! The file system as the command sees it: system folders to read, a few files of `/etc`, devices
//! without harm, processes of its own, room for temporary files, and the workspace. What is not
//! listed here is not there: no home, no socket of anyone, no other workspace.
//!
//! Next: `masks.rs`, which hides what is in the workspace but not for the command.

use std::ffi::CStr;
use std::fs::{DirBuilder, File, Metadata, create_dir_all, metadata, symlink_metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::process::{chdir, pivot_root};

use crate::mounts;
use crate::plan::Plan;

use super::{During as _, LaunchError, masks};

/// Where the new root is put together; what lies there stays reachable below [`OLD`].
const BASE: &str = "/tmp";
/// The service's root, until the view is complete.
pub(super) const OLD: &str = "/old";
/// The root that the command gets.
pub(super) const NEW: &str = "/new";

/// Programs and what they need to run.
pub(super) const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix"];

/// Settings that programs look for and that hold no secret.
pub(super) const ETC: [&str; 34] = [
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "rpc",
    "services",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
];

/// Devices that only swallow or give bytes.
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Parts of `/proc` that change or show the machine.
const PROC_KEPT: [&str; 4] = ["sys", "irq", "bus", "sysrq-trigger"];
const PROC_HIDDEN: [&str; 3] = ["kcore", "keys", "timer_list"];

/// Builds the view and makes it the root of this process.
pub(super) fn build(plan: &Plan) -> Result<(), LaunchError> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).during("leaving the mounts of the machine")?;
    make_room(Path::new(BASE), c"mode=0755,size=1m")?;
    let aside = format!("{BASE}{OLD}");
    make_folder(Path::new(&aside))?;
    pivot_root(BASE, aside.as_str()).during("stepping out of the old root")?;
    chdir("/").during("stepping out of the old root")?;

    make_folder(Path::new(NEW))?;
    make_room(Path::new(NEW), c"mode=0755,size=1m")?;
    for path in SYSTEM.map(Path::new) {
        show(&old(path), &new(path))?;
    }
    etc()?;
    proc()?;
    devices()?;
    let scratch = new(Path::new(&plan.scratch));
    make_folder(&scratch)?;
    make_room(&scratch, c"mode=0700,size=256m")?;
    let inside = workspace(plan)?;
    masks::put(plan, &inside)?;

    chdir(NEW).during("stepping into the new root")?;
    pivot_root(".", ".").during("stepping into the new root")?;
    unmount(".", UnmountFlags::DETACH).during("leaving the old root")?;
    chdir("/").during("stepping into the new root")?;
    read_only(Path::new("/"), MountFlags::NOSUID | MountFlags::NODEV)
}

/// The same path below the new root.
fn new(path: &Path) -> PathBuf {
    Path::new(NEW).join(path.strip_prefix("/").unwrap_or(path))
}

/// The same path below the old root.
fn old(path: &Path) -> PathBuf {
    Path::new(OLD).join(path.strip_prefix("/").unwrap_or(path))
}

fn workspace(plan: &Plan) -> Result<PathBuf, LaunchError> {
    let path = Path::new(&plan.workspace);
    let target = new(path);
    make_folder(&target)?;
    bind(&old(path), &target)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    if plan.is_writable {
        restrict(&target, flags)?;
    } else {
        read_only(&target, flags)?;
    }
    Ok(target)
}

fn etc() -> Result<(), LaunchError> {
    for name in ETC {
        let path = Path::new("/etc").join(name);
        show(&old(&path), &new(&path))?;
    }
    // Programs look for their settings here by version.
    let entries = std::fs::read_dir(old(Path::new("/etc"))).during("reading /etc")?;
    for entry in entries.flatten() {
        if entry.file_name().as_bytes().starts_with(b"python3") {
            let path = Path::new("/etc").join(entry.file_name());
            show(&old(&path), &new(&path))?;
        }
    }
    Ok(())
}

/// Shows what is at `source`, if anything is, as it is: a link as a link.
fn show(source: &Path, target: &Path) -> Result<(), LaunchError> {
    let Ok(found) = symlink_metadata(source) else { return Ok(()) };
    if let Some(folder) = target.parent() {
        make_folder(folder)?;
    }
    if found.is_symlink() {
        let leads_to = std::fs::read_link(source).during(says("reading", source))?;
        return symlink(leads_to, target).during(says("showing", target));
    }
    make_target(&found, target)?;
    bind(source, target)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    read_only(target, flags)?;
    // What is mounted below came along, and is as it was.
    for path in mounts::below(Path::new("/old/proc/self/mountinfo"), target) {
        read_only(&target.join(path), flags)?;
    }
    Ok(())
}

fn proc() -> Result<(), LaunchError> {
    let target = Path::new(NEW).join("proc");
    make_folder(&target)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", &target, "proc", flags, None).during("showing processes")?;
    for path in PROC_KEPT.map(|name| target.join(name)) {
        if path.exists() {
            bind(&path, &path)?;
            read_only(&path, flags)?;
        }
    }
    for path in PROC_HIDDEN.map(|name| target.join(name)) {
        if path.exists() {
            device("null", &path)?;
        }
    }
    Ok(())
}

fn devices() -> Result<(), LaunchError> {
    let folder = Path::new(NEW).join("dev");
    make_folder(&folder)?;
    for name in DEVICES {
        let target = folder.join(name);
        File::create(&target).during(says("making", &target))?;
        device(name, &target)?;
    }
    let links = [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")];
    for (name, below) in links {
        symlink(format!("/proc/self/fd{below}"), folder.join(name)).during("making devices")?;
    }
    let shared = folder.join("shm");
    make_folder(&shared)?;
    make_room(&shared, c"mode=0700,size=64m")
}

/// Shows a device. It can be written to all the same, but what it is allowed to whom cannot be
/// changed by a command whose user owns it.
fn device(name: &str, target: &Path) -> Result<(), LaunchError> {
    bind(&old(&Path::new("/dev").join(name)), target)?;
    read_only(target, MountFlags::NOSUID | MountFlags::NOEXEC)
}

fn make_room(path: &Path, options: &CStr) -> Result<(), LaunchError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", path, "tmpfs", flags, options).during(says("making room at", path))
}

pub(super) fn bind(source: &Path, target: &Path) -> Result<(), LaunchError> {
    mount_bind_recursive(source, target).during(says("showing", target))
}

pub(super) fn read_only(path: &Path, flags: MountFlags) -> Result<(), LaunchError> {
    restrict(path, flags | MountFlags::RDONLY)
}

/// Adds flags to a mount; those that it has are kept, as the kernel wants it.
fn restrict(path: &Path, flags: MountFlags) -> Result<(), LaunchError> {
    let has = statvfs(path).during(says("looking at", path))?.f_flag;
    let mut flags = flags | MountFlags::BIND;
    for (is_set, flag) in [
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if has.contains(is_set) {
            flags |= flag;
        }
    }
    mount_remount(path, flags, "").during(says("restricting", path))
}

fn make_target(like: &Metadata, target: &Path) -> Result<(), LaunchError> {
    if like.is_dir() {
        return make_folder(target);
    }
    File::create(target).map(drop).during(says("making", target))
}

fn make_folder(path: &Path) -> Result<(), LaunchError> {
    if metadata(path).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    match path.parent() {
        Some(above) if !above.exists() => create_dir_all(above).during(says("making", above))?,
        Some(_) | None => {}
    }
    DirBuilder::new().mode(0o755).create(path).during(says("making", path))
}

fn says(what: &str, path: &Path) -> String {
    // The name that the command would use for it.
    let path = path.strip_prefix(NEW).map_or(path, |rest| rest);
    format!("{what} {}", Path::new("/").join(path).display())
}
