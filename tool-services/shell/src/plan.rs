//! What the service tells its launcher: what to run and what is within its reach; and what the
//! launcher tells back. Both go over one socket, which is also the lifeline: when the service's end
//! closes, everything that was started ends.
//!
//! What to put into a plan is decided in `reach.rs`. Next: `launch.rs`, which carries it out.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Asks the launcher to end the command gently.
pub(crate) const TERMINATE: u8 = b'T';

/// Longest plan in bytes; ten thousand hidden paths fit.
const PLAN: u64 = 16 * 1024 * 1024;

/// A command and its walls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// What to do behind the walls.
    pub(crate) act: Act,
    /// How the walls are made.
    pub(crate) isolation: Isolation,
    /// The workspace, absolute and without links.
    pub(crate) workspace: OsString,
    /// Whether the workspace may be changed.
    pub(crate) is_writable: bool,
    /// Folder to work in, below the workspace.
    pub(crate) cwd: OsString,
    /// Paths below the workspace that nobody may open.
    pub(crate) hidden: Vec<OsString>,
    /// Paths below the workspace that nobody may change.
    pub(crate) kept: Vec<OsString>,
    /// Paths below the workspace that nobody may rename or remove.
    pub(crate) pinned: Vec<OsString>,
    /// Folder for temporary files, of this command alone; set by the launcher where it makes one.
    pub(crate) scratch: OsString,
    /// Processor seconds that one process may take.
    pub(crate) cpu_seconds: u64,
}

/// What to do behind the walls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Act {
    /// Run a command with the shell.
    Run(String),
    /// Try what must fail, and say what did not.
    Probe(Forbidden),
}

/// Things outside that a probe reaches for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Forbidden {
    /// A file that may not be read or written.
    pub(crate) file: PathBuf,
    /// A Unix socket that somebody listens on.
    pub(crate) socket: PathBuf,
    /// A process that may not be signalled.
    pub(crate) process: i32,
}

/// How the walls are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolation {
    /// A view of the file system of its own, in user, mount, process, network and IPC namespaces,
    /// with Landlock and seccomp inside.
    Namespaces,
    /// Landlock and seccomp alone, where namespaces cannot be had. New files cannot be made beside
    /// sensitive ones, `.git` cannot be changed, no file's mode, owner or time can, and there is no
    /// `/proc`.
    Landlock,
}

impl Isolation {
    /// From the best walls to the least that are good enough.
    pub(crate) const ALL: [Self; 2] = [Self::Namespaces, Self::Landlock];

    /// As command lines and people name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
        }
    }

    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|isolation| isolation.name() == name)
    }
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The shell ended with this code.
    Exit(i32),
    /// The shell was killed by this signal.
    Signal(i32),
    /// Nothing was started; says why.
    Refused(String),
    /// Nothing was started: this path of the plan is not there any more.
    Gone(String),
    /// It took more than it may and was killed; says of what.
    Overrun(String),
}

impl Plan {
    /// Sends the plan.
    pub(crate) fn encode(&self) -> io::Result<Vec<u8>> {
        let mut frame = vec![0; 8];
        serde_json::to_writer(&mut frame, self)?;
        let length = (frame.len() - 8) as u64;
        if length > PLAN {
            return Err(io::Error::other("the plan is too long"));
        }
        frame[..8].copy_from_slice(&length.to_le_bytes());
        Ok(frame)
    }

    /// Reads a plan and nothing after it.
    pub(crate) fn receive(from: &mut impl Read) -> io::Result<Self> {
        let mut length = [0; 8];
        from.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > PLAN {
            return Err(io::Error::other("the plan is too long"));
        }
        let mut frame = Vec::new();
        from.take(length).read_to_end(&mut frame)?;
        Ok(serde_json::from_slice(&frame)?)
    }
}

impl Report {
    /// Sends the report.
    pub(crate) fn send(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&serde_json::to_vec(self)?)
    }

    /// The report in all that was sent; none if the launcher died first.
    pub(crate) fn parse(sent: &[u8]) -> Option<Self> {
        serde_json::from_slice(sent).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn a_plan_arrives_as_it_was_sent_and_leaves_the_rest() {
        let odd = OsString::from_vec(b"a b\n\xff/.env".to_vec());
        let plan = Plan {
            act: Act::Run("echo 'x'\n".to_owned()),
            isolation: Isolation::Namespaces,
            workspace: "/w".into(),
            is_writable: true,
            cwd: "子目录".into(),
            hidden: vec![odd.clone()],
            kept: Vec::new(),
            pinned: Vec::new(),
            scratch: "/tmp".into(),
            cpu_seconds: 61,
        };
        let mut sent = plan.encode().unwrap();
        sent.push(TERMINATE);
        let mut wire = &sent[..];
        let received = Plan::receive(&mut wire).unwrap();
        assert_eq!(received.hidden, [odd]);
        assert_eq!(received.cwd, "子目录");
        assert_eq!(wire, [TERMINATE]);
    }

    #[test]
    fn half_a_plan_or_too_long_a_one_is_an_error() {
        assert!(Plan::receive(&mut &b"\x01\0\0\0\0\0\0\0"[..]).is_err());
        assert!(Plan::receive(&mut &b"\xff\xff\xff\xff\xff\0\0\0{}"[..]).is_err());
        assert!(Plan::receive(&mut &b"\x02\0"[..]).is_err());
    }

    #[test]
    fn a_report_is_read_back_and_half_a_one_is_none() {
        let mut sent = Vec::new();
        Report::Exit(137).send(&mut sent).unwrap();
        assert_eq!(Report::parse(&sent), Some(Report::Exit(137)));
        assert_eq!(Report::parse(b""), None);
        assert_eq!(Report::parse(&sent[..4]), None);
    }
}
