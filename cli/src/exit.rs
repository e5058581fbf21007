//! Exit codes, and the error that carries one.
//!
//! Everything that fails for another reason than the person's own command line or configuration is
//! an ordinary `anyhow` error and ends with [`Exit::Failed`]. Next: `args`.

use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// The run, or what was asked for, failed.
    Failed,
    /// The command line or the configuration is wrong.
    Usage,
    /// A call was denied or blocked.
    Denied,
    /// A limit was reached.
    Limit,
    /// Cancelled by Ctrl-C.
    Cancelled,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Denied => 3,
            Self::Limit => 4,
            Self::Cancelled => 130,
        }
    }

    /// The exit that a number stands for; an unknown one counts as failed.
    pub(crate) fn from_code(code: i64) -> Self {
        match code {
            0 => Self::Done,
            2 => Self::Usage,
            3 => Self::Denied,
            4 => Self::Limit,
            130 => Self::Cancelled,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An end with a chosen exit code and a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refused {
    /// How the program ends.
    pub(crate) exit: Exit,
    /// What is wrong and a way out.
    pub(crate) message: String,
}

/// The command line or the configuration is wrong: `message` says how to put it right.
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    Refused { exit: Exit::Usage, message: message.into() }.into()
}

/// The exit code that an error asks for.
pub(crate) fn of(error: &anyhow::Error) -> Exit {
    error.downcast_ref::<Refused>().map_or(Exit::Failed, |refused| refused.exit)
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn an_exit_code_survives_the_context_around_it() {
        let refused: anyhow::Result<()> = Err(usage("no such key"));
        let error = refused.context("cannot start").unwrap_err();
        assert_eq!(of(&error), Exit::Usage);
        assert_eq!(of(&anyhow::anyhow!("disk full")), Exit::Failed);
    }

    #[test]
    fn codes_are_read_back_as_written() {
        for exit in
            [Exit::Done, Exit::Failed, Exit::Usage, Exit::Denied, Exit::Limit, Exit::Cancelled]
        {
            assert_eq!(Exit::from_code(i64::from(exit.code())), exit);
        }
    }
}
