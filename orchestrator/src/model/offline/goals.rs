//! What a person can want. `intent.rs` finds it in their words, `work.rs` does it.

use super::sums::Sum;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// Work something out.
    Calculate(Vec<Sum>),
    /// Work something out with what was found before.
    Combine(Combination),
    /// Show what a file says.
    Read { file: FileRef, part: Part },
    /// Tell a number.
    Tell(Quantity),
    /// List the section headings of a file.
    Headings(FileRef),
    /// List a folder.
    List(Option<String>),
    /// Name the first files in an order.
    Pick(Pick),
    /// Name the files that match.
    Find(Files),
    /// Find words in files.
    Search(Search),
    /// Write a file.
    Write { path: String, content: Content },
    /// Run a command.
    Run(String),
    /// Tell when a file was changed.
    Changed(FileRef),
    /// Say who is speaking and what it can do.
    Introduce,
    /// Something that takes more than this planner.
    Beyond,
}

/// A file that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileRef {
    Path(String),
    /// The first of an order.
    Picked(Pick),
    /// The one that was spoken of.
    It,
}

/// Which part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    All,
    /// The first lines, their number as written.
    First(String),
    /// The last lines, their number as written.
    Last(String),
    /// One line, counted from the last one, which is `1`.
    FromEnd(String),
    /// From one line to another, as written.
    Lines(String, String),
}

/// Files by name in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Files {
    /// Glob; `None` for all files.
    pub(super) pattern: Option<String>,
    /// The folder; `None` for the one that was spoken of, or all.
    pub(super) folder: Option<String>,
    /// Files that were spoken of before.
    pub(super) is_same: bool,
    /// Only what lies in the folder itself, not in those below it.
    pub(super) is_flat: bool,
}

/// The first files in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pick {
    pub(super) order: Order,
    pub(super) files: Files,
    /// How many.
    pub(super) count: usize,
    /// Which one comes first, the first being 1: `second largest`.
    pub(super) nth: usize,
}

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Newest,
    Oldest,
    Largest,
    Smallest,
}

/// Words in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) query: String,
    pub(super) files: Files,
    pub(super) shows: Shows,
}

/// What of a search is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    Files,
    Places,
}

/// A number that can be found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Lines of a file.
    Lines(FileRef),
    /// Characters of a file.
    Characters(FileRef),
    /// Bytes of a file.
    Bytes(FileRef),
    /// Section headings of a file.
    Headings(FileRef),
    /// Files that match.
    Files(Files),
    /// Folders in a folder.
    Folders(Option<String>),
    /// Bytes of all files that match.
    AllBytes(Files),
    /// Places where words stand.
    Matches(Search),
    /// How often words stand there, more than once a line included.
    Occurrences(Search),
    /// Files in which words stand.
    MatchingFiles(Search),
    /// All of these together.
    Total(Vec<Quantity>),
    /// An expression in the text itself.
    Given(String),
    /// The last number that was found.
    Last,
}

/// Two numbers and what to do with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Combination {
    pub(super) left: Quantity,
    pub(super) operator: &'static str,
    pub(super) right: Quantity,
    /// Decimal places wanted, as written.
    pub(super) places: Option<String>,
}

/// What to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Text(String),
    /// What was found before.
    Last,
}
