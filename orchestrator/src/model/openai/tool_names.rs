//! Names of tools as a provider takes them, `[a-zA-Z0-9_-]{1,64}`, and back.

use std::collections::BTreeMap;

const MAX_NAME: usize = 64;

/// Two-way names of the offered tools.
#[derive(Debug, Default)]
pub(super) struct ToolNames {
    to_wire: BTreeMap<String, String>,
    to_ours: BTreeMap<String, String>,
}

impl ToolNames {
    /// Names of these tools. A name that needs no change keeps it, whoever comes first.
    pub(super) fn new<'a>(ours: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut names = Self::default();
        for name in ours.clone().filter(|name| is_plain(name)) {
            names.add(name, name.to_owned());
        }
        for name in ours.filter(|name| !is_plain(name)) {
            let wire = names.free(&plain(name));
            names.add(name, wire);
        }
        names
    }

    /// The name to send. One that is no longer offered, in the history, is made plain all the same.
    pub(super) fn wire(&self, ours: &str) -> String {
        self.to_wire.get(ours).cloned().unwrap_or_else(|| plain(ours))
    }

    /// The catalog's name for a name in a reply; a name that was not offered stays as it is.
    pub(super) fn ours<'a>(&'a self, wire: &'a str) -> &'a str {
        self.to_ours.get(wire).map_or(wire, String::as_str)
    }

    /// Whether a model may write this name, in either form.
    pub(super) fn is_offered(&self, name: &str) -> bool {
        self.to_ours.contains_key(name) || self.to_wire.contains_key(name)
    }

    fn add(&mut self, ours: &str, wire: String) {
        if !self.to_wire.contains_key(ours) {
            self.to_ours.insert(wire.clone(), ours.to_owned());
            self.to_wire.insert(ours.to_owned(), wire);
        }
    }

    fn free(&self, wanted: &str) -> String {
        if !self.to_ours.contains_key(wanted) {
            return wanted.to_owned();
        }
        let numbered = |number: u32| {
            let suffix = format!("_{number}");
            let kept = wanted.len().min(MAX_NAME - suffix.len());
            format!("{}{suffix}", &wanted[..kept])
        };
        (2..=u32::MAX)
            .map(numbered)
            .find(|name| !self.to_ours.contains_key(name))
            .unwrap_or_else(|| wanted.to_owned())
    }
}

fn is_plain(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// ASCII only, so that it can be cut at any byte.
fn plain(name: &str) -> String {
    if is_plain(name) {
        return name.to_owned();
    }
    let with = |dot: &str| -> String {
        let mut plain = String::with_capacity(name.len() + 2);
        for character in name.chars() {
            match character {
                '.' => plain.push_str(dot),
                '_' | '-' => plain.push(character),
                other if other.is_ascii_alphanumeric() => plain.push(other),
                _ => plain.push('_'),
            }
        }
        plain
    };
    let readable = with("__");
    let mut plain = if readable.len() <= MAX_NAME { readable } else { with("_") };
    plain.truncate(MAX_NAME);
    if plain.is_empty() { "_".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        let long = format!("{}.{}", "a".repeat(40), "b".repeat(23));
        let ours = ["files.read", "files__read", "read_file", "files_read", "日历.今天", &long];
        let names = ToolNames::new(ours.into_iter());
        for name in ours {
            let wire = names.wire(name);
            assert!(is_plain(&wire), "{name} became {wire}");
            assert_eq!(names.ours(&wire), name);
            assert!(names.is_offered(name) && names.is_offered(&wire));
        }
        assert_eq!(names.wire("files__read"), "files__read");
        assert_eq!(names.wire("files.read"), "files__read_2");
    }

    #[test]
    fn a_name_that_was_not_offered_stays_as_it_is() {
        let names = ToolNames::new(["files.read"].into_iter());
        assert_eq!(names.ours("nothing"), "nothing");
        assert_eq!(names.wire("web.read"), "web__read");
        assert!(!names.is_offered("web__read"));
    }
}
