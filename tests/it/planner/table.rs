//! An intent: wordings in two languages, each with what is to be in the answer. A test asks them all
//! and reports what went wrong in one go.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use callboard_tests::Stack;
use serde_json::{Value as Json, json};

use super::{
    draw::{Draw, Values},
    oracle,
    scene::Scene,
};

/// Runs that are under way at once.
const AT_ONCE: usize = 4;

/// A prompt with places for values, and what the oracle is asked with the same values.
pub(super) type Wording = (&'static str, &'static str);

/// What a person may want.
pub(super) struct Intent {
    pub(super) name: &'static str,
    pub(super) english: &'static [Wording],
    pub(super) chinese: &'static [Wording],
    /// Values for one prompt; true for a Chinese one.
    pub(super) values: fn(&mut Draw, &Scene, bool) -> Values,
    pub(super) check: Check,
}

/// How the oracle's answer is found in the planner's.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check {
    /// A Python expression, whose value is worked out by the calculator.
    Calculated,
    /// A shell command that prints numbers, all of which are in the answer.
    Counted,
    /// A shell command that prints a Python expression, whose value is in the answer.
    Divided,
    /// A shell command that prints paths: these and no other files are named.
    Named,
    /// A shell command that prints paths, each of which is in the answer as a whole.
    Located,
    /// A shell command whose lines are all in the answer.
    Told,
    /// The same, and the answer has nothing else but a line of its own.
    OnlyTold,
    /// A shell command that prints nothing but `yes` after the run.
    Done,
    /// The planner says that it cannot, and calls nothing.
    GivenUp,
}

/// One prompt and what is true about it.
struct Case {
    intent: &'static str,
    prompt: String,
    oracle: String,
    check: Check,
}

impl Intent {
    fn cases(&self, draw: &mut Draw, scene: &Scene) -> Vec<Case> {
        assert!(self.english.len() >= 5 && self.chinese.len() >= 5, "{}", self.name);
        let mut cases = Vec::new();
        for (wordings, is_chinese) in [(self.english, false), (self.chinese, true)] {
            for (wording, oracle) in wordings {
                let values = (self.values)(draw, scene, is_chinese);
                let (mut prompt, mut oracle) = ((*wording).to_owned(), (*oracle).to_owned());
                for (place, value) in &values {
                    prompt = prompt.replace(&format!("{{{place}}}"), &value.shown);
                    oracle = oracle.replace(&format!("{{{place}}}"), &value.plain);
                }
                assert!(!prompt.contains(['{', '}']), "a place without a value: {prompt}");
                cases.push(Case { intent: self.name, prompt, oracle, check: self.check });
            }
        }
        cases
    }
}

/// Asks everything that a table says, in one stack, and fails with all that went wrong.
pub(super) async fn check(intents: &[Intent]) {
    let mut draw = Draw::new();
    let scene = Scene::new(&mut draw);
    let cases: Vec<Case> =
        intents.iter().flat_map(|intent| intent.cases(&mut draw, &scene)).collect();
    let stack = scene.callboard().up(&[]).await;
    let mut faults = Vec::new();
    for some in cases.chunks(AT_ONCE) {
        let runs = some.iter().map(|case| ask(&stack, &case.prompt, &["write_*", "run_*"]));
        let runs = futures_util::future::join_all(runs).await;
        for (case, run) in some.iter().zip(runs) {
            if let Err(fault) = case.judge(&run, &scene) {
                let calls: Vec<String> = run["tool_calls"].as_array().map_or(vec![], |calls| {
                    calls
                        .iter()
                        .map(|call| format!("{}{}", call["tool"], call["arguments"]))
                        .collect()
                });
                let mut text = String::new();
                let _ = write!(text, "[{}] {}\n    {fault}\n", case.intent, case.prompt);
                let _ = write!(text, "    {}: {}", run["status"], run["answer"]);
                let _ = write!(text, "\n    calls: {}", calls.join(" "));
                faults.push(text);
            }
        }
    }
    assert_eq!(stack.stop().await, 0);
    let (bad, all) = (faults.len(), cases.len());
    let seed = draw.seed();
    assert!(bad == 0, "PLANNER_SEED={seed}: {bad} of {all} wrong:\n{}", faults.join("\n"));
}

/// A run of the planner, as the API gives it.
pub(super) async fn ask(stack: &Stack, prompt: &str, approve: &[&str]) -> Json {
    let request = json!({"input": prompt, "model": "offline", "wait": true, "approve": approve});
    let sent = stack.client().post(format!("{}/v1/runs", stack.url)).json(&request).send().await;
    sent.unwrap().json().await.unwrap()
}

impl Case {
    fn judge(&self, run: &Json, scene: &Scene) -> Result<(), String> {
        let answer = run["answer"].as_str().unwrap_or_default();
        if matches!(self.check, Check::GivenUp) {
            let has_called = run["tool_calls"].as_array().is_none_or(|calls| !calls.is_empty());
            let is_given_up = run["status"] == "failed" && !has_called;
            return is_given_up.then_some(()).ok_or_else(|| "it is not given up".to_owned());
        }
        if run["status"] != "completed" {
            return Err("it is not completed".to_owned());
        }
        if run["model"] != "offline" || run["tool_calls"].as_array().is_none_or(Vec::is_empty) {
            return Err("no tool was called".to_owned());
        }
        let folder = scene.callboard().workspace();
        match self.check {
            Check::Calculated => self.calculated(run, answer),
            Check::Counted => self.counted(answer, folder),
            Check::Divided => {
                let expression = oracle::shell(&self.oracle, folder).concat();
                is_among(&oracle::numbers(&expression), answer)
            }
            Check::Named => self.named(answer, scene),
            Check::Located | Check::Told => self.told(answer, folder, usize::MAX),
            Check::OnlyTold => self.told(answer, folder, 1),
            Check::Done => match oracle::shell(&self.oracle, folder).as_slice() {
                [yes] if yes == "yes" => Ok(()),
                other => Err(format!("it is not done: {} gives {other:?}", self.oracle)),
            },
            Check::GivenUp => Ok(()),
        }
    }

    fn calculated(&self, run: &Json, answer: &str) -> Result<(), String> {
        let calls = run["tool_calls"].as_array().unwrap();
        if !calls.iter().all(|call| call["tool"] == "calculate" && call["status"] == "ok") {
            return Err("it is not calculated".to_owned());
        }
        is_among(&oracle::numbers(&self.oracle), answer)
    }

    fn counted(&self, answer: &str, folder: &Path) -> Result<(), String> {
        let found = numbers_of(answer);
        let wanted = oracle::shell(&self.oracle, folder);
        assert!(!wanted.is_empty(), "the oracle says nothing: {}", self.oracle);
        let missing = wanted.iter().map(|line| line.trim()).find(|line| !found.contains(*line));
        missing.map_or(Ok(()), |number| Err(format!("{number} is missing ({})", self.oracle)))
    }

    fn named(&self, answer: &str, scene: &Scene) -> Result<(), String> {
        let wanted: BTreeSet<String> = oracle::shell(&self.oracle, scene.callboard().workspace())
            .iter()
            .map(|path| name(path))
            .collect();
        assert!(!wanted.is_empty(), "the oracle names nothing: {}", self.oracle);
        let named: BTreeSet<String> = scene
            .names()
            .into_iter()
            .filter(|file| mentions(answer, file) && !self.prompt.contains(file))
            .collect();
        if named == wanted { Ok(()) } else { Err(format!("expected {wanted:?}, got {named:?}")) }
    }

    fn told(&self, answer: &str, folder: &Path, spare: usize) -> Result<(), String> {
        let wanted = oracle::shell(&self.oracle, folder);
        assert!(!wanted.is_empty(), "the oracle tells nothing: {}", self.oracle);
        let missing = wanted.iter().find(|line| !answer.contains(line.trim()));
        let filled = |line: &&str| !line.trim().is_empty();
        let (all, right) = (
            answer.lines().filter(filled).count(),
            wanted.iter().filter(|l| !l.trim().is_empty()).count(),
        );
        if missing.is_none() && all > right.saturating_add(spare) {
            return Err(format!("{all} lines for {right}"));
        }
        missing.map_or(Ok(()), |line| Err(format!("{line:?} is missing ({})", self.oracle)))
    }
}

fn is_among(right: &[String], answer: &str) -> Result<(), String> {
    let found = numbers_of(answer);
    let is_right = right.iter().any(|number| found.contains(number));
    is_right.then_some(()).ok_or_else(|| format!("expected {}", right[0]))
}

fn name(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_owned()
}

/// Whether a text names a file, and not one whose name is longer.
fn mentions(text: &str, file: &str) -> bool {
    let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.match_indices(file).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + file.len()..]);
        !before.ends_with(goes_on) && !after.starts_with(goes_on)
    })
}

/// The numbers of a text, without thousands separators.
pub(super) fn numbers_of(text: &str) -> BTreeSet<String> {
    let characters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| characters.get(at).is_some_and(char::is_ascii_digit);
    let mut found = BTreeSet::new();
    let mut at = 0;
    while at < characters.len() {
        if !is_digit(at) {
            at += 1;
            continue;
        }
        let is_negative = at > 0 && matches!(characters[at - 1], '-' | '\u{2212}');
        let mut number = if is_negative { "-".to_owned() } else { String::new() };
        while at < characters.len() {
            match characters[at] {
                ',' if is_digit(at + 1) && is_digit(at + 2) && is_digit(at + 3) => {}
                '.' if is_digit(at + 1) && !number.contains('.') => number.push('.'),
                digit if digit.is_ascii_digit() => number.push(digit),
                _ => break,
            }
            at += 1;
        }
        found.insert(number);
    }
    found
}
