//! Patterns of file names. Which files are tried is `walk.rs`' business.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use globset::{GlobBuilder, GlobMatcher};

/// A longer pattern is refused: it would match nothing that has a name.
const MAX_LENGTH: usize = 4096;

/// A glob over the paths below a folder. Without a slash it is about names and matches at any
/// depth: `*.rs` finds what `**/*.rs` finds, `./*.rs` only what lies in the folder itself.
#[derive(Clone, Debug)]
pub struct Pattern {
    matcher: GlobMatcher,
    is_about_names: bool,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it and what would be right, in a sentence.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let below = pattern.strip_prefix("./").unwrap_or(pattern);
        if below.is_empty() {
            return Err("The pattern is empty; `**` matches every file.".to_owned());
        }
        if below.len() > MAX_LENGTH {
            return Err(format!("The pattern is longer than {MAX_LENGTH} bytes."));
        }
        if below.starts_with('/') || below.split('/').any(|name| name == "..") {
            return Err(format!(
                "The pattern `{pattern}` must be relative and go down only, such as `**/*.md`; \
                 the folder to start in is `path`."
            ));
        }
        if let Some(folder) = below.strip_suffix('/') {
            return Err(format!(
                "The pattern `{pattern}` ends with a slash, but only files are matched; \
                 `{folder}/**` matches what is in a folder."
            ));
        }
        let glob = GlobBuilder::new(below).literal_separator(true).build();
        let glob =
            glob.map_err(|error| format!("The pattern `{pattern}` is no glob: {}.", error.kind()))?;
        Ok(Self { matcher: glob.compile_matcher(), is_about_names: !pattern.contains('/') })
    }

    /// Whether the file `name` at `below` (its path from the folder where the search starts)
    /// matches.
    pub fn matches(&self, below: &[u8], name: &[u8]) -> bool {
        let tried = if self.is_about_names { name } else { below };
        self.matcher.is_match(Path::new(OsStr::from_bytes(tried)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap();
        Pattern::new(pattern).unwrap().matches(path.as_bytes(), name.as_bytes())
    }

    #[test]
    fn a_pattern_without_a_slash_is_about_names() {
        for (pattern, path, matches) in [
            ("*.rs", "lib.rs", true),
            ("*.rs", "a/b/lib.rs", true),
            ("**/*.rs", "a/b/lib.rs", true),
            ("**/*.rs", "lib.rs", true),
            ("./*.rs", "lib.rs", true),
            ("./*.rs", "a/lib.rs", false),
            ("././*.rs", "a/lib.rs", false),
            ("./src/*.rs", "src/lib.rs", true),
            ("src/*.rs", "src/a/lib.rs", false),
            ("src/**", "src/a/lib.rs", true),
            ("*.{md,txt}", "notes/a.txt", true),
            ("*.RS", "lib.rs", false),
            ("report-202?.md", "x/report-2026.md", true),
            ("[ab].md", "c.md", false),
            ("文档*", "docs/文档一.md", true),
        ] {
            assert_eq!(check(pattern, path), matches, "{pattern} on {path}");
        }
    }

    #[test]
    fn a_bad_pattern_says_what_would_be_right() {
        for (pattern, says) in [
            ("", "`**` matches every file"),
            ("../*", "must be relative"),
            ("/etc/*", "must be relative"),
            ("src/", "`src/**` matches what is in a folder"),
            ("a[", "is no glob: unclosed character class"),
            ("{a,b", "is no glob: unclosed alternate group"),
        ] {
            let error = Pattern::new(pattern).unwrap_err();
            assert!(error.contains(says), "{pattern}: {error}");
        }
    }
}
