//! Single keys from the terminal, without waiting for Enter.
//!
//! The terminal is opened anew, so that no other program that shares standard input is disturbed;
//! its mode is put back when this value is dropped. Ctrl-C still interrupts.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::OFlags;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

/// Where Linux opens standard input once more.
const STDIN: &str = "/proc/self/fd/0";

/// The terminal while keys are read.
#[derive(Debug)]
pub(super) struct Keys {
    terminal: Receiver,
    before: Termios,
}

impl Keys {
    /// Takes keys from now on; what was typed before is thrown away.
    ///
    /// # Errors
    /// When standard input is no terminal any more.
    pub(super) fn open() -> io::Result<Self> {
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
        let flags = i32::try_from(flags).map_err(io::Error::other)?;
        let file = File::options().read(true).custom_flags(flags).open(STDIN)?;
        let before = tcgetattr(&file)?;
        // A terminal is waited for and read as a pipe is.
        let keys = Self { terminal: Receiver::from_file_unchecked(file)?, before };
        let mut raw = keys.before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(keys.terminal.as_fd(), OptionalActions::Now, &raw)?;
        tcflush(keys.terminal.as_fd(), QueueSelector::IFlush)?;
        Ok(keys)
    }

    /// The next key. Keys that send several bytes (arrows, pasted text) count as none, a letter
    /// followed by Enter counts as the letter. Dropping the future loses nothing.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(super) async fn next(&mut self) -> io::Result<u8> {
        loop {
            let mut bytes = [0; 256];
            match self.terminal.read(&mut bytes).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => {
                    if let [key] = bytes[..length].trim_ascii_end() {
                        return Ok(*key);
                    }
                }
            }
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // A terminal that is gone needs no mode.
        let _ = tcsetattr(self.terminal.as_fd(), OptionalActions::Now, &self.before);
    }
}
