//! The deployment token: the secret that all roles of one deployment share and by which they know
//! one another over TCP. It is compared in constant time and never printed. Next is `listen.rs`.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use http::HeaderValue;
use sha2::{Digest as _, Sha256};

use crate::small_file::{self, SECRET_LIMIT};

/// Shortest token that is accepted, in characters.
const MIN_LENGTH: usize = 16;

/// Longest token that is accepted, in characters.
const MAX_LENGTH: usize = 1024;

/// What a role proves itself with.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// Wanted and shown on TCP; none = this role speaks on Unix sockets only.
    pub token: Option<DeploymentToken>,
}

/// The secret shared by the roles of one deployment. `Debug` masks it.
#[derive(Clone)]
pub struct DeploymentToken {
    header: HeaderValue,
    digest: Arc<[u8; 32]>,
}

/// Why a text is no deployment token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the deployment token from {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Too easy to guess.
    #[error(
        "the deployment token has {0} characters, {MIN_LENGTH} to {MAX_LENGTH} are wanted: make one with `openssl rand -hex 32`"
    )]
    Length(usize),
    /// It could not travel in a header.
    #[error(
        "the deployment token holds a space or a character that is not ASCII: make one with `openssl rand -hex 32`"
    )]
    Characters,
}

impl DeploymentToken {
    /// Takes a token; white space around it is cut off.
    ///
    /// # Errors
    /// [`TokenError::Length`] and [`TokenError::Characters`].
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let length = text.chars().count();
        if !(MIN_LENGTH..=MAX_LENGTH).contains(&length) {
            return Err(TokenError::Length(length));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Characters);
        }
        let mut header =
            HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| TokenError::Characters)?;
        header.set_sensitive(true);
        Ok(Self { header, digest: Arc::new(digest(text.as_bytes())) })
    }

    /// Reads a token from a file; white space around it is cut off. Blocks on the file.
    ///
    /// # Errors
    /// [`TokenError`], every variant.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let refuse = |source| TokenError::Io { path: path.to_owned(), source };
        Self::new(&small_file::read(path, SECRET_LIMIT).map_err(refuse)?)
    }

    /// Whether `presented` is this token, in time that does not depend on where they differ.
    pub fn matches(&self, presented: &str) -> bool {
        let presented = digest(presented.as_bytes());
        let difference =
            self.digest.iter().zip(presented).fold(0, |sum, (ours, theirs)| sum | (ours ^ theirs));
        std::hint::black_box(difference) == 0
    }

    /// The value of the `authorization` header that shows this token.
    pub(super) fn header(&self) -> &HeaderValue {
        &self.header
    }
}

impl fmt::Debug for DeploymentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeploymentToken(***)")
    }
}

fn digest(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    #[test]
    fn only_the_same_text_matches() {
        let token = DeploymentToken::new(TOKEN).unwrap();
        assert!(token.matches(TOKEN));
        for other in ["", "0123456789abcdeF", "0123456789abcde", "0123456789abcdef0", " "] {
            assert!(!token.matches(other), "{other:?}");
        }
    }

    #[test]
    fn a_weak_or_unsendable_token_is_refused() {
        for text in ["", "   \n", "0123456789abcde", &"x".repeat(1025)] {
            assert!(matches!(DeploymentToken::new(text), Err(TokenError::Length(_))), "{text}");
        }
        for text in ["0123456789 abcdef", "0123456789abcdéf", "0123456789\nabcdef"] {
            assert!(matches!(DeploymentToken::new(text), Err(TokenError::Characters)), "{text}");
        }
    }

    #[test]
    fn it_is_read_from_a_file_and_trimmed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, format!("  {TOKEN}\n\n")).unwrap();
        assert!(DeploymentToken::read(&path).unwrap().matches(TOKEN));
        let error = DeploymentToken::read(&folder.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("/none"), "{error}");
    }

    #[test]
    fn it_is_never_printed() {
        let credentials = Credentials { token: Some(DeploymentToken::new(TOKEN).unwrap()) };
        assert!(!format!("{credentials:?}").contains("0123"));
        let header = credentials.token.unwrap().header().clone();
        assert!(!format!("{header:?}").contains("0123"));
        assert!(!DeploymentToken::new("short").unwrap_err().to_string().contains("short"));
    }
}
