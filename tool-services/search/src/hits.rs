//! What is kept of a search: every file that matches with its number of matches, and the lines of
//! the first ones by path, so that the answer is the same each time and memory is bounded. How
//! they are told is in `report.rs`, next.

use std::{collections::BTreeMap, ops::Bound};

use callboard_files::relative::RelativePath;

/// A line that matches, or one beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u64,
    /// The text, cut where it is too long.
    pub(crate) text: String,
    pub(crate) is_match: bool,
}

/// The matches of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileHits {
    /// Lines that match, all of them.
    pub(crate) matches: u64,
    /// The first lines that match, with the lines beside them.
    pub(crate) lines: Vec<Line>,
}

impl FileHits {
    /// Matches that `lines` holds.
    pub(crate) fn kept(&self) -> u64 {
        self.lines.iter().filter(|line| line.is_match).count() as u64
    }
}

/// The matches of all files.
#[derive(Debug)]
pub(crate) struct Hits {
    /// Most matches that are kept with their lines.
    limit: u64,
    /// Matches that are kept with their lines.
    kept: u64,
    /// From this path on, no lines are kept.
    beyond: Option<RelativePath>,
    pub(crate) files: BTreeMap<RelativePath, FileHits>,
    pub(crate) tally: Tally,
}

/// What was seen on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Files that were searched.
    pub(crate) searched: u64,
    /// Sensitive files that were not.
    pub(crate) hidden: u64,
    /// Binary files that were not, or not to their end.
    pub(crate) binary: u64,
    /// Files that could not be read, or have lines too long to be searched.
    pub(crate) failed: u64,
}

impl Hits {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, kept: 0, beyond: None, files: BTreeMap::new(), tally: Tally::default() }
    }

    /// Lines that match in all files.
    pub(crate) fn matches(&self) -> u64 {
        self.files.values().map(|file| file.matches).sum()
    }

    pub(crate) fn add(&mut self, path: RelativePath, mut file: FileHits) {
        if file.matches == 0 {
            return;
        }
        if self.beyond.as_ref().is_some_and(|beyond| path >= *beyond) {
            file.lines = Vec::new();
        }
        self.kept += file.kept();
        self.files.insert(path, file);
        // Lines of the last files are let go as soon as those before them suffice.
        while self.kept > self.limit {
            let end = self.beyond.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
            let Some((path, last)) =
                self.files.range_mut::<RelativePath, _>((Bound::Unbounded, end)).next_back()
            else {
                break;
            };
            if self.kept - last.kept() < self.limit {
                break;
            }
            self.kept -= last.kept();
            last.lines = Vec::new();
            self.beyond = Some(path.clone());
        }
    }

    /// Takes in what another thread found.
    pub(crate) fn merge(&mut self, other: Self) {
        self.tally.searched += other.tally.searched;
        self.tally.hidden += other.tally.hidden;
        self.tally.binary += other.tally.binary;
        self.tally.failed += other.tally.failed;
        for (path, file) in other.files {
            self.add(path, file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(matches: u64, kept: u64) -> FileHits {
        let line = |number| Line { number, text: String::new(), is_match: true };
        FileHits { matches, lines: (1..=kept).map(line).collect() }
    }

    #[test]
    fn all_files_are_counted_and_the_first_ones_keep_their_lines() {
        let path = |name: &str| RelativePath::root().join(name.as_bytes());
        let mut one = Hits::new(5);
        let mut two = Hits::new(5);
        for name in ["z", "c", "m"] {
            one.add(path(name), file(4, 4));
        }
        one.add(path("none"), file(0, 0));
        for name in ["b", "y"] {
            two.add(path(name), file(40, 5));
        }
        one.merge(two);
        assert_eq!(one.matches(), 92);
        let kept: Vec<_> =
            one.files.iter().map(|(path, file)| (path.to_string(), file.kept())).collect();
        let expected = [("b", 5), ("c", 0), ("m", 0), ("y", 0), ("z", 0)];
        assert_eq!(kept, expected.map(|(path, kept)| (path.to_owned(), kept)));
    }

    #[test]
    fn a_file_that_is_needed_in_part_keeps_its_lines() {
        let mut hits = Hits::new(5);
        for name in ["a", "b", "c"] {
            hits.add(RelativePath::root().join(name.as_bytes()), file(3, 3));
        }
        assert_eq!(hits.files.values().map(FileHits::kept).collect::<Vec<_>>(), [3, 3, 0]);
    }
}
