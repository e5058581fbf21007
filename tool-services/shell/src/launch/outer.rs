//! The first stage: becomes the workspace's owner if it is root, leaves the service's namespaces
//! and starts [`super::init`] in new ones; it only waits then. Where namespaces cannot be had it
//! does `init`'s part itself: as a sub-reaper it gathers what the command leaves behind.
//!
//! Next: `init.rs`.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use rustix::process::{
    DumpableBehavior, Gid, Uid, getegid, geteuid, getpid, set_child_subreaper,
    set_dumpable_behavior, setsid,
};
use rustix::thread::{UnshareFlags, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::plan::{Isolation, Plan, Report};

use super::census::Census;
use super::{ARGUMENT, During as _, LaunchError, PROGRAM, raw, rights, supervise, tell};

/// What the service says on the command line, before the plan is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Orders {
    /// How the walls are made.
    pub(crate) isolation: Isolation,
    /// Whom to become, as root.
    pub(crate) owner: Option<(u32, u32)>,
}

impl Orders {
    /// The arguments after [`ARGUMENT`].
    pub(crate) fn arguments(self) -> Vec<String> {
        let mut arguments = vec!["outer".to_owned(), self.isolation.name().to_owned()];
        if let Some((uid, gid)) = self.owner {
            arguments.extend([uid.to_string(), gid.to_string()]);
        }
        arguments
    }

    fn parse(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let isolation = Isolation::named(arguments.next()?.to_str()?)?;
        let mut number = || Some(arguments.next()?.to_str()?.parse().ok());
        let owner = match number() {
            None => None,
            Some(uid) => Some((uid?, number()??)),
        };
        Some(Self { isolation, owner })
    }
}

pub(super) fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(orders) = Orders::parse(arguments) else { return ExitCode::from(2) };
    match start(orders) {
        // `init` has told by itself.
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(report)) => tell(Ok(report)),
        Err(error) => tell(Err(error)),
    }
}

fn start(orders: Orders) -> Result<Option<Report>, LaunchError> {
    raw::close_on_exec().during("closing descriptors")?;
    setsid().during("leaving the session")?;
    if let Some((uid, gid)) = orders.owner {
        become_owner(uid, gid)?;
    }
    match orders.isolation {
        Isolation::Namespaces => {
            leave()?;
            let mut init = Command::new(PROGRAM);
            init.args([ARGUMENT, "init"]).env_clear();
            let status = init.status().during("starting the first process")?;
            if status.success() {
                return Ok(None);
            }
            Err(LaunchError::Refused(format!("the first process ended with {status}")))
        }
        Isolation::Landlock => stay().map(Some),
    }
}

fn become_owner(uid: u32, gid: u32) -> Result<(), LaunchError> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_groups(&[]).during("dropping groups")?;
    set_thread_res_gid(gid, gid, gid).during("becoming the workspace's group")?;
    set_thread_res_uid(uid, uid, uid).during("becoming the workspace's owner")?;
    // Else the files in /proc that map users would still be root's.
    set_dumpable_behavior(DumpableBehavior::Dumpable).during("becoming the workspace's owner")
}

/// Enters namespaces of its own, in which it is itself and nobody else.
fn leave() -> Result<(), LaunchError> {
    let (uid, gid) = (geteuid(), getegid());
    let flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    raw::unshare(flags).during("making namespaces")?;
    std::fs::write("/proc/self/setgroups", "deny").during("giving up groups")?;
    let map = |id: u32| format!("{id} {id} 1");
    std::fs::write("/proc/self/uid_map", map(uid.as_raw())).during("mapping the user")?;
    std::fs::write("/proc/self/gid_map", map(gid.as_raw())).during("mapping the group")?;
    rights::keep_over_exec().during("keeping rights for the first process")
}

/// Does without namespaces.
fn stay() -> Result<Report, LaunchError> {
    let mut control = super::control()?;
    let mut plan = Plan::receive(&mut control).during("reading the plan")?;
    set_child_subreaper(Some(getpid())).during("becoming a reaper")?;
    let scratch = make_scratch()?;
    plan.scratch = scratch.clone().into();
    let report = supervise::run(&plan, &control, Census::Descendants);
    // It is a temporary folder: what stays behind harms nobody.
    let _ = std::fs::remove_dir_all(scratch);
    report
}

fn make_scratch() -> Result<PathBuf, LaunchError> {
    let pid = getpid().as_raw_nonzero();
    let mut number = 0_u32;
    loop {
        let path = PathBuf::from(format!("/tmp/callboard-shell-{pid}-{number}"));
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 1000 => {
                number += 1;
            }
            made => return made.map(|()| path).during("making a temporary folder"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_the_command_line() {
        let check = |isolation, owner| {
            let arguments = Orders { isolation, owner }.arguments();
            let parsed = Orders::parse(arguments.into_iter().skip(1).map(OsString::from)).unwrap();
            assert_eq!((parsed.isolation, parsed.owner), (isolation, owner));
        };
        check(Isolation::Namespaces, None);
        check(Isolation::Landlock, Some((1000, 100)));
    }

    #[test]
    fn orders_that_are_none_are_refused() {
        for arguments in [&[][..], &["nothing"], &["landlock", "x", "1"], &["landlock", "1"]] {
            let arguments = arguments.iter().map(OsString::from);
            assert!(Orders::parse(arguments).is_none());
        }
    }
}
