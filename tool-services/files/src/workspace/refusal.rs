//! How a failure of the wall is told to a model: what is wrong and what to do, in its own terms.

use callboard_tool::Failure;

use super::named;
use crate::{
    beneath::{Resolved, WallError},
    meta::Kind,
    relative::RelativePath,
};

/// The rule that every path obeys.
const RULE: &str = "Only paths inside the workspace can be used; give one relative to it";

/// A sensitive file, under whatever name.
pub(super) fn sensitive(written: &str) -> Failure {
    Failure::blocked(format!(
        "{} is a sensitive file (environment, keys, credentials, tokens). Its content is never \
         read, searched or changed by a tool, under any name. Go on without it, or ask the person \
         for what you need to know.",
        named(written)
    ))
}

/// A path that was to be read or listed; `near` are names that may have been meant.
pub(super) fn for_reading(
    written: &str,
    wanted: Kind,
    error: &WallError,
    near: &[RelativePath],
) -> Failure {
    let path = named(written);
    match error {
        WallError::Malformed { reason } => {
            let message = format!("Wrong path: {reason}. {RULE}, such as `notes/a.md`.");
            Failure::invalid_arguments(message).violation("/path", *reason)
        }
        WallError::Outside { .. } => {
            Failure::permission_denied(format!("{path} lies outside the workspace. {RULE}."))
        }
        WallError::LinkOutside { link } => Failure::permission_denied(format!(
            "{path} leads outside the workspace, by the link `{link}`. {RULE}."
        )),
        WallError::OtherFileSystem { path: there } => Failure::permission_denied(format!(
            "`{there}` lies on another file system than the workspace. {RULE}."
        )),
        WallError::Link { path: link } => Failure::conflict(format!(
            "`{link}` became a symbolic link while it was being opened. Try again."
        )),
        WallError::TooManyLinks { .. } => Failure::unsupported(format!(
            "{path} goes through too many symbolic links, or they lead in a circle."
        )),
        WallError::NotFound { .. } => not_found(&path, wanted, near),
        WallError::NotAFolder { path: there } => Failure::not_found(format!(
            "`{there}` on the way to {path} is not a folder, so nothing is below it."
        )),
        WallError::NotAFile { path: there, kind: Kind::Folder } => Failure::unsupported(format!(
            "`{there}` is a folder, not a file; use list_dir with {{\"path\": \"{there}\"}}."
        )),
        WallError::NotAFile { path: there, kind } => Failure::unsupported(format!(
            "`{there}` is a {kind}, not a file; only regular files can be used."
        )),
        WallError::Denied { path: there } => Failure::permission_denied(format!(
            "The operating system does not let this service open `{there}`."
        )),
        WallError::NameTooLong => {
            let message = "A name in the path is longer than 255 bytes, or the path than 4,095.";
            Failure::invalid_arguments(message).violation("/path", "too long")
        }
        WallError::Unsettled { .. } => Failure::conflict(format!(
            "{path} keeps changing while it is being opened. Try again when it holds still."
        )),
        WallError::NoWall => Failure::unsupported(
            "This system's kernel has no openat2, without which no file is opened safely; files \
             cannot be used here.",
        ),
        WallError::System { path: there, errno } => {
            Failure::unavailable(format!("`{there}` cannot be used: {}.", words(*errno)))
        }
        WallError::Stopped => Failure::cancelled("The call was stopped; nothing was changed."),
    }
}

/// A change that would go through a link.
pub(super) fn link(link: &RelativePath, leads: Result<Resolved, WallError>) -> Failure {
    let instead = match leads {
        Ok(to) => format!("It leads to `{}`; name that path if it is what you mean", to.path),
        Err(_) => "Choose another path".to_owned(),
    };
    Failure::permission_denied(format!(
        "`{link}` is a symbolic link, and nothing is changed through a link. {instead}."
    ))
}

fn not_found(path: &str, wanted: Kind, near: &[RelativePath]) -> Failure {
    let what = match wanted {
        Kind::Folder => "folder",
        Kind::Unknown => "file or folder",
        Kind::File | Kind::Link | Kind::Pipe | Kind::Socket | Kind::Device => "file",
    };
    if near.is_empty() {
        return Failure::not_found(format!(
            "No {what} {path}, and none with a similar name. See what is there with list_dir, or \
             search by name with find_files."
        ));
    }
    let near: Vec<_> = near.iter().map(|path| format!("`{path}`")).collect();
    Failure::not_found(format!("No {what} {path}. Nearest: {}.", near.join(", ")))
}

/// What an error number means, without the number.
fn words(errno: rustix::io::Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    words.to_lowercase()
}
