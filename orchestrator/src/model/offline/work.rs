//! Does what was understood, one call at a time.
//!
//! A plan is run from the beginning each time a model reply is wanted: calls that were made before
//! give their recorded results, and the first one without a result is what is wanted now. So the
//! planner keeps no state, and the same messages always give the same reply. What the goals need is
//! in `work/`, which tool can give it in `choose.rs`.

mod counting;
mod listing;
mod reading;
mod searching;
mod writing;

use std::collections::{BTreeMap, VecDeque};

use super::{
    super::{ToolDeclaration, Wanted},
    answer::{self, Why},
    choose::{self, Choice},
    example,
    goals::{FileRef, Goal, Part, Quantity},
    intent::{self, Understood},
    leftovers,
    need::{Need, Role, Skill, Wish},
    read::{Outcome, Told},
    turn::{Done, Turn},
    words::Language,
};

/// What to reply.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Plan {
    /// Make this call.
    Call(Wanted),
    /// Say this: it is done.
    Answer(String),
    /// Say this: it cannot be done.
    GiveUp(String),
}

/// Why work does not go on.
#[derive(Clone, Debug, PartialEq)]
enum Stop {
    /// A result is missing.
    Call(Wanted),
    /// There will be none.
    GiveUp(Why),
}

type Step<T> = Result<T, Stop>;

/// Pages of one result that are read at most.
const MOST_PAGES: usize = 8;

/// The work on one request.
struct Work<'a> {
    tools: &'a [ToolDeclaration],
    question: &'a str,
    language: Language,
    /// Results that were not looked at yet.
    done: VecDeque<Done>,
    /// Calls so far, this one included.
    calls: usize,
    known: Known,
    said: Vec<Said>,
}

/// What was found so far; later clauses speak of it as "it".
#[derive(Debug, Default)]
struct Known {
    file: Option<String>,
    folder: Option<String>,
    pattern: Option<String>,
    number: Option<String>,
    /// The last result as a text of its own.
    text: Option<String>,
    readings: BTreeMap<String, Told>,
}

/// A part of the answer.
struct Said {
    text: String,
    /// It tells of something that was changed, and must be told whatever comes after.
    is_effect: bool,
}

/// The next step of the last of these runs. The others are over; what they found may be spoken of
/// as "it".
pub(super) fn plan(turns: &[Turn], tools: &[ToolDeclaration]) -> Plan {
    let Some((turn, earlier)) = turns.split_last() else {
        return Plan::GiveUp(answer::sorry(Language::English, &Why::Unclear));
    };
    let mut known = Known::default();
    for turn in earlier {
        let mut work = Work::new(turn, tools, known);
        // However it ended: what it found is known.
        let _ = work.all(&intent::understand(&turn.input));
        known = work.known.for_later();
    }
    let understood = intent::understand(&turn.input);
    let mut work = Work::new(turn, tools, known);
    let outcome = work.all(&understood);
    let language = work.language;
    let mut texts: Vec<String> = Vec::new();
    let is_given_up = outcome.is_err();
    texts.extend(
        work.said.into_iter().filter(|said| !is_given_up || said.is_effect).map(|said| said.text),
    );
    match outcome {
        Ok(()) => {
            let text = texts.join("\n\n");
            // An answer of nothing would look like none.
            let is_blank = text.trim().is_empty();
            Plan::Answer(if is_blank { answer::blank(language).to_owned() } else { text })
        }
        Err(Stop::Call(wanted)) => Plan::Call(wanted),
        Err(Stop::GiveUp(why)) => {
            texts.push(answer::sorry(language, &why));
            Plan::GiveUp(texts.join("\n\n"))
        }
    }
}

impl Known {
    /// What a later run may speak of. Files may have changed, and a folder is named anew.
    fn for_later(self) -> Self {
        Self { folder: None, pattern: None, readings: BTreeMap::new(), ..self }
    }
}

impl<'a> Work<'a> {
    fn new(turn: &'a Turn, tools: &'a [ToolDeclaration], known: Known) -> Self {
        Self {
            tools,
            question: &turn.input,
            language: intent::language(&turn.input),
            done: turn.done.clone(),
            calls: 0,
            known,
            said: Vec::new(),
        }
    }

    fn all(&mut self, understood: &Understood) -> Step<()> {
        let goals = &understood.goals;
        // Nothing is begun that cannot be finished.
        let why = match understood.unclear.as_slice() {
            _ if goals.contains(&Goal::Beyond) => Some(Why::Beyond),
            _ if understood.is_unnamed => Some(Why::WhereTo),
            _ if goals.is_empty() => Some(Why::Unclear),
            [] => None,
            left => Some(Why::LeftOut(left.join("; "))),
        };
        if let Some(why) = why {
            return self.by_example(why);
        }
        for (at, goal) in goals.iter().enumerate() {
            let is_prelude =
                is_read_whole(goal) && goals[at + 1..].first().is_some_and(is_about_it);
            self.goal(goal, is_prelude)?;
        }
        Ok(())
    }

    fn goal(&mut self, goal: &Goal, is_prelude: bool) -> Step<()> {
        match goal {
            Goal::Calculate(sums) => self.calculate(sums),
            Goal::Combine(combination) => self.combine(combination),
            Goal::Read { file, part } => self.show(file, part, is_prelude),
            Goal::Tell(quantity) => self.quantity(quantity).map(drop),
            Goal::Headings(file) => self.headings(file),
            Goal::List(folder) => self.list(folder.as_deref()),
            Goal::Pick(pick) => self.pick(pick).map(drop),
            Goal::Find(files) => self.find(files),
            Goal::Search(search) => self.search(search),
            Goal::Write { path, content } => self.write(path, content),
            Goal::Run(command) => self.run(command),
            Goal::Changed(file) => self.changed(file),
            Goal::Introduce => {
                self.say(answer::introduction(self.language));
                Ok(())
            }
            Goal::Beyond => Err(Stop::GiveUp(Why::Beyond)),
        }
    }

    /// A tool that a request is like an example of.
    fn by_example(&mut self, why: Why) -> Step<()> {
        let found = example::find(self.question, self.tools);
        // What goes beyond an example, or lacks what it has, is no request like it.
        let is_like =
            !matches!(why, Why::LeftOut(_) | Why::WhereTo) && !leftovers::is_limited(self.question);
        // A command is run where one is plainly given, not where a sentence is like that.
        let is_harmless = |tool: &ToolDeclaration| !choose::runs_commands(tool);
        let Some((tool, arguments)) = found.filter(|(tool, _)| is_like && is_harmless(tool)) else {
            return Err(Stop::GiveUp(why));
        };
        let wanted = self.wanted(&tool.name, serde_json::Value::Object(arguments).to_string());
        let Some(done) = self.done.pop_front() else { return Err(Stop::Call(wanted)) };
        let told = told(&done, Skill::Follow)?;
        self.say(told.page());
        Ok(())
    }

    /// The result of a call that a need asks for: the recorded one, or none yet.
    fn ask(&mut self, need: &Need) -> Step<Told> {
        self.ask_with(need).map(|(told, _)| told)
    }

    /// The same, and which roles the tool could take.
    fn ask_with(&mut self, need: &Need) -> Step<(Told, Vec<Role>)> {
        let choice = choose::choose(need, self.tools, self.question);
        let filled = choice.as_ref().map(|choice| choice.filled.clone()).unwrap_or_default();
        let mut has_looked = false;
        let look = look_up(self.tools, need.skill);
        while let Some(done) = self.done.pop_front() {
            self.calls += 1;
            let is_look = look.as_ref().is_some_and(|look| look.tool.name == done.tool);
            if !is_look {
                if let Some(nearest) = nearest(need, &done) {
                    return self.ask_with(&nearest);
                }
                return Ok((told(&done, need.skill)?, filled));
            }
            has_looked = true;
        }
        if let Some(choice) = choice {
            return Err(Stop::Call(self.wanted_of(&choice)));
        }
        if self.tools.is_empty() {
            return Err(Stop::GiveUp(Why::NoMoreTools));
        }
        match look.filter(|_| !has_looked) {
            Some(look) => Err(Stop::Call(self.wanted_of(&look))),
            None => Err(Stop::GiveUp(Why::NoTool(need.skill))),
        }
    }

    fn wanted_of(&self, choice: &Choice<'_>) -> Wanted {
        let arguments = serde_json::Value::Object(choice.arguments.clone());
        self.wanted(&choice.tool.name, arguments.to_string())
    }

    fn wanted(&self, name: &str, arguments: String) -> Wanted {
        let number = self.calls + 1;
        Wanted { model_id: format!("call_{number}"), name: name.to_owned(), arguments }
    }

    /// All of a result that was shown in part.
    fn whole(&mut self, mut told: Told) -> Step<Told> {
        for _ in 0..MOST_PAGES {
            let Some((name, arguments)) = told.more.take() else { break };
            if !self.tools.iter().any(|tool| tool.name == name) {
                break;
            }
            let wanted = self.wanted(&name, arguments);
            let Some(done) = self.done.pop_front() else { return Err(Stop::Call(wanted)) };
            self.calls += 1;
            let Outcome::Done(page) = Outcome::of(&done.content) else { break };
            let text = told.page() + &page.page();
            told = Told { more: page.more, ..Told::of(&text) };
        }
        Ok(told)
    }

    fn say(&mut self, text: String) {
        self.said.push(Said { text, is_effect: false });
    }

    /// Keeps a result for what is said next about "it".
    fn keep_text(&mut self, text: impl Into<String>) {
        self.known.text = Some(text.into());
    }

    fn keep_number(&mut self, number: &str) {
        self.known.number = Some(number.to_owned());
        self.keep_text(format!("{number}\n"));
    }

    /// The folder that is meant: the one that is named, else the one that was spoken of.
    fn folder(&mut self, named: Option<&str>) -> Option<String> {
        let folder = named.map(str::to_owned).or_else(|| self.known.folder.clone());
        if folder.is_some() {
            self.known.folder.clone_from(&folder);
        }
        folder.filter(|folder| folder != ".")
    }
}

/// A look for tools that were not offered.
fn look_up(tools: &[ToolDeclaration], skill: Skill) -> Option<Choice<'_>> {
    let what = match skill {
        Skill::Calculate => "calculate an arithmetic expression",
        Skill::Read => "read a text file",
        Skill::List => "list a folder",
        Skill::Find => "find files by name",
        Skill::Search => "search text inside files",
        Skill::Write => "write a file",
        Skill::Run => "run a shell command",
        Skill::LookUpTools | Skill::Follow => return None,
    };
    let need = Need::new(Skill::LookUpTools).with_text(Role::Query, what);
    choose::choose(&need, tools, "")
}

/// The result of a call, or why there is none.
fn told(done: &Done, skill: Skill) -> Step<Told> {
    match Outcome::of(&done.content) {
        Outcome::Done(told) => Ok(told),
        Outcome::Failed { message, .. } => Err(Stop::GiveUp(Why::Failed { skill, message })),
        Outcome::Refused(message) => Err(Stop::GiveUp(Why::Refused { skill, message })),
        Outcome::Unknown(message) => Err(Stop::GiveUp(Why::Unknown { skill, message })),
    }
}

/// The same need with the full name of a file that was named without its ending: `the README`.
fn nearest(need: &Need, done: &Done) -> Option<Need> {
    let Outcome::Failed { message, .. } = Outcome::of(&done.content) else { return None };
    let (_, near) = message.split_once("Nearest: `")?;
    let (near, more) = near.split_once('`')?;
    let (stem, _) = near.rsplit_once('.')?;
    let is_only = !more.contains('`');
    let at = need.must.iter().position(|(role, wish)| {
        let is_place = matches!(role, Role::File | Role::Folder);
        is_place && matches!(wish, Wish::Text(text) if text.eq_ignore_ascii_case(stem))
    });
    let at = at.filter(|_| is_only)?;
    let mut nearest = need.clone();
    nearest.must[at].1 = Wish::Text(near.to_owned());
    Some(nearest)
}

fn is_read_whole(goal: &Goal) -> bool {
    matches!(goal, Goal::Read { part: Part::All, .. })
}

/// Whether a goal asks about the file that was read before it.
fn is_about_it(goal: &Goal) -> bool {
    match goal {
        Goal::Headings(FileRef::It) | Goal::Changed(FileRef::It) => true,
        Goal::Tell(quantity) => matches!(
            quantity,
            Quantity::Lines(FileRef::It)
                | Quantity::Characters(FileRef::It)
                | Quantity::Bytes(FileRef::It)
                | Quantity::Headings(FileRef::It)
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
