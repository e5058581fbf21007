//! Wrong words get a clear error, the right exit code, and leave nothing behind.

use callboard_tests::{Callboard, processes_of};

#[tokio::test]
async fn wrong_words_are_said_and_end_with_2() {
    let callboard = Callboard::new();
    callboard.file("bad.toml", "[orchestrator.agent]\nmax_step = 3\n");
    for (arguments, says) in [
        (&["sesions", "list"][..], "sessions"),
        (&["ask", "--modle", "x", "hello"], "--model"),
        (&["ask"], "PROMPT"),
        (&["ask", "--model", "opnai:gpt", "hello"], "openai"),
        (&["ask", "--config", "missing.toml", "hello"], "missing.toml"),
        (&["ask", "--config", "bad.toml", "hello"], "max_steps"),
        (&["ask", "--state", "/proc/nowhere", "hello"], "/proc/nowhere"),
        (&["ask", "--workspace", "not-here", "hello"], "not-here"),
        (&["tools", "call", "calculat", "--args", "{}"], "calculate"),
        (&["tools", "show", "calculat"], "calculate"),
        (&["tools", "call", "calculate", "--args", "@missing.json"], "missing.json"),
    ] {
        let finished = callboard.run(arguments).await;
        let said = format!("{}{}", finished.stderr, finished.stdout);
        assert_eq!(finished.code, 2, "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?} does not say `{says}`: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn a_session_that_is_not_there_is_not_begun_by_an_input() {
    let callboard = Callboard::new();
    let unknown = "00000000-0000-8000-8000-000000000001";
    let finished = callboard.run(&["ask", "--session", unknown, "1 + 1"]).await.expect(2);
    assert!(finished.stderr.contains("no session has this id"), "{finished:?}");
    let listed = callboard.run(&["sessions", "list", "--json"]).await.expect(0).json();
    assert_eq!(listed, serde_json::json!([]));
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn arguments_that_are_no_json_fail_with_the_place() {
    let callboard = Callboard::new();
    let finished =
        callboard.run(&["tools", "call", "calculate", "--args", "{\"expression\": "]).await;
    assert!(finished.code == 1 || finished.code == 2, "{finished:?}");
    assert!(finished.stderr.contains("JSON"), "{finished:?}");
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn a_key_of_the_environment_is_checked_too() {
    let callboard = Callboard::new().env("CALLBOARD__ORCHESTRATOR__AGENT__MAX_STEP", "3");
    let finished = callboard.run(&["config"]).await.expect(2);
    assert!(finished.stderr.contains("max_steps"), "{finished:?}");
}

#[tokio::test]
async fn long_paths_are_no_problem_for_sockets() {
    let callboard = Callboard::new();
    let deep = callboard.home().join("a-rather-long-folder-name/".repeat(8));
    std::fs::create_dir_all(&deep).unwrap();
    let state = deep.join("state").display().to_string();
    let finished = callboard.run(&["ask", "--state", &state, "What is 6 * 7?"]).await.expect(0);
    assert!(finished.stdout.contains("42"), "{finished:?}");
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_written_is_no_success() {
    let callboard = Callboard::new();
    for (line, code, says) in [
        ("\"$CALLBOARD\" ask 1+1 >&-", 2, "standard output is closed"),
        ("\"$CALLBOARD\" tools list >&-", 2, "standard output is closed"),
        ("\"$CALLBOARD\" ask 1+1 >/dev/full", 1, "cannot write to standard output"),
        // Nobody wants to know, which is no fault.
        ("\"$CALLBOARD\" ask 1+1 >/dev/null", 0, ""),
        ("\"$CALLBOARD\" ask 1+1 <&-", 0, ""),
        ("\"$CALLBOARD\" ask 1+1 2>&-", 0, ""),
        ("{ \"$CALLBOARD\" ask 1+1; echo $? >&2; } | true", 0, "0\n"),
        ("{ \"$CALLBOARD\" ask --events 1+1; echo $? >&2; } | head -n 1", 0, "0\n"),
    ] {
        let finished = callboard.run_in_shell(line).await;
        assert_eq!(finished.code, code, "{line}: {finished:?}");
        assert!(finished.stderr.contains(says), "{line}: {finished:?}");
        assert!(!finished.stderr.contains("panicked"), "{line}: {finished:?}");
    }
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn a_service_that_stands_still_is_named_with_what_to_do() {
    let callboard = Callboard::new();
    let stack = callboard.up(&[]).await;
    let calculator = processes_of(callboard.home())
        .into_iter()
        .find(|(_, command)| command.contains("serve calculator"))
        .unwrap();
    let pid = rustix::process::Pid::from_raw(calculator.0.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let called =
        callboard.run(&["tools", "call", "calculate", "--args", "{\"expression\":\"1+1\"}"]).await;
    let asked = callboard.run(&["ask", "1+1"]).await;
    let status = callboard.run(&["status"]).await.expect(0);
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert_eq!(called.code, 1, "{called:?}");
    assert!(called.stderr.contains("the service `calculator` did not answer"), "{called:?}");
    assert!(called.stderr.contains("`callboard status`"), "{called:?}");
    assert_eq!(asked.code, 1, "{asked:?}");
    assert!(asked.stderr.contains("the service `calculator` did not answer"), "{asked:?}");
    assert!(status.stdout.contains(&format!("kill -CONT {}", calculator.0)), "{status:?}");
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn files_and_servers_that_are_none_are_said_at_once() {
    let callboard = Callboard::new();
    callboard.file("a-file", "x");
    callboard.file("utf-16.toml", b"\xff\xfe[\0");
    callboard.file("large.toml", "#".repeat((1 << 20) + 1));
    std::fs::create_dir(callboard.workspace().join("folder.toml")).unwrap();
    std::fs::create_dir(callboard.workspace().join("piped")).unwrap();
    callboard.file("heavy", "k".repeat((1 << 16) + 1));
    for pipe in ["pipe", "piped/callboard.toml"] {
        let made =
            std::process::Command::new("mkfifo").arg(callboard.workspace().join(pipe)).status();
        assert!(made.unwrap().success());
    }
    for (settings, secret) in [("secret", "pipe"), ("heavy", "heavy"), ("endless", "/dev/zero")] {
        let path = callboard.workspace().join(secret).display().to_string();
        callboard.file(
            &format!("{settings}.toml"),
            format!("[orchestrator.models.openai]\napi_key_file = \"{path}\"\n"),
        );
    }
    let bom = callboard.file("bom.toml", "\u{feff}[orchestrator.agent]\nmax_steps = 3\n");
    let shown = callboard.run(&["config", "--config", &bom.display().to_string()]).await.expect(0);
    assert!(shown.stdout.contains("max_steps = 3"), "{shown:?}");
    for (arguments, code, says) in [
        (&["ask", "--state", "a-file", "1+1"][..], 2, "is no folder"),
        (&["ask", "--workspace", "a-file", "1+1"], 2, "is no folder"),
        (&["config", "--config", "utf-16.toml"], 2, "it is UTF-16: save it as UTF-8"),
        (&["config", "--config", "large.toml"], 2, "larger than 1048576 bytes"),
        (&["config", "--config", "/dev/zero"], 2, "no regular file"),
        (&["config", "--config", "pipe"], 2, "no regular file"),
        (&["config", "--config", "secret.toml"], 2, "no regular file"),
        (&["config", "--config", "heavy.toml"], 2, "larger than 65536 bytes"),
        (&["config", "--config", "endless.toml"], 2, "no regular file"),
        (&["ask", "--workspace", "piped", "1+1"], 2, "no regular file"),
        (
            &["tools", "list", "--server", "http://127.0.0.1:9", "--token-file", "pipe"],
            2,
            "no regular file",
        ),
        (&["config", "--config", "folder.toml"], 2, "folder.toml"),
        (&["tools", "list", "--server", "ftp://localhost"], 2, "http://HOST:PORT"),
        (&["tools", "list", "--server", "unix:/none.sock"], 1, "unix:/none.sock"),
        (&["ask", "--server", "http://127.0.0.1:9", "1+1"], 1, "is it running there?"),
    ] {
        let began = std::time::Instant::now();
        let finished = callboard.run(arguments).await;
        let said = &finished.stderr;
        assert_eq!(finished.code, code, "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?} does not say `{says}`: {said}");
        assert!(began.elapsed().as_secs() < 20, "{arguments:?} hangs");
    }
    callboard.nothing_is_left().await;
}
