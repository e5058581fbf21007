//! A pattern over names: a glob in which `*` crosses every character. Most patterns are plain names,
//! and comparing those is all that a thousand rules cost.

use globset::{GlobBuilder, GlobMatcher};

use super::config::Error;

/// A pattern over names.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// Every name.
    Any,
    /// This name.
    Name(String),
    /// Names of this form.
    Glob(GlobMatcher),
}

impl Pattern {
    /// Reads the pattern that stands under `key`; an empty one matches every name.
    pub(crate) fn new(key: &str, pattern: &str) -> Result<Self, Error> {
        if pattern.is_empty() || pattern == "*" {
            return Ok(Self::Any);
        }
        if !pattern.contains(['*', '?', '[', ']', '{', '}', '\\', '!']) {
            return Ok(Self::Name(pattern.to_owned()));
        }
        let glob = GlobBuilder::new(pattern).literal_separator(false).build();
        let glob = glob.map_err(|error| Error::Pattern {
            key: key.to_owned(),
            pattern: pattern.to_owned(),
            reason: error.kind().to_string(),
        })?;
        Ok(Self::Glob(glob.compile_matcher()))
    }

    /// Whether a name has the form.
    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Name(known) => known == name,
            Self::Glob(glob) => glob.is_match(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_globs_match_as_written() {
        for (pattern, name, matches) in [
            ("", "anything", true),
            ("*", "a/b.c", true),
            ("run", "run", true),
            ("run", "runs", false),
            ("r*", "run/it", true),
            ("r?n", "ran", true),
            ("{a,b}_file", "b_file", true),
            ("[ab]*", "cab", false),
        ] {
            assert_eq!(
                Pattern::new("k", pattern).unwrap().matches(name),
                matches,
                "{pattern} {name}"
            );
        }
        assert!(Pattern::new("k", "[").is_err());
    }
}
