//! A workspace in memory, and what tools over it answer. How they describe themselves is in
//! `declarations.rs`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::calculator;
use crate::model::Wanted;

/// Lines of a page of a file.
const PAGE: usize = 100;

/// Files by path, with their age order: the larger, the newer.
#[derive(Debug)]
pub(super) struct Workspace {
    files: BTreeMap<String, (String, u64)>,
    kept: Vec<String>,
    /// What every tool answers, if set.
    always: Option<String>,
    /// Characters of a result that are shown.
    pub(super) shown: usize,
}

impl Default for Workspace {
    fn default() -> Self {
        Self { files: BTreeMap::new(), kept: Vec::new(), always: None, shown: 16_000 }
    }
}

impl Workspace {
    /// A workspace whose tools always answer the same.
    pub(super) fn answering(answer: &str) -> Self {
        Self { always: Some(answer.to_owned()), ..Self::default() }
    }

    pub(super) fn file(&mut self, path: &str, text: &str, age: u64) {
        self.files.insert(path.to_owned(), (text.to_owned(), age));
    }

    pub(super) fn text(&self, path: &str) -> &str {
        self.files.get(path).map_or("", |(text, _)| text)
    }

    /// Makes a call and gives the text that a model would see.
    pub(super) fn call(&mut self, wanted: &Wanted) -> String {
        if let Some(always) = &self.always {
            return always.clone();
        }
        let args: Value = serde_json::from_str(&wanted.arguments).unwrap();
        let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or("");
        if wanted.name == "t8" {
            let from = usize::try_from(args["offset"].as_u64().unwrap()).unwrap();
            let whole = self.kept[text("id").parse::<usize>().unwrap()].clone();
            return self.page(&whole, from, text("id"));
        }
        let result = match wanted.name.as_str() {
            "t1" => calculator::value(text("expression")).map_or(
                "Failed (invalid_arguments): no expression".to_owned(),
                |value| {
                    let places = args.get("precision").and_then(Value::as_u64);
                    places.map_or(value.clone(), |places| {
                        format!(
                            "{:.*}",
                            usize::try_from(places).unwrap(),
                            value.parse::<f64>().unwrap()
                        )
                    })
                },
            ),
            "t2" => self.read(text("path"), args.get("offset").and_then(Value::as_u64)),
            "t3" => self.list(text("path"), text("sort")),
            "t4" => self.find(
                text("pattern"),
                text("path"),
                text("sort"),
                args.get("limit").and_then(Value::as_u64),
            ),
            "t5" => {
                let (path, content) = (text("path").to_owned(), text("content").to_owned());
                let status = format!("Wrote {path}: {} bytes; a new file.", content.len());
                self.file(&path, &content, 1);
                status
            }
            "t6" => self.search(text("pattern"), text("path")),
            "t7" => format!("Exit code 0 after 0.0 s.\n\nran <{}>\n", text("command")),
            other => panic!("no tool {other}"),
        };
        if result.len() <= self.shown {
            return result;
        }
        self.kept.push(result.clone());
        let id = (self.kept.len() - 1).to_string();
        format!(
            "{}\n[Shown: the first {} of {} characters, 1 of 2 lines. The call succeeded; do not repeat \
             it. Read on with t8 {{\"id\": \"{id}\", \"offset\": {}}}.]",
            &result[..self.shown],
            self.shown,
            result.len(),
            self.shown
        )
    }

    fn page(&self, whole: &str, from: usize, id: &str) -> String {
        let until = (from + self.shown).min(whole.len());
        let note = if until < whole.len() {
            format!(
                "Bytes {from} to {until} of {}. Read on with t8 {{\"id\": \"{id}\", \"offset\": {until}}}.",
                whole.len()
            )
        } else {
            format!("Bytes {from} to {until} of {}: this is the end.", whole.len())
        };
        format!("{}\n[{note}]", &whole[from..until])
    }

    fn read(&self, path: &str, offset: Option<u64>) -> String {
        let Some((text, _)) = self.files.get(path) else {
            return format!("Failed (not_found): No file `{path}`. Nearest: none.");
        };
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let first = usize::try_from(offset.unwrap_or(1)).unwrap();
        let last = (first + PAGE - 1).min(lines.len());
        let body: String = lines[first - 1..last].concat();
        let status = if last < lines.len() {
            format!(
                "lines {first}–{last} of {}; go on with offset {}; do not read again from the start.",
                grouped(lines.len()),
                last + 1
            )
        } else if first == 1 {
            format!(
                "{} characters, {}, complete.",
                grouped(text.chars().count()),
                count(lines.len(), "line")
            )
        } else {
            format!("lines {first}–{last} of {}, to the end.", grouped(lines.len()))
        };
        format!("Read {path}: {status}\n{body}")
    }

    fn sorted(mut rows: Vec<(String, usize, u64)>, sort: &str) -> Vec<(String, usize, u64)> {
        match sort {
            "size" => rows.sort_by_key(|(path, size, _)| (std::cmp::Reverse(*size), path.clone())),
            "modified" => {
                rows.sort_by_key(|(path, _, age)| (std::cmp::Reverse(*age), path.clone()));
            }
            _ => rows.sort(),
        }
        rows
    }

    fn list(&self, folder: &str, sort: &str) -> String {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let below: Vec<(&str, &(String, u64))> = self
            .files
            .iter()
            .filter_map(|(path, file)| Some((path.strip_prefix(&prefix)?, file)))
            .collect();
        if below.is_empty() {
            return format!("Failed (not_found): No folder `{folder}`.");
        }
        let files = below.iter().filter(|(name, _)| !name.contains('/'));
        let files: Vec<_> = files
            .map(|(name, (text, age))| (format!("{prefix}{name}"), text.len(), *age))
            .collect();
        let folders: std::collections::BTreeSet<&str> =
            below.iter().filter_map(|(name, _)| Some(name.split_once('/')?.0)).collect();
        let mut lines: Vec<String> = folders
            .iter()
            .map(|name| format!("{prefix}{name}/  folder  2026-01-01T00:00:00Z"))
            .collect();
        lines.extend(Self::sorted(files.clone(), sort).iter().map(line));
        format!(
            "Listed {}: {} ({}, {}), {}.\n{}",
            if folder.is_empty() { "." } else { folder },
            if lines.len() == 1 {
                "1 entry".to_owned()
            } else {
                format!("{} entries", lines.len())
            },
            count(files.len(), "file"),
            count(folders.len(), "folder"),
            words(sort),
            lines.join("\n")
        )
    }

    fn find(&self, pattern: &str, folder: &str, sort: &str, limit: Option<u64>) -> String {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let is_flat = pattern.starts_with("./");
        let glob = pattern.trim_start_matches("**/").trim_start_matches("./");
        let is_match = |path: &str| {
            if is_flat && path[prefix.len()..].contains('/') {
                return false;
            }
            let name = path.rsplit('/').next().unwrap();
            match glob.split_once('*') {
                Some((start, end)) => name.starts_with(start) && name.ends_with(end),
                None => name == glob,
            }
        };
        let found =
            self.files.iter().filter(|(path, _)| path.starts_with(&prefix) && is_match(path));
        let found = found.map(|(path, (text, age))| (path.clone(), text.len(), *age)).collect();
        let rows = Self::sorted(found, sort);
        let limit = usize::try_from(limit.unwrap_or(100)).unwrap();
        let shown: Vec<String> = rows.iter().take(limit).map(line).collect();
        let place = if folder.is_empty() {
            "in the workspace".to_owned()
        } else {
            format!("under {folder}")
        };
        let some = if shown.len() < rows.len() {
            format!("; the first {} of {} are shown", shown.len(), rows.len())
        } else {
            String::new()
        };
        let mut text = format!(
            "Found {} matching {pattern} {place}, {}{some}.",
            count(rows.len(), "file"),
            words(sort)
        );
        for line in shown {
            text.push('\n');
            text.push_str(&line);
        }
        text
    }

    fn search(&self, query: &str, folder: &str) -> String {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut lines = Vec::new();
        let mut files = Vec::new();
        for (path, (text, _)) in self.files.iter().filter(|(path, _)| path.starts_with(&prefix)) {
            let hits: Vec<String> = text
                .lines()
                .enumerate()
                .filter(|(_, line)| line.contains(query))
                .map(|(nth, line)| format!("{path}:{}: {line}", nth + 1))
                .collect();
            if !hits.is_empty() {
                files.push(format!("{path} ({})", hits.len()));
                lines.extend(hits);
            }
        }
        let place = if folder.is_empty() {
            "in the workspace".to_owned()
        } else {
            format!("under {folder}")
        };
        if lines.is_empty() {
            return format!("Found 0 matches for \"{query}\" {place}; 9 files were searched.");
        }
        let matches = if lines.len() == 1 {
            "1 match".to_owned()
        } else {
            format!("{} matches", lines.len())
        };
        let named =
            if files.len() > 1 { format!("\nFiles: {}", files.join(", ")) } else { String::new() };
        format!(
            "Found {matches} for \"{query}\" in {} {place}.{named}\n{}",
            count(files.len(), "file"),
            lines.join("\n")
        )
    }
}

fn line((path, size, age): &(String, usize, u64)) -> String {
    let unit = if *size == 1 { "byte" } else { "bytes" };
    format!(
        "{path}  {} {unit}  2026-11-30T{:02}:{:02}:00Z",
        grouped(*size),
        age / 60 % 24,
        age % 60
    )
}

fn words(sort: &str) -> &str {
    match sort {
        "size" => "largest first",
        "modified" => "newest first",
        _ => "by name",
    }
}

fn count(value: usize, one: &str) -> String {
    if value == 1 { format!("1 {one}") } else { format!("{} {one}s", grouped(value)) }
}

fn grouped(value: usize) -> String {
    let digits = value.to_string();
    match digits.len() {
        0..=3 => digits,
        length => format!("{},{}", &digits[..length - 3], &digits[length - 3..]),
    }
}
