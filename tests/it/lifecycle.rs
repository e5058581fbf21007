//! Stacks come and go with their clients.

use std::{collections::HashSet, time::Duration};

use callboard_tests::{Callboard, ModelServer, Reply, processes_of, within};

#[tokio::test]
async fn every_role_is_a_process_of_its_own() {
    let callboard = Callboard::new();
    let stack = callboard.up(&[]).await;
    let processes = processes_of(callboard.home());
    for role in ["gateway", "orchestrator", "calculator", "files", "search", "shell"] {
        let of_role: HashSet<u32> = processes
            .iter()
            .filter(|(_, command)| command.contains(&format!("serve {role}")))
            .map(|(pid, _)| *pid)
            .collect();
        assert_eq!(of_role.len(), 1, "{role}: {processes:?}");
    }
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn an_ask_uses_a_stack_that_is_up() {
    let callboard = Callboard::new();
    let stack = callboard.up(&[]).await;
    let before: HashSet<u32> =
        processes_of(callboard.home()).into_iter().map(|(pid, _)| pid).collect();
    let finished = callboard.run(&["ask", "What is 6 * 7?"]).await.expect(0);
    assert!(finished.stdout.contains("42"), "{finished:?}");
    let after: HashSet<u32> =
        processes_of(callboard.home()).into_iter().map(|(pid, _)| pid).collect();
    assert_eq!(before, after, "no process came or went");
    let sessions = callboard.run(&["sessions", "list"]).await.expect(0);
    assert!(sessions.stdout.contains("What is 6 * 7?"), "{sessions:?}");
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn a_killed_supervisor_takes_its_processes_along() {
    let callboard = Callboard::new();
    let mut stack = callboard.up(&[]).await;
    assert!(processes_of(callboard.home()).len() >= 7);
    stack.child.start_kill().unwrap();
    within(Duration::from_secs(30), "all processes end after SIGKILL of `up`", || {
        processes_of(callboard.home()).is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_killed_ask_takes_its_stack_along() {
    let model = ModelServer::script(vec![Reply::Hang]).await;
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    let mut ask = callboard.command(&["ask", "--model", "openai:x", "hello"]).spawn().unwrap();
    within(Duration::from_secs(30), "the model is asked", || {
        (!model.requests().is_empty()).then_some(())
    })
    .await;
    assert!(processes_of(callboard.home()).len() >= 7);
    ask.start_kill().unwrap();
    ask.wait().await.unwrap();
    within(Duration::from_secs(30), "all processes end after SIGKILL of `ask`", || {
        processes_of(callboard.home()).is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn interrupting_an_ask_cancels_its_run() {
    let model = ModelServer::script(vec![Reply::Hang]).await;
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    let ask =
        callboard.command(&["ask", "--json", "--model", "openai:x", "hello"]).spawn().unwrap();
    within(Duration::from_secs(30), "the model is asked", || {
        (!model.requests().is_empty()).then_some(())
    })
    .await;
    let pid = rustix::process::Pid::from_raw(ask.id().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = tokio::time::timeout(Duration::from_secs(20), ask.wait_with_output()).await;
    let output = output.expect("it ends").unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn a_stack_that_is_ended_says_so_to_who_waits() {
    let model = ModelServer::script(vec![Reply::Hang]).await;
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    let stack = callboard.up(&[]).await;
    let ask = callboard.command(&["ask", "--model", "openai:x", "hello"]).spawn().unwrap();
    within(Duration::from_secs(30), "the model is asked", || {
        (!model.requests().is_empty()).then_some(())
    })
    .await;
    assert_eq!(stack.stop().await, 0);
    let output = tokio::time::timeout(Duration::from_secs(10), ask.wait_with_output()).await;
    let output = output.expect("it ends with the stack").unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{said}");
    assert!(said.contains("session ") && said.contains("`callboard up`"), "{said}");
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn two_folders_do_not_see_each_other() {
    let (one, two) = (Callboard::new(), Callboard::new());
    one.file("only-in-one.txt", "x\n");
    let (stack_one, stack_two) = tokio::join!(one.up(&[]), two.up(&[]));
    let listed =
        two.run(&["tools", "call", "list_dir", "--args", "{\"path\":\".\"}"]).await.expect(0);
    assert!(!listed.stdout.contains("only-in-one"), "{listed:?}");
    let listed =
        one.run(&["tools", "call", "list_dir", "--args", "{\"path\":\".\"}"]).await.expect(0);
    assert!(listed.stdout.contains("only-in-one.txt"), "{listed:?}");
    assert_eq!((stack_one.stop().await, stack_two.stop().await), (0, 0));
}

#[tokio::test]
async fn another_workspace_with_the_same_state_is_refused_by_name() {
    let callboard = Callboard::new();
    let state = callboard.home().join("shared-state").display().to_string();
    let stack = callboard.up(&["--state", &state]).await;
    let other = callboard.home().join("other");
    std::fs::create_dir(&other).unwrap();
    let other = other.display().to_string();
    let refused = callboard
        .run(&["ask", "--state", &state, "--workspace", &other, "What is 1+1?"])
        .await
        .expect(2);
    assert!(refused.stderr.contains(&other), "{refused:?}");
    assert!(refused.stderr.contains(&callboard.workspace().display().to_string()), "{refused:?}");
    assert_eq!(stack.stop().await, 0);
}

#[tokio::test]
async fn a_port_in_use_is_said_and_nothing_is_left() {
    let callboard = Callboard::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = callboard.command(&["up"]);
    command.env("CALLBOARD__GATEWAY__LISTEN", &address);
    let output =
        tokio::time::timeout(Duration::from_secs(20), command.output()).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains(&address), "{output:?}");
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn a_killed_orchestrator_is_replaced_and_the_run_goes_on() {
    let model = ModelServer::script(vec![Reply::Hang, Reply::text("Here I am again.")]).await;
    let callboard = Callboard::new()
        .env("OPENAI_API_KEY", "sk-test-key-0123456789")
        .env("OPENAI_BASE_URL", &model.base_url());
    let stack = callboard.up(&[]).await;
    let ask = callboard.command(&["ask", "--model", "openai:x", "hello"]).spawn().unwrap();
    within(Duration::from_secs(30), "the model is asked", || {
        (!model.requests().is_empty()).then_some(())
    })
    .await;
    let orchestrator = processes_of(callboard.home())
        .into_iter()
        .find(|(_, command)| command.contains("serve orchestrator"))
        .unwrap();
    let pid = rustix::process::Pid::from_raw(orchestrator.0.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let output = tokio::time::timeout(Duration::from_mins(1), ask.wait_with_output()).await;
    let output = output.expect("it ends").unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "Here I am again.");
    assert_eq!(model.requests().len(), 2);
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}
