//! What a new user tries first, with exact answers: over real processes, without a key.

use callboard_tests::Callboard;

/// Asks, expects success, gives the answer and checks that nothing is left.
async fn answer(callboard: &Callboard, prompt: &str) -> String {
    let finished = callboard.run(&["ask", prompt]).await.expect(0);
    callboard.nothing_is_left().await;
    finished.stdout.trim().to_owned()
}

#[tokio::test]
async fn a_loan_is_calculated_by_the_calculator() {
    let callboard = Callboard::new();
    let prompt = "What is the monthly payment on a loan of 1,200,000 at 4.5% a year over 20 \
                  years, in equal instalments?";
    let run = callboard.run(&["ask", "--json", prompt]).await.expect(0).json();
    callboard.nothing_is_left().await;
    // 1200000 * i / (1 - (1 + i)^-240) with i = 0.045 / 12.
    assert!(run["answer"].as_str().unwrap().contains("7,591.79"), "{run}");
    assert_eq!(run["status"], "completed");
    assert_eq!(run["model"], "offline");
    let calls = run["tool_calls"].as_array().unwrap();
    assert!(!calls.is_empty(), "the planner does no arithmetic");
    for call in calls {
        assert_eq!((&call["tool"], &call["status"]), (&"calculate".into(), &"ok".into()));
        assert!(call["instance"].as_str().unwrap().starts_with("calculator-"), "{call}");
    }
}

#[tokio::test]
async fn the_journal_says_which_model_is_asked_and_how_an_attempt_ended() {
    let callboard = Callboard::new();
    let told = callboard.run(&["ask", "--events", "--model", "auto", "1+1"]).await.expect(0);
    callboard.nothing_is_left().await;
    let events = told.stdout.lines().map(serde_json::from_str::<serde_json::Value>);
    let events: Vec<serde_json::Value> = events.collect::<Result<_, _>>().unwrap();
    let asked: Vec<&serde_json::Value> =
        events.iter().filter(|event| event["type"] == "model.requested").collect();
    assert_eq!(asked.len(), 2, "{events:?}");
    for event in asked {
        assert_eq!(event["data"]["model"], "offline", "{event}");
    }
    let kinds = events.iter().filter_map(|event| event["type"].as_str());
    // What is seen of a call while it runs is no step of it.
    let kinds: Vec<&str> = kinds.filter(|kind| *kind != "glimpse").collect();
    let call = ["call.planned", "call.judged", "attempt.started", "attempt.ended", "call.settled"];
    assert!(kinds.windows(5).any(|kinds| kinds == call), "an attempt without an end: {kinds:?}");
}

#[tokio::test]
async fn arithmetic_is_understood_in_chinese() {
    let answer = answer(&Callboard::new(), "帮我算一下 (12000 * 0.045) / 12").await;
    let numbers: Vec<&str> =
        answer.split(|c: char| !c.is_ascii_digit() && c != '.').filter(|n| !n.is_empty()).collect();
    assert!(numbers.contains(&"45"), "{answer}");
}

#[tokio::test]
async fn headings_of_a_file_are_listed() {
    let callboard = Callboard::new();
    callboard.file("README.md", "# Top\n\ntext\n## First part\n```\n# not one\n```\n### Deep\n");
    let answer = answer(&callboard, "What are the section headings of README.md?").await;
    for heading in ["Top", "First part", "Deep"] {
        assert!(answer.contains(heading), "{heading} is missing: {answer}");
    }
    assert!(!answer.contains("not one"), "a comment in a code block is no heading: {answer}");
}

#[tokio::test]
async fn files_that_mention_a_word_are_found() {
    let callboard = Callboard::new();
    callboard.file("orchestrator/a.rs", "// the fencing number\n");
    callboard.file("orchestrator/deep/b.rs", "fencing\n");
    callboard.file("orchestrator/c.rs", "nothing here\n");
    callboard.file("other/d.rs", "fencing\n");
    let answer = answer(&callboard, "Which files under orchestrator mention 'fencing'?").await;
    assert!(
        answer.contains("orchestrator/a.rs") && answer.contains("orchestrator/deep/b.rs"),
        "{answer}"
    );
    assert!(!answer.contains("c.rs") && !answer.contains("other/d.rs"), "{answer}");
}

#[tokio::test]
async fn lines_are_counted_as_wc_does_plus_an_unterminated_one() {
    for (content, lines) in [("a\nb\nc\n", "3"), ("a\nb\nc", "3"), ("一\n二\n", "2")] {
        let callboard = Callboard::new();
        callboard.file("CHANGELOG.md", content);
        let answer = answer(&callboard, "读取 CHANGELOG.md 并告诉我一共有多少行").await;
        assert!(answer.contains(lines), "{content:?}: {answer}");
    }
}

#[tokio::test]
async fn the_newest_file_is_named() {
    let callboard = Callboard::new();
    for (age, name) in [(300, "old.md"), (10, "newest.md"), (200, "middle.md")] {
        let path = callboard.file(&format!("meetings/{name}"), "# Meeting\n");
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    let answer = answer(&callboard, "Which is the newest file in meetings?").await;
    assert!(answer.contains("newest.md"), "{answer}");
    assert!(!answer.contains("old.md") && !answer.contains("middle.md"), "{answer}");
}

#[tokio::test]
async fn several_steps_make_one_answer() {
    let callboard = Callboard::new();
    callboard.file("src/a.rs", "x\n".repeat(10));
    callboard.file("src/deep/big.rs", "a long line of code\n".repeat(90));
    callboard.file("src/deep/b.rs", "y\n");
    callboard.file("src/deep/c.rs", "z\n");
    callboard.file("src/huge.txt", "not Rust\n".repeat(9000));
    let prompt = "Take the largest .rs file under src and divide its line count by the number of \
                  .rs files below that folder.";
    let answer = answer(&callboard, prompt).await;
    // 90 lines, 4 files.
    assert!(answer.contains("22.5"), "{answer}");
}

#[tokio::test]
async fn two_asks_share_a_stack_and_twenty_do_not_mix() {
    let callboard = Callboard::new();
    let asks = (1..=20_u64).map(|n| {
        let callboard = &callboard;
        async move {
            let (a, b) = (1000 + 37 * n, 11 + n);
            let prompt = format!("What is {a} * {b}?");
            let finished = callboard.run(&["ask", &prompt]).await.expect(0);
            let answer = finished.stdout.replace(',', "");
            let product = (a * b).to_string();
            assert!(answer.contains(&product), "{prompt} {product}: {answer}");
        }
    });
    futures_util::future::join_all(asks).await;
    callboard.nothing_is_left().await;
}
