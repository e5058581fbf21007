//! Words in files.

use super::{Step, Stop, Work};
use crate::model::offline::{
    answer::{self, Why},
    goals::{Search, Shows},
    need::{Need, Role, Skill, Wish},
    read::Told,
    words::Language,
};

/// Matches that are asked for where the first answer did not name all files.
const MANY: &str = "1000";
/// Places that are told.
const MOST_PLACES: usize = 50;

impl Work<'_> {
    /// Tells where words stand.
    pub(super) fn search(&mut self, search: &Search) -> Step<()> {
        let told = self.look(search, None)?;
        match search.shows {
            Shows::Files => self.tell_files(search, &told),
            Shows::Places => self.tell_places(search, told),
        }
    }

    /// How many lines hold the words.
    pub(super) fn count_matches(&mut self, search: &Search) -> Step<String> {
        let told = self.look(search, None)?;
        let count = told.count().ok_or(Stop::GiveUp(Why::Untold))?;
        let (query, place) = (&search.query, self.place(search));
        self.say(match self.language {
            Language::English => {
                let lines = answer::count(&count, "line", "lines");
                format!("“{query}” stands in {lines} {place}.")
            }
            Language::Chinese => {
                format!("{place}共有 {} 行出现“{query}”。", answer::number(&count))
            }
        });
        Ok(count)
    }

    /// How often words stand in the lines that hold them.
    pub(super) fn count_occurrences(&mut self, search: &Search) -> Step<String> {
        let told = self.look(search, Some(MANY))?;
        let told = self.whole(told)?;
        let lines = told.count().ok_or(Stop::GiveUp(Why::Untold))?;
        let places = told.places();
        // What is not shown, or not as a whole, cannot be counted.
        let is_cut =
            places.iter().any(|found| found.text.starts_with('…') || found.text.ends_with('…'));
        if is_cut || places.len().to_string() != lines {
            return Err(Stop::GiveUp(Why::Untold));
        }
        let times = places.iter().map(|found| found.text.matches(&*search.query).count());
        let count = times.sum::<usize>().to_string();
        let (query, place) = (&search.query, self.place(search));
        self.say(match self.language {
            Language::English => {
                let (times, lines) = (
                    answer::count(&count, "time", "times"),
                    answer::count(&lines, "line", "lines"),
                );
                format!("“{query}” stands {times} {place}, in {lines}.")
            }
            Language::Chinese => {
                let (count, lines) = (answer::number(&count), answer::number(&lines));
                format!("{place}“{query}”出现 {count} 次，在 {lines} 行里。")
            }
        });
        Ok(count)
    }

    /// How many files hold the words.
    pub(super) fn count_matching_files(&mut self, search: &Search) -> Step<String> {
        let told = self.look(search, None)?;
        let is_none = told.count().is_some_and(|count| count == "0");
        let count = if is_none { Some("0".to_owned()) } else { told.matching_files() };
        let count = count.ok_or(Stop::GiveUp(Why::Untold))?;
        let (query, place) = (&search.query, self.place(search));
        self.say(match self.language {
            Language::English => {
                let verb = if count == "1" { "mentions" } else { "mention" };
                format!("{} {place} {verb} “{query}”.", answer::count(&count, "file", "files"))
            }
            Language::Chinese => {
                format!("{place}有 {} 个文件提到“{query}”。", answer::number(&count))
            }
        });
        Ok(count)
    }

    fn look(&mut self, search: &Search, limit: Option<&str>) -> Step<Told> {
        let mut need = Need::new(Skill::Search).with_text(Role::Query, search.query.clone());
        let place = match &search.files.folder {
            Some(file) if search.files.is_flat => {
                self.known.file = Some(file.clone());
                Some(file.clone())
            }
            // Nothing but a file was spoken of: `in the newest file, how often …`.
            None if search.shows == Shows::Places && self.known.file.is_some() => {
                self.known.file.clone()
            }
            folder => self.folder(folder.as_deref()),
        };
        if let Some(place) = place {
            need = need.with_text(Role::Folder, place);
        }
        if let Some(pattern) = &search.files.pattern {
            need = need.with_text(Role::Glob, pattern.clone());
        }
        need = need.may(Role::Exact, Wish::Yes);
        if let Some(limit) = limit {
            need = need.may(Role::Limit, Wish::Number(limit.to_owned()));
        }
        self.ask(&need)
    }

    fn tell_files(&mut self, search: &Search, told: &Told) -> Step<()> {
        let (mut files, mut is_all) = told.named_files();
        let mut status = told.status.clone();
        if !is_all {
            let told = self.look(search, Some(MANY))?;
            let told = self.whole(told)?;
            (files, _) = told.named_files();
            // Names beyond those of the summary come from the lines; all of them must be there.
            is_all = told.more.is_none() && !told.status.contains(" are shown");
            status = told.status;
        }
        let (query, place) = (&search.query, self.place(search));
        let head = match (self.language, files.is_empty()) {
            (Language::English, true) => format!("No file {place} mentions “{query}”."),
            (Language::English, false) => format!("Files {place} that mention “{query}”:"),
            (Language::Chinese, true) => format!("{place}没有文件提到“{query}”。"),
            (Language::Chinese, false) => format!("{place}提到“{query}”的文件："),
        };
        let mut text = answer::list(&head, files.iter().cloned());
        if !is_all {
            text.push('\n');
            text.push_str(&status);
        }
        self.say(text);
        if let [only] = files.as_slice() {
            self.known.file = Some(only.clone());
        }
        self.keep_text(files.join("\n") + "\n");
        Ok(())
    }

    fn tell_places(&mut self, search: &Search, told: Told) -> Step<()> {
        let told = self.whole(told)?;
        let places = told.places();
        let (query, place) = (&search.query, self.place(search));
        let head = match (self.language, places.is_empty()) {
            (Language::English, true) => format!("“{query}” was not found {place}."),
            (Language::English, false) => format!("“{query}” stands {place} in:"),
            (Language::Chinese, true) => format!("{place}没有找到“{query}”。"),
            (Language::Chinese, false) => format!("{place}出现“{query}”的地方："),
        };
        let lines =
            places.iter().map(|found| format!("{}:{}: {}", found.path, found.line, found.text));
        let lines: Vec<String> = lines.collect();
        let mut text = answer::list(&head, lines.iter().take(MOST_PLACES).cloned());
        if lines.len() > MOST_PLACES || told.more.is_some() || told.status.contains(" are shown") {
            text.push('\n');
            text.push_str(&told.status);
        }
        self.say(text);
        self.keep_text(lines.join("\n") + "\n");
        Ok(())
    }

    fn place(&self, search: &Search) -> String {
        let file = self.known.file.as_deref().filter(|_| search.shows == Shows::Places);
        let folder = search.files.folder.as_deref().or(file).or(self.known.folder.as_deref());
        let place = answer::place(self.language, folder, search.files.is_flat);
        match (&search.files.pattern, self.language) {
            (Some(pattern), Language::English) => format!("matching {pattern} {place}"),
            (Some(pattern), Language::Chinese) => format!("{place}匹配 {pattern} 的文件中"),
            (None, _) => place,
        }
    }
}
