//! One clause of a request, with everything that is known about it: its words, and the files and
//! folders that it names. What it asks for is decided in `intent.rs`.

use super::{
    folders,
    goals::{FileRef, Files, Order, Part, Pick},
    numerals, pattern, phrases as p,
    places::Places,
    quotes::{self, Masked},
    sums,
    tokens::{self, Token},
    words::has_any,
};

/// Stands for a name; no keyboard makes it.
const BLANK: char = '\u{1}';

/// Files of an order that are named where all are wanted.
const MANY: usize = 100;

/// A clause with everything that was found out about it.
pub(super) struct Clause<'a> {
    /// As it stands in the masked text.
    pub(super) text: &'a str,
    /// Without the names of files and folders, which mean nothing but themselves.
    pub(super) bare: String,
    pub(super) masked: &'a Masked,
    pub(super) tokens: Vec<Token>,
    pub(super) places: Places,
}

impl<'a> Clause<'a> {
    pub(super) fn new(text: &'a str, masked: &'a Masked) -> Self {
        let tokens = tokens::of(text, masked);
        let places = Places::of(text, &tokens);
        let named: Vec<&Token> = places.named().filter_map(|at| tokens.get(at)).collect();
        let mut bare = String::with_capacity(text.len());
        for (at, character) in text.char_indices() {
            if named.iter().any(|token| (token.start..token.end).contains(&at)) {
                // As many bytes, so that places in both texts are the same.
                bare.extend(std::iter::repeat_n(BLANK, character.len_utf8()));
            } else {
                bare.push(character);
            }
        }
        Self { text, bare, masked, tokens, places }
    }

    pub(super) fn says(&self, list: &str) -> bool {
        has_any(&self.bare, list)
    }

    /// The calculations in it, quoted ones included.
    pub(super) fn sums(&self) -> Vec<sums::Sum> {
        let mut text = String::with_capacity(self.text.len());
        for (at, character) in self.text.char_indices() {
            // The digits of a name are no numbers: `data/2024-05`.
            let is_name = self.bare[at..].starts_with(BLANK);
            match self.masked.quote(character) {
                Some(quote) => text.push_str(&quote.inner),
                None if is_name => text.push(BLANK),
                None => text.push(character),
            }
        }
        // A date is no subtraction.
        let is_date = |sum: &sums::Sum| {
            let parts: Vec<&str> = sum.expression.split('-').collect();
            parts.len() == 3 && parts[0].len() == 4 && parts[1..].iter().all(|part| part.len() == 2)
        };
        sums::find(&text).into_iter().filter(|sum| !is_date(sum)).collect()
    }

    /// Whether a word of it is the folder that it names.
    pub(super) fn is_folder(&self, token: &Token) -> bool {
        let folder = self.places.folder.as_ref().and_then(|folder| self.tokens.get(folder.at?));
        folder.is_some_and(|folder| folder.start == token.start)
    }

    /// The command whose output is spoken of.
    pub(super) fn output_of(&self) -> Option<String> {
        let code = self.tokens.iter().find_map(|token| {
            let mark = self.text[token.start..].chars().next()?;
            self.masked.quote(mark).filter(|quote| quote.kind == quotes::Kind::Code)
        })?;
        let is_output =
            self.says("output of, result of running, the result of, 的输出, 的运行结果, 的结果");
        (is_output && code.inner.contains(char::is_alphabetic)).then(|| code.inner.clone())
    }

    /// A second folder beside the one that it names: `in a and b`.
    pub(super) fn second_folder(&self) -> Option<String> {
        let at = self.places.folder.as_ref()?.at?;
        let is_joint = |token: &&Token| token.is_any("and, or, 和, 与, 或, 跟, 以及");
        let is_name = |token: &&Token| {
            token.kind == tokens::Kind::Word
                && !folders::is_plain_word(token)
                && !token.is_any("subfolders, subdirectories, below, everything, what's")
        };
        let mut behind = self.tokens[at + 1..].iter();
        let second = behind
            .next()
            .filter(is_joint)
            .and_then(|_| behind.find(|token| !token.is_any("in, under, below, the, from")));
        let mut before = self.tokens[..at].iter().rev();
        let first = before.next().filter(is_joint).and_then(|_| before.next());
        let is_file = |token: &&Token| token.is_file();
        let first = first.filter(|first| !is_file(first));
        second.filter(is_name).or(first.filter(is_name)).map(|token| token.text.clone())
    }

    /// Folders beside the one that it names.
    pub(super) fn other_folders(&self) -> Vec<String> {
        let chosen = self.places.folder.as_ref().and_then(|folder| folder.at);
        let named: Vec<usize> = self.places.all().collect();
        let mut free = (0..self.tokens.len()).filter(|at| !named.contains(at));
        if chosen.is_none() {
            return Vec::new();
        }
        let found = free.by_ref().filter(|at| folders::is_place(&self.tokens, *at));
        found.map(|at| self.tokens[at].text.trim_end_matches('/').to_owned()).collect()
    }

    /// The files that it speaks of. Those "in" a folder lie in it directly, those "under" it at any
    /// depth, unless more is said.
    pub(super) fn files(&self) -> Files {
        let folder = self.places.folder.as_ref();
        Files {
            pattern: self.places.pattern.clone(),
            folder: self.places.folder().map(str::to_owned),
            is_same: self.places.is_same,
            is_flat: folder.is_some_and(|folder| {
                self.says(p::DIRECTLY) || (folder.is_alone && !self.says(p::BELOW))
            }),
        }
    }

    /// The order in which files are meant to be looked at.
    fn order(&self) -> Option<Order> {
        let orders = [
            (Order::Newest, p::NEWEST_DOWN),
            (Order::Oldest, p::OLDEST_UP),
            (Order::Largest, p::LARGEST_DOWN),
            (Order::Smallest, p::SMALLEST_UP),
            // Before the newest: "least recently modified".
            (Order::Oldest, p::OLDEST),
            (Order::Newest, p::NEWEST),
            (Order::Largest, p::LARGEST),
            (Order::Smallest, p::SMALLEST),
        ];
        let found = orders.into_iter().find(|(_, phrases)| self.says(phrases));
        // `the last file changed`, `who edited what last`
        let is_last = self.says("last") && self.says(p::CHANGES) && !self.says(p::WHEN);
        found
            .map(|(order, _)| order)
            .or_else(|| is_last.then_some(Order::Newest))
            .or_else(|| self.says(p::BY_SIZE).then_some(Order::Largest))
            .or_else(|| self.says(p::BY_TIME).then_some(Order::Newest))
    }

    /// The first files of an order, if it speaks of some.
    pub(super) fn pick(&self) -> Option<Pick> {
        let order = self.order()?;
        let speaks_of_files = self.says(p::FILES)
            || self.places.pattern.is_some()
            || self.places.folder.is_some()
            || self.says("one, 哪个");
        let number = |rows: &[&str], text: &str| {
            rows.iter().find_map(|row| {
                pattern::find(row, text)?.fill("{n}").parse().ok().filter(|count| *count > 0)
            })
        };
        let counts = [
            "(top|first) {n}",
            "{n} (largest|biggest|newest|latest|oldest|smallest|most recent)",
            "{n} (files|documents)",
            "{n} 个",
            "前 {n}",
        ];
        let whole = [
            p::SORTED,
            p::BY_SIZE,
            p::BY_TIME,
            p::NEWEST_DOWN,
            p::OLDEST_UP,
            p::LARGEST_DOWN,
            p::SMALLEST_UP,
        ];
        let most = if whole.iter().any(|words| self.says(words)) { MANY } else { 1 };
        let count = number(&counts, &numerals::plain(&self.without_kinds())).unwrap_or(most);
        let places = [
            "no {n} (largest|biggest|heaviest|newest|latest|most recent|oldest|smallest)",
            "第 {n} (大|小|新|旧|老|早)",
        ];
        let nth = number(&places, &numerals::ordinals(&self.bare)).unwrap_or(1);
        speaks_of_files.then(|| Pick { order, files: self.files(), count, nth })
    }

    /// The words without names and kinds of file: `two .rs files` are two files.
    fn without_kinds(&self) -> String {
        let mut text = self.bare.clone();
        for token in self.places.all().filter_map(|at| self.tokens.get(at)) {
            text.replace_range(token.start..token.end, &" ".repeat(token.end - token.start));
        }
        text
    }

    /// The file that is meant.
    pub(super) fn file(&self) -> FileRef {
        match (self.places.file(), self.pick()) {
            (Some(path), _) => FileRef::Path(path.to_owned()),
            (None, Some(pick)) => FileRef::Picked(Pick { count: 1, ..pick }),
            (None, None) => FileRef::It,
        }
    }

    /// Whether some file is meant.
    pub(super) fn has_file(&self) -> bool {
        self.places.file().is_some() || self.pick().is_some() || self.says(p::POINTERS)
    }
}

/// The part of a file that a clause asks for by lines.
pub(super) fn part(clause: &Clause<'_>) -> Option<Part> {
    let text = numerals::plain(&clause.bare);
    let text = text.replace("first line", "first 1 line").replace("last line", "last 1 line");
    let text = text.replace("首行", "前1行").replace("最后一行", "最后1行");
    // `第三行`: a numeral behind `第` is left alone elsewhere, where it may be part of a name.
    let text = "一二三四五六七八九".chars().zip('1'..='9').fold(text, |text, (han, digit)| {
        text.replace(&format!("第{han}行"), &format!("第{digit}行"))
    });
    let ordinals = numerals::ordinals(&clause.bare).replace("penultimate", "no 2 to last");
    let plain = |number: String| number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number);
    let one =
        |rows: &[&str]| rows.iter().find_map(|row| plain(pattern::find(row, &text)?.fill("{a}")));
    let of_ordinals = |rows: &[&str]| {
        rows.iter().find_map(|row| plain(pattern::find(row, &ordinals)?.fill("{a}")))
    };
    let from_end = [
        "倒数 第 {a} 行",
        "no {a} (to|from) [the] last line",
        "no {a}-to-last line",
        "no {a} last line",
    ];
    if let Some(line) = of_ordinals(&from_end) {
        return Some(Part::FromEnd(line));
    }
    let between = [
        "lines {a} (to|through|until|till|-) {b}",
        "lines {a}-{b}",
        "line {a} to [line] {b}",
        "第 {a} [行] (到|至|-) [第] {b} 行",
        "{a} (到|至) {b} 行",
        "lines between {a} and {b}",
    ];
    let pair = between.iter().find_map(|row| {
        let caught = pattern::find(row, &text)?;
        Some((
            plain(caught.fill("{a}"))?,
            plain(caught.fill("{b}").trim_start_matches('-').to_owned())?,
        ))
    });
    if let Some((from, to)) = pair {
        return Some(Part::Lines(from, to));
    }
    if let Some(count) = one(&[
        "(first|top) {a} (lines|line)",
        "前 {a} 行",
        "头 {a} 行",
        "开始 [的] {a} 行",
        "开头 {a} 行",
        "最前面 {a} 行",
    ]) {
        return Some(Part::First(count));
    }
    if let Some(count) =
        one(&["(last|bottom|final) {a} (lines|line)", "最后 {a} 行", "末尾 {a} 行", "后 {a} 行"])
    {
        return Some(Part::Last(count));
    }
    let line = one(&["line {a} (of|in|from)", "line number {a}", "line #{a}", "第 {a} 行"])
        .or_else(|| of_ordinals(&["no {a} line (of|in|from)"]))?;
    Some(Part::Lines(line.clone(), line))
}
