//! Requests over a made-up workspace, from the words to the answer: tools with names that nobody
//! knows answer as the real ones do, contents and numbers are drawn at random.

mod calculator;
mod declarations;
mod workspace;

use std::fmt::Write as _;

use self::{
    declarations::{finder, tools},
    workspace::Workspace,
};
use super::*;

/// Calls that a request may take.
const MOST_CALLS: usize = 16;

/// A request worked to its end.
struct Ended {
    text: String,
    is_given_up: bool,
    /// Names of the tools that were called.
    calls: Vec<String>,
    arguments: Vec<serde_json::Value>,
}

/// Works a request to its end with these tools.
fn ask_with(workspace: &mut Workspace, tools: &[ToolDeclaration], question: &str) -> Ended {
    let mut done = VecDeque::new();
    let (mut calls, mut arguments) = (Vec::new(), Vec::new());
    for _ in 0..=MOST_CALLS {
        let turns = [Turn { input: question.to_owned(), done: done.clone() }];
        let again = plan(&turns, tools);
        match plan(&turns, tools) {
            Plan::Call(wanted) => {
                assert_eq!(again, Plan::Call(wanted.clone()), "the same messages, the same reply");
                assert_eq!(wanted.model_id, format!("call_{}", calls.len() + 1));
                let content = workspace.call(&wanted);
                calls.push(wanted.name.clone());
                arguments.push(serde_json::from_str(&wanted.arguments).unwrap());
                done.push_back(Done { tool: wanted.name, content });
            }
            Plan::Answer(text) => return Ended { text, is_given_up: false, calls, arguments },
            Plan::GiveUp(text) => return Ended { text, is_given_up: true, calls, arguments },
        }
    }
    panic!("{question}: no end after {calls:?}");
}

fn ask(workspace: &mut Workspace, question: &str) -> Ended {
    ask_with(workspace, &tools(), question)
}

/// Asks and checks what must and what must not be in the answer.
fn check(workspace: &mut Workspace, question: &str, wanted: &[&str], unwanted: &[&str]) {
    let ended = ask(workspace, question);
    let shown = format!("{question}\n{}\n{:?} {:?}", ended.text, ended.calls, ended.arguments);
    assert!(!ended.is_given_up, "{shown}");
    for part in wanted {
        assert!(ended.text.contains(part), "`{part}` is missing: {shown}");
    }
    for part in unwanted {
        assert!(!ended.text.contains(part), "`{part}` is there: {shown}");
    }
}

/// A seed for this run, said where a test fails.
fn random() -> fastrand::Rng {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    fastrand::Rng::with_seed(seed)
}

fn name(rng: &mut fastrand::Rng) -> String {
    (0..rng.usize(4..9)).map(|_| rng.lowercase()).collect()
}

#[test]
fn sums_are_worked_out_by_a_tool() {
    let mut rng = random();
    let mut workspace = Workspace::default();
    for _ in 0..8 {
        let (a, b, c) = (rng.u32(2..10_000), rng.u32(2..500), rng.u32(2..50));
        let product = (u64::from(a) * u64::from(b)).to_string();
        let sum = (a + b + c).to_string();
        for (question, expected) in [
            (format!("What is {a} * {b}?"), &product),
            (format!("How much is {a} times {b}?"), &product),
            (format!("{a}乘以{b}等于多少？"), &product),
            (format!("帮我算一下 ({a}) * {b}"), &product),
            (format!("What is the sum of {a}, {b} and {c}?"), &sum),
            (format!("{a}、{b}和{c}的和是多少"), &sum),
            (format!("add {a}, {b} and {c}"), &sum),
        ] {
            check(&mut workspace, &question, &[expected], &[]);
        }
    }
    check(&mut workspace, "What is 1,000,000 * 3.6?", &["3600000 (3,600,000)"], &[]);
    check(&mut workspace, "What is 10 / 4, and what is 9 / 2?", &["2.5", "4.5"], &[]);
}

#[test]
fn loans_are_worked_out_by_a_tool() {
    let mut workspace = Workspace::default();
    // PMT(3.6%/12, 15*12, 250000), as a spreadsheet gives it.
    let question = "What is the monthly payment on a loan of 250,000 at 3.6% a year over 15 years?";
    check(&mut workspace, question, &["The monthly payment is 1,799.51."], &[]);
    let question = "贷款 250000 元，年利率 3.6%，15 年，等额本息，每月还多少？";
    check(&mut workspace, question, &["每月还款额为 1,799.51。"], &[]);
}

#[test]
fn files_are_read_counted_and_outlined() {
    let mut rng = random();
    for _ in 0..4 {
        let mut workspace = Workspace::default();
        let path = format!("{}/{}_{}.md", name(&mut rng), name(&mut rng), rng.u32(..999));
        let lines = rng.usize(1..60);
        let mut text = String::from("# Top heading\n");
        for line in 1..lines {
            let _ = writeln!(text, "line {line} {}", name(&mut rng));
        }
        if rng.bool() {
            text.pop();
        }
        workspace.file(&path, &text, 1);
        let count = lines.to_string();
        for question in [
            format!("How many lines does {path} have?"),
            format!("Count the lines of {path}"),
            format!("读取 {path} 并告诉我一共有多少行"),
            format!("{path} 有多少行？"),
            format!("Read {path} and tell me how many lines it has"),
        ] {
            check(&mut workspace, &question, &[&count], &["line 1 "]);
        }
        let last = text.lines().last().unwrap();
        check(&mut workspace, &format!("Read {path}"), &[last], &[]);
        check(&mut workspace, &format!("打开 {path}"), &[last], &[]);
        check(
            &mut workspace,
            &format!("What are the section headings of {path}?"),
            &["- Top heading"],
            &["line 1"],
        );
        check(
            &mut workspace,
            &format!("Show the first line of {path}"),
            &["# Top heading"],
            &["line 1"],
        );
    }
}

#[test]
fn long_files_are_read_page_by_page() {
    let mut workspace = Workspace::default();
    let mut text = String::new();
    for part in 1..=40 {
        let _ = writeln!(text, "## Part {part}");
        text.push_str(&"words and more words\n".repeat(9));
    }
    workspace.file("long.md", &text, 1);
    let ended = ask(&mut workspace, "What are the section headings of long.md?");
    assert!(
        ended.text.contains("- Part 1\n") && ended.text.ends_with("- Part 40"),
        "{}",
        ended.text
    );
    assert_eq!(ended.calls.len(), 4, "pages of 100 lines");
    check(&mut workspace, "How many lines does long.md have?", &["400"], &[]);
    check(&mut workspace, "Show the last 2 lines of long.md", &["words and more words"], &["Part"]);
    check(&mut workspace, "Show lines 391 to 392 of long.md", &["## Part 40\nwords"], &["Part 39"]);
    workspace.file("gap.md", "a\n\nb\n", 1);
    check(&mut workspace, "What does line 2 of gap.md say?", &["white space"], &[]);
    check(&mut workspace, "Read long.md", &["## Part 1", "go on with offset 101"], &[]);
}

#[test]
fn folders_are_listed_and_files_picked() {
    let mut rng = random();
    for _ in 0..4 {
        let mut workspace = Workspace::default();
        let folder = name(&mut rng);
        let mut files: Vec<(String, usize, u64)> = (0..rng.usize(3..12))
            .map(|nth| {
                (
                    format!("{folder}/{}{nth}.md", name(&mut rng)),
                    nth * 10 + rng.usize(..9),
                    u64::try_from(nth).unwrap(),
                )
            })
            .collect();
        rng.shuffle(&mut files);
        for (path, size, age) in &files {
            workspace.file(path, &"x".repeat(*size), *age);
        }
        workspace.file(&format!("{folder}/deep/large.txt"), &"y".repeat(5_000), 900);
        let newest = files.iter().max_by_key(|(_, _, age)| *age).unwrap().0.clone();
        let oldest = files.iter().min_by_key(|(_, _, age)| *age).unwrap().0.clone();
        for (question, wanted, unwanted) in [
            (format!("Which is the newest file in {folder}?"), &newest, &oldest),
            (format!("{folder} 里最新的文件是哪个？"), &newest, &oldest),
            (format!("Which is the oldest file in the folder {folder}?"), &oldest, &newest),
            (format!("{folder} 文件夹中最旧的文件"), &oldest, &newest),
            (format!("the largest .md file under {folder}"), &newest, &oldest),
            (format!("{folder} 下最小的 .md 文件是哪个"), &oldest, &newest),
        ] {
            check(&mut workspace, &question, &[wanted], &[unwanted, "large.txt"]);
        }
        check(&mut workspace, &format!("List the files in {folder}"), &[&newest, &oldest], &[]);
        check(&mut workspace, &format!("列出 {folder} 下的文件"), &[&newest, &oldest], &[]);
        let count = files.len().to_string();
        check(&mut workspace, &format!("How many .md files are under {folder}?"), &[&count], &[]);
        check(&mut workspace, &format!("{folder} 下有多少个 .md 文件？"), &[&count], &[]);
        check(
            &mut workspace,
            &format!("Find all .txt files under {folder}"),
            &["large.txt"],
            &[&newest],
        );
        check(&mut workspace, "Where is large.txt?", &["deep/large.txt"], &[&newest]);
        check(&mut workspace, &format!("How big is {newest}?"), &["bytes"], &[&oldest]);
        check(
            &mut workspace,
            &format!("Is there a file called nothing.md in {folder}?"),
            &["There are no"],
            &[],
        );
    }
}

#[test]
fn text_is_searched() {
    let mut rng = random();
    for _ in 0..4 {
        let mut workspace = Workspace::default();
        let (folder, word) = (name(&mut rng), name(&mut rng) + "ing");
        let (one, two, other) =
            (format!("{folder}/a.rs"), format!("{folder}/deep/b.md"), format!("{folder}/c.rs"));
        workspace.file(&one, &format!("x\nthe {word} number\n"), 1);
        workspace.file(&two, &format!("{word}\n"), 1);
        workspace.file(&other, "nothing\n", 1);
        workspace.file("outside.md", &format!("{word}\n"), 1);
        for question in [
            format!("Which files under {folder} mention '{word}'?"),
            format!("List the files in {folder} that contain \"{word}\""),
            format!("{folder} 下哪些文件提到了“{word}”？"),
            format!("Which files under {folder} mention {word}?"),
        ] {
            check(&mut workspace, &question, &[&one, &two], &[&other, "outside.md"]);
        }
        check(
            &mut workspace,
            &format!("Search for {word} in {folder}"),
            &[&format!("{one}:2: the {word} number")],
            &["outside"],
        );
        check(
            &mut workspace,
            &format!("在 {folder} 下搜索“{word}”"),
            &[&format!("{one}:2:")],
            &["outside"],
        );
        check(
            &mut workspace,
            &format!("How many files under {folder} mention '{word}'?"),
            &["2 files"],
            &[],
        );
        check(&mut workspace, &format!("Which files mention 'un{word}x'?"), &["No file"], &[]);
    }
}

#[test]
fn files_are_written_exactly() {
    let mut rng = random();
    for _ in 0..4 {
        let mut workspace = Workspace::default();
        let (path, text) = (format!("{}/{}.txt", name(&mut rng), name(&mut rng)), name(&mut rng));
        for question in [
            format!("Write '{text}, and more' to {path}"),
            format!("Create {path} with the content: {text}, and more"),
            format!("把“{text}, and more”写入 {path}"),
            format!("创建文件 {path}，内容为“{text}, and more”"),
        ] {
            workspace = Workspace::default();
            check(&mut workspace, &question, &[&path], &[]);
            assert_eq!(workspace.text(&path), format!("{text}, and more"), "{question}");
        }
        check(
            &mut workspace,
            &format!("Calculate 6*7 and write the result to {path}"),
            &["42"],
            &[],
        );
        assert_eq!(workspace.text(&path), "42\n");
    }
}

#[test]
fn commands_are_run_as_they_stand() {
    let mut workspace = Workspace::default();
    for question in ["Run: echo 'a, b' && ls", "运行：echo 'a, b' && ls"] {
        check(&mut workspace, question, &["ran <echo 'a, b' && ls>"], &[]);
    }
    for question in
        ["运行 uname -s", "Run `uname -s`", "please run uname -s and tell me the output"]
    {
        check(&mut workspace, question, &["ran <uname -s>"], &[]);
    }
}

#[test]
fn several_steps_make_one_answer() {
    let mut rng = random();
    for _ in 0..4 {
        let mut workspace = Workspace::default();
        let folder = name(&mut rng);
        let (lines, files) = (rng.usize(50..90), rng.usize(2..8));
        workspace.file(&format!("{folder}/deep/big.rs"), &"a long line of code\n".repeat(lines), 1);
        for nth in 1..files {
            workspace.file(&format!("{folder}/s{nth}.rs"), "x\n", 1);
        }
        workspace.file(&format!("{folder}/huge.txt"), &"no\n".repeat(3_000), 1);
        workspace.file("elsewhere.rs", "x\n", 1);
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let quotient = format!("{}", lines as f64 / files as f64);
        let quotient = &quotient[..quotient.len().min(8)];
        for question in [
            format!(
                "Take the largest .rs file under {folder} and divide its line count by the number of .rs files below that folder."
            ),
            format!(
                "What is the line count of the largest .rs file under {folder}, divided by the number of .rs files below that folder?"
            ),
            format!(
                "Find the largest .rs file under {folder}, count its lines, and divide that by the number of .rs files under {folder}."
            ),
            format!("找出 {folder} 下最大的 .rs 文件，用它的行数除以该文件夹下 .rs 文件的数量"),
        ] {
            check(
                &mut workspace,
                &question,
                &[quotient, &lines.to_string(), "big.rs"],
                &["huge", "elsewhere"],
            );
        }
        check(
            &mut workspace,
            &format!("Which is the largest file under {folder}? Count its lines."),
            &["huge.txt", "3000"],
            &[],
        );
        check(
            &mut workspace,
            &format!("Count the lines of {folder}/huge.txt and write the result to n.txt"),
            &["3000"],
            &[],
        );
        assert_eq!(workspace.text("n.txt"), "3000\n");
    }
}

#[test]
fn every_value_comes_from_the_tool() {
    let mut workspace = Workspace::answering("4242");
    for question in [
        "What is 2 + 2?",
        "帮我算一下 (12000 * 0.045) / 12",
        "Monthly payment on a loan of 1000 at 5% over 2 years?",
    ] {
        check(&mut workspace, question, &["4242"], &["45 ", "43.87"]);
    }
}

#[test]
fn without_its_tool_an_answer_holds_no_number() {
    let without = |skill: &str| -> Vec<ToolDeclaration> {
        tools().into_iter().filter(|tool| !tool.description.contains(skill)).collect()
    };
    let mut workspace = Workspace::default();
    for question in ["What is 2 + 2?", "帮我算一下 (12000 * 0.045) / 12"] {
        let ended = ask_with(&mut workspace, &without("arithmetic"), question);
        assert!(ended.is_given_up && ended.calls.is_empty(), "{}", ended.text);
        assert!(!ended.text.chars().any(char::is_numeric), "{}", ended.text);
        let failing = "Failed (unavailable): calculator-7f3a gave no answer. Tried 3 times.";
        let mut failing = Workspace::answering(failing);
        let ended = ask(&mut failing, question);
        assert!(ended.is_given_up && ended.calls.len() == 1, "{}", ended.text);
        assert!(!ended.text.chars().any(char::is_numeric), "{}", ended.text);
    }
    let ended = ask_with(&mut workspace, &[], "How many lines does a.md have?");
    assert!(
        ended.is_given_up && ended.text.starts_with("offline: no more tools"),
        "{}",
        ended.text
    );
}

#[test]
fn failures_and_refusals_are_told_and_end_the_run() {
    let mut workspace = Workspace::default();
    let ended = ask(&mut workspace, "Read missing.md");
    assert!(ended.is_given_up, "{}", ended.text);
    assert!(ended.text.contains("No file `missing.md`"), "{}", ended.text);
    let denied = "`t7` was not run: a person denied it and said: not today.";
    let mut workspace = Workspace::answering(denied);
    let ended = ask(&mut workspace, "Run: ls");
    assert!(ended.is_given_up && ended.text.contains("not today"), "{}", ended.text);
    let ended = ask(&mut workspace, "运行 ls");
    assert!(ended.is_given_up && ended.text.contains("未获允许"), "{}", ended.text);
}

#[test]
fn tools_that_were_not_offered_are_looked_up_once() {
    let mut tools = tools();
    let calculator = tools.remove(0);
    tools.push(finder());
    let mut workspace = Workspace::default();
    let first = plan(&[Turn { input: "What is 6 * 7?".into(), done: VecDeque::new() }], &tools);
    let Plan::Call(look) = first else { panic!("{first:?}") };
    assert_eq!(look.name, "t9");
    let found = Done { tool: look.name.clone(), content: "- t1: Works out expressions.".into() };
    let done = VecDeque::from([found]);
    let second = plan(&[Turn { input: "What is 6 * 7?".into(), done: done.clone() }], &tools);
    assert!(matches!(second, Plan::GiveUp(_)), "{second:?}");
    tools.push(calculator);
    let third = plan(&[Turn { input: "What is 6 * 7?".into(), done: done.clone() }], &tools);
    let Plan::Call(wanted) = third else { panic!("{third:?}") };
    let mut done = done;
    done.push_back(Done { tool: wanted.name.clone(), content: workspace.call(&wanted) });
    let last = plan(&[Turn { input: "What is 6 * 7?".into(), done }], &tools);
    assert_eq!(last, Plan::Answer("6 * 7 = 42".into()));
}

#[test]
fn long_results_are_read_to_their_end() {
    let mut workspace = Workspace::default();
    workspace.shown = 600;
    for nth in 10..60 {
        workspace.file(&format!("notes/n{nth}.md"), &"x".repeat(nth), 1);
    }
    check(
        &mut workspace,
        "Which is the smallest .md file under notes?",
        &["notes/n10.md"],
        &["n59"],
    );
    check(
        &mut workspace,
        "Find all .md files in notes",
        &["n10.md", "n35.md", "n59.md", "50 files"],
        &[],
    );
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_done() {
    let mut workspace = Workspace::default();
    workspace.file("a.md", "# A\n", 1);
    for question in [
        "Read a.md and translate it into French",
        "Summarise a.md",
        "asdf",
        "读取 a.md，然后总结一下",
    ] {
        let ended = ask(&mut workspace, question);
        assert!(ended.is_given_up && ended.calls.is_empty(), "{question}: {}", ended.text);
        assert!(ended.text.starts_with("offline: "), "{}", ended.text);
    }
    let ended = ask(&mut workspace, "What can you do?");
    assert!(!ended.is_given_up && ended.text.contains("offline"), "{}", ended.text);
}

#[test]
fn what_an_earlier_run_found_may_be_spoken_of() {
    let mut workspace = Workspace::default();
    workspace.file("notes/a.md", "old\n", 1);
    workspace.file("notes/b.md", "new\n", 2);
    let first = "Which is the newest file in notes?";
    let Plan::Call(wanted) = plan(&[Turn { input: first.into(), done: VecDeque::new() }], &tools())
    else {
        panic!("the first run makes a call");
    };
    let done = Done { tool: wanted.name.clone(), content: workspace.call(&wanted) };
    let earlier = Turn { input: first.into(), done: VecDeque::from([done]) };
    let now = Turn { input: "Read it.".into(), done: VecDeque::new() };
    let Plan::Call(wanted) = plan(&[earlier.clone(), now], &tools()) else {
        panic!("the second run makes a call");
    };
    assert_eq!(wanted.arguments, r#"{"path":"notes/b.md"}"#);
    assert_eq!(wanted.model_id, "call_1");
    // The folder of an earlier run is not taken for granted.
    let now = Turn { input: "How many .md files are there?".into(), done: VecDeque::new() };
    let Plan::Call(wanted) = plan(&[earlier, now], &tools()) else {
        panic!("the second run makes a call");
    };
    assert!(!wanted.arguments.contains("notes"), "{}", wanted.arguments);
}

/// Words and signs that requests are made of, and some that they are not.
const PIECES: &[&str] = &[
    "read",
    "Which",
    "file",
    "lines",
    "in",
    "the",
    "newest",
    "of",
    "divided by",
    "and",
    ", ",
    "; ",
    "“",
    "”",
    "\"",
    "'",
    "`",
    "```",
    "读取",
    "最大的",
    "文件",
    "下",
    "里",
    "的",
    "行数",
    "除以",
    "，",
    "。",
    "？",
    "a.md",
    "docs/",
    "*.rs",
    ".rs",
    "3",
    "1,200",
    "4.5%",
    "十二",
    "百分之",
    "(",
    ")",
    "+",
    "*",
    "-",
    "run:",
    "write",
    "to",
    "内容：",
    "把",
    "写入",
    "😀",
    "é",
    "\u{1}",
    "\u{e000}",
    "\n",
    " ",
    "mention",
    "提到",
    "第",
    "x",
    "年",
    "个月",
    "贷款",
    "loan",
    "of 1000 at 5% over 3 years",
    "平均",
    "average of 3, 4",
    "√",
    "²",
    "{",
    "}",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        cases: 120, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn nothing_that_is_said_or_answered_makes_it_fall(
        pieces in proptest::collection::vec((0..PIECES.len(), proptest::bool::ANY), 0..16),
        results in proptest::collection::vec("(Failed \\(|Found |Read |\\[|\\PC|\n|[0-9],| {2}|: ){0,12}", 0..4),
    ) {
        let mut input = String::new();
        for (piece, spaced) in pieces {
            input.push_str(PIECES[piece]);
            if spaced {
                input.push(' ');
            }
        }
        let done = results.into_iter().map(|content| Done { tool: "t2".into(), content });
        let turns = [Turn { input, done: done.collect() }];
        let tools = tools();
        proptest::prop_assert_eq!(plan(&turns, &tools), plan(&turns, &tools));
    }
}

#[test]
fn a_request_of_any_size_is_read_soon() {
    let mut workspace = Workspace::default();
    for piece in ["1 ", "(", "a.md ", "行", "read ", "3, ", "\"a\" ", "“", "'a", "x: "] {
        let short = ask(&mut workspace, &piece.repeat(500));
        let long = ask(&mut workspace, &piece.repeat(5_000));
        assert!(short.calls.len() <= MOST_CALLS && long.is_given_up, "{piece}");
    }
    let text = "line of a text\n".repeat(5_000);
    let question = format!("Create long.txt with the content: {text}");
    check(&mut workspace, &question, &["long.txt"], &[]);
    assert_eq!(workspace.text("long.txt"), text.trim());
}
