//! Numbers: what a tool works out, and what results of other tools say.

use super::{Step, Stop, Work};
use crate::model::offline::{
    answer::{self, Why},
    choose,
    goals::{Combination, Files, Quantity},
    need::{Need, Role, Skill, Wish},
    read,
    sums::{Sum, Topic},
    words::Language,
};

impl Work<'_> {
    /// Works out each calculation and tells the results.
    pub(super) fn calculate(&mut self, sums: &[Sum]) -> Step<()> {
        for sum in sums {
            let value = self.value(sum)?;
            self.say(answer::sum(self.language, sum.topic, &sum.expression, &value));
            self.keep_number(&value);
        }
        Ok(())
    }

    /// Finds two numbers out and works out what was asked of them.
    pub(super) fn combine(&mut self, combination: &Combination) -> Step<()> {
        let left = self.quantity(&combination.left)?;
        let right = self.quantity(&combination.right)?;
        let expression = format!("{left} {} {right}", combination.operator);
        let places = combination.places.clone();
        self.calculate(&[Sum { expression, places, topic: Topic::Plain }])
    }

    /// The value of a calculation, as a tool gives it.
    pub(super) fn value(&mut self, sum: &Sum) -> Step<String> {
        let need = |expression: String| {
            let need = Need::new(Skill::Calculate).with_text(Role::Expression, expression);
            match &sum.places {
                Some(places) => need.may(Role::Places, Wish::Number(places.clone())),
                None => need,
            }
        };
        let plain = need(sum.expression.clone());
        let takes_places = choose::choose(&plain, self.tools, self.question)
            .is_some_and(|choice| choice.filled.contains(&Role::Places));
        let told = if takes_places { self.ask(&plain)? } else { self.ask(&need(sum.rounded()))? };
        Ok(read::value(&told))
    }

    /// Finds a number out and tells it.
    pub(super) fn quantity(&mut self, quantity: &Quantity) -> Step<String> {
        let value = match quantity {
            Quantity::Given(text) => return Ok(text.clone()),
            Quantity::Last => {
                return self.known.number.clone().ok_or(Stop::GiveUp(Why::WhichResult));
            }
            Quantity::Total(parts) => self.total(parts)?,
            Quantity::Lines(file) => {
                let path = self.file(file)?;
                let lines = self.lines(&path)?;
                self.say_count(&path, &lines, ("line", "lines", "行"));
                lines
            }
            Quantity::Characters(file) => {
                let path = self.file(file)?;
                let told = self.reading(&path)?;
                let count = told.count_of(&["character", "characters", "字符"]);
                let count =
                    count.filter(|_| told.is_complete()).ok_or(Stop::GiveUp(Why::Untold))?;
                self.say_count(&path, &count, ("character", "characters", "个字符"));
                count
            }
            Quantity::Bytes(file) => {
                let path = self.file(file)?;
                let size = self.row(&path)?.size.ok_or(Stop::GiveUp(Why::Untold))?;
                self.say_count(&path, &size, ("byte", "bytes", "字节"));
                size
            }
            Quantity::Headings(file) => self.count_headings(file)?,
            Quantity::Files(files) => self.count_files(files)?,
            Quantity::Folders(folder) => self.count_folders(folder.as_deref())?,
            Quantity::AllBytes(files) => self.all_bytes(files)?,
            Quantity::Matches(search) => self.count_matches(search)?,
            Quantity::Occurrences(search) => self.count_occurrences(search)?,
            Quantity::MatchingFiles(search) => self.count_matching_files(search)?,
        };
        self.keep_number(&value);
        Ok(value)
    }

    /// Tells how many of something a file has.
    fn say_count(&mut self, path: &str, count: &str, (one, many, chinese): (&str, &str, &str)) {
        self.say(match self.language {
            Language::English => format!("{path} has {}.", answer::count(count, one, many)),
            Language::Chinese => format!("{path} 共有 {} {chinese}。", answer::number(count)),
        });
    }

    /// Several numbers, added up by a tool.
    fn total(&mut self, parts: &[Quantity]) -> Step<String> {
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            values.push(self.quantity(part)?);
        }
        let expression = values.join(" + ");
        let sum = Sum { expression, places: None, topic: Topic::Plain };
        let value = self.value(&sum)?;
        self.say(answer::sum(self.language, sum.topic, &sum.expression, &value));
        Ok(value)
    }

    /// The size of all files that match: a tool adds them up.
    fn all_bytes(&mut self, files: &Files) -> Step<String> {
        let rows = self.all_rows(files, None)?;
        let sizes: Vec<String> = rows.into_iter().filter_map(|row| row.size).collect();
        let value = match sizes.as_slice() {
            [] => return Err(Stop::GiveUp(Why::Nothing(self.described(files)))),
            [one] => one.clone(),
            many => {
                let expression = many.join(" + ");
                self.value(&Sum { expression, places: None, topic: Topic::Plain })?
            }
        };
        let what = self.described(files);
        self.say(match self.language {
            Language::English => {
                format!("The {what} have {} bytes in all.", answer::number(&value))
            }
            Language::Chinese => format!("{what}的总大小是 {} 字节。", answer::number(&value)),
        });
        Ok(value)
    }
}
