//! Rows of a listing: what is said about an entry, in which order, and how many at most. Memory is
//! bounded by the limit, however many entries there are. What is listed is decided by
//! `list_dir.rs` and `find_files.rs`.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answer::number,
    meta::{Kind, Meta},
    relative::RelativePath,
    shown::Shown,
};

/// Rows if nobody asks for a number of them.
pub(crate) const DEFAULT_LIMIT: u32 = 100;
/// Most rows of one answer.
pub(crate) const MAX_LIMIT: u32 = 1000;
/// Most bytes of one answer: more would be cut on the way.
const MAX_BYTES: usize = 60 * 1024;

/// What comes first: by name A before Z, the largest, or what was modified last. The variants have
/// no docs of their own, so that models get a plain list of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sort {
    #[default]
    Name,
    Size,
    Modified,
}

impl Sort {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Name => "by name",
            Self::Size => "largest first",
            Self::Modified => "newest first",
        }
    }
}

/// One entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) path: RelativePath,
    pub(crate) meta: Meta,
    /// Where a link leads, as written in it.
    pub(crate) target: Option<Vec<u8>>,
}

/// The same for programs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Entry {
    /// Path from the workspace, bytes that are no text escaped as in the text.
    path: String,
    /// `file`, `folder`, `link`, `named pipe`, `socket`, `device` or `unknown`.
    kind: String,
    /// Size in bytes; for a file only.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Last modified, ISO 8601 in UTC.
    modified: String,
    /// Where a link leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

impl Row {
    /// The line of this row, its path from the workspace first.
    pub(crate) fn line(&self) -> String {
        let Self { path, meta, .. } = self;
        match (meta.kind, &self.target) {
            (Kind::File, _) => {
                let unit = if meta.size == 1 { "byte" } else { "bytes" };
                format!("{path}  {} {unit}  {}", number(meta.size), meta.modified)
            }
            (Kind::Folder, _) => format!("{path}/  folder  {}", meta.modified),
            (_, Some(target)) => format!("{path} -> {}  link  {}", Shown(target), meta.modified),
            (kind, None) => format!("{path}  {kind}  {}", meta.modified),
        }
    }

    pub(crate) fn entry(&self) -> Entry {
        Entry {
            path: self.path.to_string(),
            kind: self.meta.kind.to_string(),
            size: (self.meta.kind == Kind::File).then_some(self.meta.size),
            modified: self.meta.modified.to_string(),
            target: self.target.as_deref().map(|target| Shown(target).to_string()),
        }
    }
}

/// A status line and the rows below it.
pub(crate) fn text(status: String, rows: &[Row]) -> String {
    rows.iter().fold(status, |text, row| text + "\n" + &row.line())
}

/// The first rows of a listing, and how many there are in all.
#[derive(Debug)]
pub(crate) struct Ranked {
    sort: Sort,
    limit: usize,
    /// The last of the rows that are kept is on top.
    rows: BinaryHeap<Place>,
    pub(crate) total: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct Place {
    sort: Sort,
    row: Row,
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, two) = (&self.row, &other.row);
        let first = match self.sort {
            Sort::Name => Ordering::Equal,
            Sort::Size => Reverse(one.meta.size).cmp(&Reverse(two.meta.size)),
            Sort::Modified => Reverse(one.meta.modified).cmp(&Reverse(two.meta.modified)),
        };
        first.then_with(|| one.path.cmp(&two.path))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ranked {
    pub(crate) fn new(sort: Sort, limit: u32) -> Self {
        let limit = limit.clamp(1, MAX_LIMIT) as usize;
        Self { sort, limit, rows: BinaryHeap::with_capacity(limit + 1), total: 0 }
    }

    pub(crate) fn push(&mut self, row: Row) {
        self.total += 1;
        self.keep(Place { sort: self.sort, row });
    }

    /// Takes in the rows of another thread.
    pub(crate) fn merge(&mut self, other: Self) {
        self.total += other.total;
        other.rows.into_iter().for_each(|place| self.keep(place));
    }

    /// The rows, the first one first: as many as the limit and the size of an answer allow.
    pub(crate) fn into_rows(self) -> Vec<Row> {
        let mut bytes = 0;
        let rows = self.rows.into_sorted_vec().into_iter().map(|place| place.row);
        rows.take_while(|row| {
            bytes += row.line().len() + 1;
            bytes <= MAX_BYTES
        })
        .collect()
    }

    fn keep(&mut self, place: Place) {
        if self.rows.len() == self.limit && self.rows.peek().is_some_and(|last| *last < place) {
            return;
        }
        self.rows.push(place);
        if self.rows.len() > self.limit {
            self.rows.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(path: &str, size: i64, second: i64) -> Row {
        let mut stat = rustix::fs::fstat(std::io::stderr()).unwrap();
        stat.st_mode = 0o100_644;
        stat.st_size = size;
        stat.st_mtime = second;
        let path =
            path.split('/').fold(RelativePath::root(), |path, name| path.join(name.as_bytes()));
        Row { path, meta: Meta::from(&stat), target: None }
    }

    #[test]
    fn the_first_rows_are_kept_and_all_are_counted() {
        let rows = [("b", 5, 1), ("a", 5, 3), ("c/d", 9, 2), ("c", 1, 3)];
        for (sort, limit, expected) in [
            (Sort::Name, 9, &["a", "b", "c", "c/d"][..]),
            (Sort::Size, 3, &["c/d", "a", "b"]),
            (Sort::Modified, 2, &["a", "c"]),
            (Sort::Modified, 1, &["a"]),
        ] {
            let mut one = Ranked::new(sort, limit);
            let mut two = Ranked::new(sort, limit);
            for (index, (path, size, second)) in rows.iter().enumerate() {
                let part = if index % 2 == 0 { &mut one } else { &mut two };
                part.push(row(path, *size, *second));
            }
            one.merge(two);
            assert_eq!(one.total, 4);
            let paths: Vec<_> = one.into_rows().iter().map(|row| row.path.to_string()).collect();
            assert_eq!(paths, expected, "{sort:?}");
        }
    }

    #[test]
    fn a_row_is_one_line_whatever_the_name() {
        let mut row = row("a\nb.md", 1_240, 1_796_067_665);
        assert_eq!(row.line(), "a\\u{a}b.md  1,240 bytes  2026-11-30T19:41:05Z");
        row.meta.kind = Kind::Folder;
        assert_eq!(row.line(), "a\\u{a}b.md/  folder  2026-11-30T19:41:05Z");
        row.meta.kind = Kind::Link;
        row.target = Some(b"x.md".to_vec());
        assert_eq!(row.line(), "a\\u{a}b.md -> x.md  link  2026-11-30T19:41:05Z");
    }
}
