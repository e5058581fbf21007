//! Tries what must fail behind the walls, and what must work: the proof that they stand on this
//! machine, by doing rather than by asking for versions.
//!
//! Who reads the answer is `probe.rs`.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, chroot, test_kill_process};
use rustix::thread::UnshareFlags;

use crate::plan::Forbidden;

use super::{During as _, LaunchError, raw};

/// Name of a sensitive file in the workspace of a probe.
pub(crate) const SENSITIVE: &str = ".env";

/// Name of a folder in it. Beside a sensitive file nothing can be made without namespaces.
pub(crate) const FOLDER: &str = "folder";

/// Prints a line for each wall that did not stand, none if all did.
pub(super) fn attempt(forbidden: &Forbidden) -> Result<(), LaunchError> {
    let mut out = std::io::stdout().lock();
    for (what, _) in forbidden_acts(forbidden).into_iter().filter(|(_, is_done)| *is_done) {
        writeln!(out, "a command could {what}").during("telling")?;
    }
    for (what, _) in needed_acts().into_iter().filter(|(_, is_done)| !is_done) {
        writeln!(out, "a command could not {what}").during("telling")?;
    }
    out.flush().during("telling")
}

fn forbidden_acts(forbidden: &Forbidden) -> [(&'static str, bool); 14] {
    let nowhere = Path::new("/proc/sys/kernel/hostname");
    let port = "127.0.0.1:9";
    [
        ("read a file outside of the workspace", File::open(&forbidden.file).is_ok()),
        ("write a file outside of the workspace", may_write(&forbidden.file)),
        ("read a sensitive file", File::open(SENSITIVE).is_ok()),
        ("write to the system's programs", File::create("/usr/callboard-probe").is_ok()),
        ("change settings of the kernel", may_write(nowhere)),
        ("connect to a Unix socket", UnixStream::connect(&forbidden.socket).is_ok()),
        ("make a TCP connection", may_connect(port)),
        ("listen on a TCP port", TcpListener::bind("127.0.0.1:0").is_ok()),
        ("send datagrams", UdpSocket::bind("127.0.0.1:0").is_ok()),
        ("signal another process", may_signal(forbidden.process)),
        ("make namespaces", raw::unshare(UnshareFlags::NEWUSER).is_ok()),
        ("mount", rustix::mount::mount_bind("/usr", "/usr").is_ok()),
        ("change its root", chroot(".").is_ok()),
        ("see the memory of processes", File::open("/proc/1/mem").is_ok()),
    ]
}

fn needed_acts() -> [(&'static str, bool); 4] {
    let file = Path::new(FOLDER).join("probe");
    let written = std::fs::write(&file, "x").is_ok();
    let shell = Command::new("/bin/sh").args(["-c", "exit 7"]).status();
    [
        ("write to the workspace", written),
        ("read from the workspace", std::fs::read(&file).is_ok_and(|read| read == b"x")),
        ("throw output away", may_write(Path::new("/dev/null"))),
        ("start a program", shell.is_ok_and(|status| status.code() == Some(7))),
    ]
}

fn may_write(path: &Path) -> bool {
    OpenOptions::new().write(true).open(path).is_ok()
}

/// A peer that is not there is one that could be.
fn may_connect(address: &str) -> bool {
    match TcpStream::connect(address) {
        Ok(_) => true,
        Err(error) => !matches!(
            error.raw_os_error(),
            Some(libc::EAFNOSUPPORT | libc::EACCES | libc::EPERM | libc::ENETUNREACH)
        ),
    }
}

fn may_signal(process: i32) -> bool {
    Pid::from_raw(process).is_some_and(|pid| test_kill_process(pid).is_ok())
}
