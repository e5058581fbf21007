//! Files by name, size and age.

use super::{Step, Stop, Work};
use crate::model::offline::{
    answer::{self, Why},
    choose,
    goals::{FileRef, Files, Order, Pick},
    need::{Need, Role, Skill, Wish},
    read::{Row, Told},
    words::Language,
};

/// Entries that are asked for where all are needed.
const MANY: &str = "1000";
/// Entries that are asked for where only their number is wanted.
const ONE: &str = "1";

impl Work<'_> {
    /// The file that is meant.
    pub(super) fn file(&mut self, file: &FileRef) -> Step<String> {
        let path = match file {
            FileRef::Path(path) => path.clone(),
            FileRef::Picked(pick) => self.pick(pick)?,
            FileRef::It => self.known.file.clone().ok_or(Stop::GiveUp(Why::WhichFile))?,
        };
        self.known.file = Some(path.clone());
        Ok(path)
    }

    /// Tells what is in a folder.
    pub(super) fn list(&mut self, folder: Option<&str>) -> Step<()> {
        let folder = self.folder(folder);
        let need = in_folder(Need::new(Skill::List), folder.as_deref());
        let told = self.ask(&need)?;
        let told = self.whole(told)?;
        let lines: Vec<String> = told.body.lines().map(str::to_owned).collect();
        let place = answer::place(self.language, folder.as_deref(), true);
        let head = match self.language {
            Language::English => told.status.clone(),
            Language::Chinese if lines.is_empty() => format!("{place}没有任何文件。"),
            Language::Chinese => format!("{place}有："),
        };
        self.keep_text(lines.join("\n") + "\n");
        self.say(answer::list(&head, lines));
        Ok(())
    }

    /// Names the first files of an order; returns the first.
    pub(super) fn pick(&mut self, pick: &Pick) -> Step<String> {
        let rows = self.in_order(pick)?;
        let rows = rows.get(pick.nth - 1..).unwrap_or_default();
        let Some(first) = rows.first().cloned() else {
            return Err(Stop::GiveUp(Why::Nothing(self.described(&pick.files))));
        };
        let rows = &rows[..pick.count.min(rows.len())];
        let order = answer::order(self.language, pick.order, pick.nth);
        let pattern = self.pattern(&pick.files);
        let kind = answer::files(self.language, pattern.as_deref(), pick.count == 1);
        let place = answer::place(self.language, self.known.folder.as_deref(), pick.files.is_flat);
        let lines: Vec<String> = rows.iter().map(|row| self.line(row)).collect();
        let text = match (self.language, lines.as_slice()) {
            (Language::English, [line]) => format!("The {order} {kind} {place} is {line}."),
            (Language::Chinese, [line]) => format!("{place}{order}的{kind}是 {line}。"),
            (Language::English, lines) => {
                let head = format!("The {} {order} {kind} {place}:", lines.len());
                answer::list(&head, lines.to_vec())
            }
            (Language::Chinese, lines) => {
                let head = format!("{place}{order}的 {} 个{kind}：", lines.len());
                answer::list(&head, lines.to_vec())
            }
        };
        self.say(text);
        let paths: Vec<&str> = rows.iter().map(|row| row.path.as_str()).collect();
        self.keep_text(paths.join("\n") + "\n");
        self.known.file = Some(first.path.clone());
        Ok(first.path)
    }

    /// Names the files that match.
    pub(super) fn find(&mut self, files: &Files) -> Step<()> {
        let mut files = files.clone();
        let mut told = self.listing(&files, None, MANY)?;
        if files.is_flat && told.rows().is_empty() {
            // None of the kind lies at the top: they are below.
            files.is_flat = false;
            told = self.listing(&files, None, MANY)?;
        }
        let told = self.whole(told)?;
        let rows: Vec<Row> = told.rows().into_iter().filter(|row| row.is_file).collect();
        let what = self.described(&files);
        if rows.is_empty() {
            self.say(match self.language {
                Language::English => format!("There are no {what}."),
                Language::Chinese => format!("没有{what}。"),
            });
            self.keep_text("");
            return Ok(());
        }
        let count = told.count().unwrap_or_default();
        let head = match self.language {
            Language::English if rows.len() == 1 && count == "1" => "Found:".to_owned(),
            Language::English => format!("Found {} {what}:", answer::number(&count)),
            Language::Chinese => format!("找到 {} 个{what}：", answer::number(&count)),
        };
        if let [only] = rows.as_slice() {
            self.known.file = Some(only.path.clone());
        }
        let paths: Vec<&str> = rows.iter().map(|row| row.path.as_str()).collect();
        self.keep_text(paths.join("\n") + "\n");
        self.say(answer::list(&head, rows.iter().map(|row| row.path.clone())));
        Ok(())
    }

    /// Tells when a file was changed.
    pub(super) fn changed(&mut self, file: &FileRef) -> Step<()> {
        let path = self.file(file)?;
        let time = self.row(&path)?.changed.ok_or(Stop::GiveUp(Why::Untold))?;
        self.say(match self.language {
            Language::English => format!("{path} was last changed at {time} (UTC)."),
            Language::Chinese => format!("{path} 最后修改于 {time}（UTC）。"),
        });
        self.keep_text(format!("{time}\n"));
        Ok(())
    }

    /// How many files match.
    pub(super) fn count_files(&mut self, files: &Files) -> Step<String> {
        let told = self.listing(files, None, ONE)?;
        let is_list = files.is_flat && self.pattern(files).is_none();
        let count =
            if is_list { told.count_of(&["file", "files", "文件"]) } else { told.count() };
        let count = count.ok_or(Stop::GiveUp(Why::Untold))?;
        let pattern = self.pattern(files);
        let place = answer::place(self.language, self.known.folder.as_deref(), files.is_flat);
        let below = if files.is_flat { self.below(files, &told, &count)? } else { None };
        let is_one = count == "1";
        let kind = answer::files(self.language, pattern.as_deref(), is_one);
        let number = answer::number(&count);
        self.say(match self.language {
            Language::English => {
                let verb = if is_one { "is" } else { "are" };
                let more = below.map(|all| format!(" ({all} with the folders below)"));
                format!("There {verb} {number} {kind} {place}{}.", more.unwrap_or_default())
            }
            Language::Chinese => {
                let more = below.map(|all| format!("（连同子文件夹 {all} 个）"));
                format!("{place}共有 {number} 个{kind}{}。", more.unwrap_or_default())
            }
        });
        Ok(count)
    }

    /// How many files there are with those of the folders in a folder, if these have any.
    fn below(&mut self, files: &Files, told: &Told, direct: &str) -> Step<Option<String>> {
        let folders = told.count_of(&["folder", "folders", "文件夹"]);
        let is_list = self.pattern(files).is_none();
        if is_list && folders.is_none_or(|folders| folders == "0") {
            return Ok(None);
        }
        let files = Files { is_flat: false, ..files.clone() };
        let all = self.listing(&files, None, ONE)?.count();
        Ok(all.filter(|all| is_list || all != direct))
    }

    /// How many folders are in a folder.
    pub(super) fn count_folders(&mut self, folder: Option<&str>) -> Step<String> {
        let folder = self.folder(folder);
        let told = self.ask(&in_folder(Need::new(Skill::List), folder.as_deref()))?;
        let count = told.count_of(&["folder", "folders", "directory", "directories", "文件夹"]);
        let count = count.ok_or(Stop::GiveUp(Why::Untold))?;
        let place = answer::place(self.language, folder.as_deref(), true);
        self.say(match self.language {
            Language::English => {
                format!("{} {place}.", answer::count(&count, "folder", "folders"))
            }
            Language::Chinese => format!("{place}共有 {} 个文件夹。", answer::number(&count)),
        });
        Ok(count)
    }

    /// What a listing says of one file.
    pub(super) fn row(&mut self, path: &str) -> Step<Row> {
        let path = path.strip_prefix("./").unwrap_or(path);
        let (folder, name) = match path.rsplit_once('/') {
            Some((folder, name)) => (Some(folder), name),
            None => (None, path),
        };
        let need = Need::new(Skill::Find).with_text(Role::Glob, name);
        let told = self.ask(&in_folder(need, folder))?;
        let told = self.whole(told)?;
        let found = told.rows().into_iter().find(|row| row.path == path);
        found.ok_or_else(|| Stop::GiveUp(Why::Nothing(path.to_owned())))
    }

    /// All files that match.
    pub(super) fn all_rows(&mut self, files: &Files, order: Option<Order>) -> Step<Vec<Row>> {
        let told = self.listing(files, order, MANY)?;
        let told = self.whole(told)?;
        // What is not shown cannot be counted in.
        if told.more.is_some() || told.status.contains(" are shown") {
            return Err(Stop::GiveUp(Why::Untold));
        }
        Ok(told.rows().into_iter().filter(|row| row.is_file).collect())
    }

    /// Files in an order, the first one first.
    fn in_order(&mut self, pick: &Pick) -> Step<Vec<Row>> {
        let (files, order) = (&pick.files, pick.order);
        let opposite = match order {
            Order::Oldest => Some(Order::Newest),
            Order::Smallest => Some(Order::Largest),
            Order::Newest | Order::Largest => None,
        };
        let takes = |order| {
            let need = self.need(files, self.known.folder.as_deref(), Some(order), MANY);
            choose::choose(&need, self.tools, self.question).is_some()
        };
        // A tool that only knows "largest first" lists all, and the last one is the smallest.
        if let Some(opposite) = opposite.filter(|_| !takes(order)) {
            let rows = self.all_rows(files, Some(opposite))?;
            return Ok(from_the_end(rows, order));
        }
        let count = (pick.count + pick.nth - 1).to_string();
        let is_list = files.is_flat && self.pattern(files).is_none();
        let told = self.listing(files, Some(order), if is_list { "100" } else { &count })?;
        let only_files = |told: &Told| -> Vec<Row> {
            told.rows().into_iter().filter(|row| row.is_file).collect()
        };
        let rows = only_files(&told);
        if !rows.is_empty() || !files.is_flat {
            return Ok(rows);
        }
        // Nothing but folders at the top, or none of the kind: they are below.
        let told = if is_list { self.whole(told)? } else { told };
        let rows = only_files(&told);
        if !rows.is_empty() || (is_list && told.rows().is_empty()) {
            return Ok(rows);
        }
        let below = Files { is_flat: false, ..files.clone() };
        let told = self.listing(&below, Some(order), &count)?;
        Ok(only_files(&told))
    }

    fn listing(&mut self, files: &Files, order: Option<Order>, limit: &str) -> Step<Told> {
        let folder = self.folder(files.folder.as_deref());
        let pattern = self.pattern(files);
        let need = self.need(files, folder.as_deref(), order, limit);
        self.known.pattern = pattern;
        self.ask(&need)
    }

    fn need(&self, files: &Files, folder: Option<&str>, order: Option<Order>, limit: &str) -> Need {
        let pattern = self.pattern(files);
        let need = if files.is_flat && pattern.is_none() {
            Need::new(Skill::List)
        } else {
            let pattern = pattern.as_deref().unwrap_or("*");
            // Spelled out for tools that take a pattern literally: in the folder itself, or below any
            // number of folders.
            let glob = match pattern {
                path if path.contains('/') => path.to_owned(),
                name if files.is_flat => format!("./{name}"),
                name => format!("**/{name}"),
            };
            Need::new(Skill::Find).with_text(Role::Glob, glob)
        };
        let need = in_folder(need, folder.filter(|folder| *folder != "."));
        let need = match order {
            Some(order) => need.with(Role::Sort, Wish::First(order)),
            None => need,
        };
        need.may(Role::Limit, Wish::Number(limit.to_owned()))
    }

    /// The pattern that is meant: the one that is named, or the one that was spoken of.
    fn pattern(&self, files: &Files) -> Option<String> {
        let spoken = self.known.pattern.clone().filter(|_| files.is_same);
        files.pattern.clone().or(spoken)
    }

    /// Files of a kind in a place, in words.
    pub(super) fn described(&self, files: &Files) -> String {
        let kind = answer::files(self.language, self.pattern(files).as_deref(), false);
        let place = answer::place(self.language, self.known.folder.as_deref(), files.is_flat);
        match self.language {
            Language::English => format!("{kind} {place}"),
            Language::Chinese => format!("{place}{kind}"),
        }
    }

    fn line(&self, row: &Row) -> String {
        let mut facts = Vec::new();
        if let Some(size) = &row.size {
            facts.push(match self.language {
                Language::English => answer::count(size, "byte", "bytes"),
                Language::Chinese => format!("{} 字节", answer::number(size)),
            });
        }
        if let Some(changed) = &row.changed {
            facts.push(match self.language {
                Language::English => format!("changed {changed}"),
                Language::Chinese => format!("修改于 {changed}"),
            });
        }
        if facts.is_empty() {
            return row.path.clone();
        }
        match self.language {
            Language::English => format!("{} ({})", row.path, facts.join(", ")),
            Language::Chinese => format!("{}（{}）", row.path, facts.join("，")),
        }
    }
}

fn in_folder(need: Need, folder: Option<&str>) -> Need {
    match folder {
        Some(folder) => need.with_text(Role::Folder, folder),
        None => need,
    }
}

/// The end of a listing first. Of equal sizes the one that comes first by path; times are shown in
/// whole seconds and ordered by less, so there the last one is the oldest.
fn from_the_end(rows: Vec<Row>, order: Order) -> Vec<Row> {
    let mut groups: Vec<Vec<Row>> = Vec::new();
    for row in rows {
        let is_by_size = matches!(order, Order::Smallest | Order::Largest);
        match groups.last_mut() {
            Some(group) if is_by_size && group.last().is_some_and(|last| last.size == row.size) => {
                group.push(row);
            }
            _ => groups.push(vec![row]),
        }
    }
    groups.into_iter().rev().flatten().collect()
}
