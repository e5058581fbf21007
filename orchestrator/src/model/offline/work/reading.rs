//! What files say.

use super::{MOST_PAGES, Step, Stop, Work};
use crate::model::offline::{
    answer::{self, Why},
    goals::{FileRef, Part},
    markdown,
    need::{Need, Role, Skill, Wish},
    read::Told,
    sums::{Sum, Topic},
    words::Language,
};

impl Work<'_> {
    /// Shows a file or a part of it; a prelude is only read, for what is asked next.
    pub(super) fn show(&mut self, file: &FileRef, part: &Part, is_prelude: bool) -> Step<()> {
        let path = self.file(file)?;
        let told = match part {
            Part::Lines(from, _) => self.read_from(&path, from)?,
            Part::All | Part::First(_) | Part::Last(_) | Part::FromEnd(_) => self.reading(&path)?,
        };
        if is_prelude {
            self.keep_text(told.body.clone());
            return Ok(());
        }
        let text = match part {
            Part::All => {
                self.show_all(&path, &told);
                return Ok(());
            }
            Part::First(count) => first_lines(&told.body, count),
            Part::Lines(from, to) => between(&told.body, from, to),
            Part::Last(count) => self.last_lines(&path, &told, count)?,
            Part::FromEnd(line) => {
                let lines = self.last_lines(&path, &told, line)?;
                let is_there = lines.lines().count().to_string() == *line;
                if is_there { first_lines(&lines, "1") } else { String::new() }
            }
        };
        self.say(text.trim_end_matches('\n').to_owned());
        self.keep_text(text);
        Ok(())
    }

    /// Lists the section headings of a file.
    pub(super) fn headings(&mut self, file: &FileRef) -> Step<()> {
        let path = self.file(file)?;
        let headings = markdown::headings(&self.text(&path)?);
        let head = match (self.language, headings.is_empty()) {
            (Language::English, false) => format!("The section headings of {path}:"),
            (Language::English, true) => format!("{path} has no section headings."),
            (Language::Chinese, false) => format!("{path} 的章节标题："),
            (Language::Chinese, true) => format!("{path} 没有章节标题。"),
        };
        let mut text = head;
        let top = headings.iter().map(|heading| heading.depth).min().unwrap_or(0);
        for heading in &headings {
            text.push('\n');
            text.extend((top..heading.depth).map(|_| "  "));
            text.push_str("- ");
            text.push_str(&heading.text);
        }
        self.say(text);
        let lines: Vec<&str> = headings.iter().map(|heading| heading.text.as_str()).collect();
        self.keep_text(lines.join("\n") + "\n");
        Ok(())
    }

    /// How many section headings a file has.
    pub(super) fn count_headings(&mut self, file: &FileRef) -> Step<String> {
        let path = self.file(file)?;
        let count = markdown::headings(&self.text(&path)?).len().to_string();
        self.say(match self.language {
            Language::English => {
                format!(
                    "{path} has {}.",
                    answer::count(&count, "section heading", "section headings")
                )
            }
            Language::Chinese => format!("{path} 共有 {count} 个章节标题。"),
        });
        Ok(count)
    }

    /// How many lines a file has.
    pub(super) fn lines(&mut self, path: &str) -> Step<String> {
        let told = self.reading(path)?;
        if let Some(lines) = told.lines() {
            return Ok(lines);
        }
        // A tool without a status line showed the text, and that is all of it.
        let is_whole = told.is_complete() && told.more.is_none() && !told.status.contains("binary");
        let count = told.page().lines().count().to_string();
        is_whole.then_some(count).ok_or(Stop::GiveUp(Why::Untold))
    }

    /// The beginning of a file, asked for once.
    pub(super) fn reading(&mut self, path: &str) -> Step<Told> {
        if let Some(told) = self.known.readings.get(path) {
            return Ok(told.clone());
        }
        let told = self.ask(&Need::new(Skill::Read).with_text(Role::File, path))?;
        let told = self.whole(told)?;
        self.known.readings.insert(path.to_owned(), told.clone());
        Ok(told)
    }

    fn read_from(&mut self, path: &str, line: &str) -> Step<Told> {
        let need = Need::new(Skill::Read)
            .with_text(Role::File, path)
            .with(Role::Offset, Wish::Number(line.to_owned()));
        let told = self.ask(&need)?;
        self.whole(told)
    }

    /// All of a file, page by page.
    fn text(&mut self, path: &str) -> Step<String> {
        let mut told = self.reading(path)?;
        let mut text = told.body.clone();
        for _ in 0..MOST_PAGES {
            let Some(offset) = told.next_offset() else { break };
            told = self.read_from(path, &offset)?;
            text.push_str(&told.body);
        }
        Ok(text)
    }

    fn show_all(&mut self, path: &str, told: &Told) {
        if told.body.is_empty() {
            self.say(told.status.clone());
            self.keep_text("");
            return;
        }
        let head = match self.language {
            Language::English => format!("{path}:"),
            Language::Chinese => format!("{path} 的内容："),
        };
        let mut text = format!("{head}\n\n{}", told.body.trim_end_matches('\n'));
        if !told.is_complete() || told.more.is_some() {
            // Nobody may take a part for the whole.
            text.push_str("\n\n(");
            text.push_str(&told.status);
            text.push(')');
        }
        self.say(text);
        self.keep_text(told.body.clone());
    }

    fn last_lines(&mut self, path: &str, told: &Told, count: &str) -> Step<String> {
        let mut text = told.body.clone();
        if !told.is_complete() {
            let total = told.lines().ok_or(Stop::GiveUp(Why::Untold))?;
            let expression = format!("{total} - {count} + 1");
            let line = self.value(&Sum { expression, places: None, topic: Topic::Plain })?;
            text = self.read_from(path, &line)?.body;
        }
        let wanted = count.parse().unwrap_or(usize::MAX);
        let mut lines: Vec<&str> = text.lines().rev().take(wanted).collect();
        lines.reverse();
        Ok(joined(lines.into_iter()))
    }
}

fn first_lines(text: &str, count: &str) -> String {
    let wanted = count.parse().unwrap_or(usize::MAX);
    joined(text.lines().take(wanted))
}

/// Lines of a text whose first line has the number `from`.
fn between(text: &str, from: &str, to: &str) -> String {
    let (from, to) = (from.parse().unwrap_or(1_u64), to.parse().unwrap_or(u64::MAX));
    joined((from..=to).zip(text.lines()).map(|(_, line)| line))
}

fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.fold(String::new(), |text, line| text + line + "\n")
}
