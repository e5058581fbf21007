//! A pattern over names: a glob in which `*` crosses every character. Most patterns are plain names,
//! and comparing those is all that a thousand rules cost.

use std::cmp::Reverse;
use std::collections::BTreeMap;

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

/// Values for names of a form; of the globs that match a name the longest counts.
#[derive(Clone, Debug)]
pub(crate) struct Globs<T>(Vec<(Pattern, T)>);

impl<T: Clone> Globs<T> {
    /// Reads the globs that stand under `key`.
    pub(crate) fn new(key: &str, values: &BTreeMap<String, T>) -> Result<Self, Error> {
        let mut globs: Vec<(&String, &T)> = values.iter().collect();
        globs.sort_by_key(|(glob, _)| Reverse(glob.len()));
        let read = globs.into_iter().map(|(glob, value)| {
            Ok((Pattern::new(&format!("{key}.{glob}"), glob)?, value.clone()))
        });
        Ok(Self(read.collect::<Result<_, Error>>()?))
    }

    /// The value for a name.
    pub(crate) fn of(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(pattern, _)| pattern.matches(name)).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_globs_the_longest_counts() {
        let values = [("*", 1), ("read_*", 2), ("read_file", 3)];
        let values = values.map(|(glob, value)| (glob.to_owned(), value)).into();
        let globs = Globs::new("k", &values).unwrap();
        let of = |name| globs.of(name).copied();
        assert_eq!([of("read_file"), of("read_all"), of("write")], [Some(3), Some(2), Some(1)]);
        assert_eq!(Globs::<u8>::new("k", &BTreeMap::new()).unwrap().of("x"), None);
        let wrong = [("[".to_owned(), 1)].into();
        assert!(Globs::new("rates", &wrong).unwrap_err().to_string().contains("`rates.[`"));
    }

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
