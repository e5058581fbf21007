//! What calls changed is taken back: looked at first, the latest first, once, and told.

mod slow;

use std::time::Duration;

use callboard_tests::{
    Callboard, Cluster, Etcd, ModelServer, Postgres, Reply, Stack, role_of, send, within,
};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::crash_points::noted_calls;

/// A stack whose model makes these calls, one a step, and then says so.
struct Scene {
    callboard: Callboard,
    stack: Stack,
    model: ModelServer,
}

impl Scene {
    async fn new(calls: &[(&'static str, Value)]) -> Self {
        let calls = calls.to_vec();
        Self::played(move |n| match calls.get(n) {
            Some((tool, arguments)) => Reply::call(tool, arguments),
            None => Reply::text("Done."),
        })
        .await
    }

    async fn played(script: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let model = ModelServer::start(move |n, _| script(n)).await;
        let callboard = Callboard::new()
            .env("OPENAI_API_KEY", "sk-test-key-0123456789")
            .env("OPENAI_BASE_URL", &model.base_url());
        let stack = callboard.up(&[]).await;
        Self { callboard, stack, model }
    }

    async fn post(&self, path: &str, key: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}{path}", self.stack.url);
        let request = self.stack.client().post(url).json(body).header("idempotency-key", key);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// Has the model make its calls; the session's id and theirs.
    async fn run(&self) -> (String, Vec<String>) {
        let body =
            json!({"input": "go", "model": "openai:scripted", "approve": ["*"], "wait": true});
        let (_, run) = self.post("/v1/runs", "run", &body).await;
        assert_eq!(run["status"], "completed", "{run}");
        let calls = run["tool_calls"].as_array().unwrap().iter();
        let ids = calls.map(|call| call["call_id"].as_str().unwrap().to_owned()).collect();
        (run["session"].as_str().unwrap().to_owned(), ids)
    }

    async fn roll_back(&self, session: &str, key: &str, body: &Value) -> (u16, Value) {
        self.post(&format!("/v1/sessions/{session}/rollback"), key, body).await
    }

    fn content(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.callboard.workspace().join(name)).ok()
    }

    fn role(&self, role: &str) -> u32 {
        role_of(self.callboard.home(), role).unwrap()
    }

    /// Kills a role and waits for the next one.
    async fn kill(&self, role: &str) {
        let killed = self.role(role);
        send(killed, Signal::KILL);
        let find = || role_of(self.callboard.home(), role).filter(|pid| *pid != killed);
        within(Duration::from_secs(20), "another one comes", find).await;
    }

    async fn facts(&self, session: &str) -> Vec<Value> {
        let url = format!("{}/v1/sessions/{session}/export", self.stack.url);
        let text = self.stack.client().get(url).send().await.unwrap().text().await.unwrap();
        text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": path, "content": content}))
}

/// The calls and statuses of a rollback.
fn steps(answer: &Value) -> Vec<(&str, &str)> {
    let steps = answer["steps"].as_array().unwrap().iter();
    steps.map(|s| (s["call_id"].as_str().unwrap(), s["status"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn writes_are_shown_and_taken_back_the_latest_first() {
    let scene = Scene::new(&[
        write("a.md", "one\n"),
        write("a.md", "two\n"),
        write("a.md", "two\n"),
        write("b.md", "new\n"),
    ])
    .await;
    scene.callboard.file("a.md", "zero\n");
    let (session, calls) = scene.run().await;
    assert_eq!(scene.content("a.md").as_deref(), Some("two\n"));
    let command = ["sessions", "rollback", &session, "--to-step", "0"];

    let dry = [&command[..], &["--dry-run", "--json"]].concat();
    let plan = scene.callboard.run(&dry).await.expect(0).json();
    let latest_first: Vec<(&str, &str)> =
        calls.iter().rev().map(|call| (call.as_str(), "would_undo")).collect();
    assert_eq!(steps(&plan), latest_first, "{plan}");
    let messages: Vec<&str> =
        plan["steps"].as_array().unwrap().iter().map(|s| s["message"].as_str().unwrap()).collect();
    assert_eq!(
        messages,
        [
            "`b.md`, a new file, would be removed.",
            "It changed nothing.",
            "The old content of `a.md` (4 bytes) would be restored.",
            "The old content of `a.md` (5 bytes) would be restored.",
        ]
    );
    assert_eq!(scene.content("a.md").as_deref(), Some("two\n"), "a plan changes nothing");
    let facts = scene.facts(&session).await;
    let is_of_rollback = |kind: &Value| kind.as_str().unwrap().starts_with("rollback.");
    assert!(!facts.iter().any(|f| is_of_rollback(&f["event"]["type"])), "and leaves no trace");

    let done = scene.callboard.run(&command).await.expect(0);
    assert!(done.stderr.contains("would undo"), "what will be done is seen first: {done:?}");
    assert_eq!(done.stdout.lines().count(), 4, "{done:?}");
    assert!(done.stdout.contains("`b.md`, a new file, is removed."), "{done:?}");
    assert_eq!((scene.content("a.md").as_deref(), scene.content("b.md")), (Some("zero\n"), None));
    let again = scene.callboard.run(&command).await.expect(0);
    assert!(again.stderr.contains("Nothing has been changed since that step."), "{again:?}");
    let shown = scene.callboard.run(&["sessions", "show", &session]).await.expect(0).stdout;
    assert!(shown.contains(&format!("step 4 · call {}", calls[3])), "{shown}");
    assert_eq!(shown.matches("taken back: ").count(), 4, "{shown}");

    // The model reads so in its next turn, and the session replays the same.
    let url = format!("/v1/sessions/{session}/runs");
    let (status, _) = scene.post(&url, "next", &json!({"input": "now?", "wait": true})).await;
    assert_eq!(status, 200);
    let asked = scene.model.requests().pop().unwrap();
    let results = asked["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool");
    let results: Vec<&str> = results.map(|result| result["content"].as_str().unwrap()).collect();
    assert_eq!(results.len(), 4);
    let told = "[A person had this taken back; its effect is gone: ";
    assert!(results.iter().all(|result| result.starts_with(told)), "{results:?}");
    let _ = scene.callboard.run(&["sessions", "replay", &session]).await.expect(0);
    assert_eq!(scene.stack.stop().await, 0);
}

#[tokio::test]
async fn what_changed_since_keeps_every_call_from_being_taken_back() {
    let scene = Scene::new(&[write("a.md", "one\n"), write("b.md", "two\n")]).await;
    let (session, calls) = scene.run().await;
    scene.callboard.file("a.md", "by hand\n");
    let refused = scene.callboard.run(&["sessions", "rollback", &session, "--to-step", "0"]).await;
    let refused = refused.expect(1);
    assert!(refused.stdout.contains("conflict: `a.md` was changed since"), "{refused:?}");
    assert!(refused.stdout.contains("-by hand"), "what going back would do: {refused:?}");
    let (status, problem) = scene.roll_back(&session, "all", &json!({"to_step": 0})).await;
    assert_eq!(status, 409, "{problem}");
    assert_eq!(
        problem["detail"],
        "Nothing was taken back: `steps` says for each call what is in the way."
    );
    assert_eq!(steps(&problem), [(&*calls[1], "would_undo"), (&*calls[0], "conflict")]);
    assert!(scene.content("b.md").is_some(), "none of them is");
    // One alone can be, and the key of what was refused is still free.
    let one = json!({"call_id": calls[1]});
    let (status, done) = scene.roll_back(&session, "all", &one).await;
    assert_eq!((status, steps(&done)), (200, vec![(&*calls[1], "undone")]));
    assert_eq!(
        (scene.content("b.md"), scene.content("a.md").as_deref()),
        (None, Some("by hand\n"))
    );
    // As the call left it again: nothing stands against it.
    scene.callboard.file("a.md", "one\n");
    let (status, done) = scene.roll_back(&session, "rest", &json!({"to_step": 0})).await;
    assert_eq!((status, steps(&done)), (200, vec![(&*calls[0], "undone")]));
    assert_eq!(scene.content("a.md"), None);
    assert_eq!(scene.stack.stop().await, 0);
}

#[tokio::test]
async fn a_rollback_told_twice_is_one_rollback_across_a_death() {
    let scene = Scene::new(&[write("a.md", "one\n"), write("b.md", "two\n")]).await;
    let (session, calls) = scene.run().await;
    let one = json!({"call_id": calls[0]});
    let (status, first) = scene.roll_back(&session, "key", &one).await;
    assert_eq!((status, steps(&first)), (200, vec![(&*calls[0], "undone")]), "{first}");
    scene.callboard.file("a.md", "again, by hand\n");
    scene.kill("orchestrator").await;
    let (status, again) = scene.roll_back(&session, "key", &one).await;
    assert_eq!((status, again), (200, first), "it is the first answer");
    assert_eq!(scene.content("a.md").as_deref(), Some("again, by hand\n"));
    let (status, other) = scene.roll_back(&session, "key", &json!({"to_step": 0})).await;
    assert_eq!((status, &other["reason"]), (422, &json!("key_reused")), "{other}");
    assert!(scene.content("b.md").is_some());
    let facts = scene.facts(&session).await;
    let asked = facts.iter().filter(|fact| fact["event"]["type"] == "rollback.asked").count();
    assert_eq!(asked, 1, "{facts:?}");
    // Under another key it is another wish, of which nothing is left to do.
    let (status, done) = scene.roll_back(&session, "other", &one).await;
    assert_eq!((status, &done["reason"]), (409, &json!("nothing_to_take_back")), "{done}");
    assert!(done["detail"].as_str().unwrap().contains("taken back already"), "{done}");
    assert_eq!(scene.stack.stop().await, 0);
}

/// Has the model make so many new files in one step.
async fn many_writes(count: usize) -> Scene {
    Scene::played(move |n| match n {
        0 => Reply::Calls(
            String::new(),
            (0..count)
                .map(|nth| write(&format!("{nth}.md"), "new\n"))
                .map(|(tool, arguments)| (tool.to_owned(), arguments.to_string()))
                .collect(),
        ),
        _ => Reply::text("Done."),
    })
    .await
}

#[tokio::test]
async fn a_wish_that_is_told_while_it_is_granted_gets_the_same_answer() {
    let scene = many_writes(20).await;
    let (session, calls) = scene.run().await;
    let all = json!({"to_step": 0});
    // One after the other, so that they meet it looked at, begun, and over.
    let wishes = (0..40).map(async |nth| {
        tokio::time::sleep(Duration::from_millis(4 * nth)).await;
        scene.roll_back(&session, "key", &all).await
    });
    let answers = futures_util::future::join_all(wishes).await;
    let (status, first) = &answers[0];
    assert_eq!((*status, steps(first).len()), (200, calls.len()), "{first}");
    assert!(answers.iter().all(|answer| answer == &answers[0]), "{answers:?}");
    assert_eq!(scene.stack.stop().await, 0);
}

#[tokio::test]
async fn a_rollback_whose_owner_and_client_are_gone_comes_to_its_end() {
    const WRITES: usize = 60;
    let scene = many_writes(WRITES).await;
    let (session, calls) = scene.run().await;
    let left = || (0..WRITES).filter(|n| scene.content(&format!("{n}.md")).is_some()).count();
    assert_eq!((calls.len(), left()), (WRITES, WRITES));
    let all = json!({"to_step": 0});
    let begun = async {
        let has_begun = || (left() < WRITES).then_some(());
        within(Duration::from_secs(20), "the first one is gone", has_begun).await;
        scene.kill("orchestrator").await;
    };
    tokio::select! {
        biased;
        () = begun => {}
        answer = scene.roll_back(&session, "key", &all) => panic!("over before: {answer:?}"),
    }
    // Nobody asks for it any more.
    let is_over = || (left() == 0).then_some(());
    within(Duration::from_secs(30), "the next owner goes on", is_over).await;
    let (status, done) = scene.roll_back(&session, "key", &all).await;
    assert_eq!(status, 200, "{done}");
    let latest_first: Vec<(&str, &str)> =
        calls.iter().rev().map(|call| (call.as_str(), "undone")).collect();
    assert_eq!(steps(&done), latest_first);
    let words =
        |step: &Value| step["message"].as_str().unwrap().ends_with(", a new file, is removed.");
    let is_first_answer = done["steps"].as_array().unwrap().iter().all(words);
    assert!(is_first_answer, "nothing is done twice: {done}");
    let facts = scene.facts(&session).await;
    let kinds: Vec<_> = facts.iter().map(|fact| fact["event"]["type"].as_str().unwrap()).collect();
    let count = |kind: &str| kinds.iter().filter(|one| **one == kind).count();
    let made = ["rollback.asked", "rollback.started", "rollback.ended"].map(count);
    assert_eq!(made, [1, WRITES, WRITES], "{kinds:?}");
    let asked = kinds.iter().position(|kind| *kind == "rollback.asked").unwrap();
    let taken = kinds.iter().rposition(|kind| *kind == "owner.taken").unwrap();
    let last = kinds.iter().rposition(|kind| *kind == "rollback.ended").unwrap();
    assert!(asked < taken && taken < last, "it was in the middle: {kinds:?}");
    assert_eq!(scene.stack.stop().await, 0);
}

#[tokio::test]
async fn what_cannot_be_taken_back_or_is_not_there_is_said() {
    let scene = Scene::new(&[
        write("a.md", "one\n"),
        ("run_command", json!({"command": "echo ran > ran.txt"})),
        ("read_file", json!({"path": "a.md"})),
    ])
    .await;
    let (session, calls) = scene.run().await;
    let all = ["sessions", "rollback", &session, "--to-step", "0"];
    let refused = scene.callboard.run(&all).await.expect(1);
    assert!(refused.stdout.contains(&format!("{}  not reversible: ", calls[1])), "{refused:?}");
    assert!(scene.content("a.md").is_some(), "one that cannot be keeps the others");
    let _ = scene
        .callboard
        .run(&["sessions", "rollback", &session, "--call", &calls[0]])
        .await
        .expect(0);
    assert!(scene.content("a.md").is_none());

    for (body, status, words) in [
        (json!({"call_id": calls[2]}), 409, "this call changed nothing"),
        (
            json!({"call_id": "0190a0b0-0000-7000-8000-000000000001"}),
            404,
            "no call of this session",
        ),
        (json!({"to_step": 5}), 404, "the session has no step 5: its last one is 4"),
    ] {
        let (told, problem) = scene.roll_back(&session, "k", &body).await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(told == status && detail.contains(words), "{body}: {told} {problem}");
    }
    let (status, done) = scene.roll_back(&session, "none", &json!({"to_step": 4})).await;
    assert_eq!((status, done), (200, json!({"steps": []})));
    let nowhere = "0190a0b0-0000-7000-8000-000000000002";
    let (status, _) = scene.roll_back(nowhere, "k", &json!({"to_step": 0})).await;
    assert_eq!(status, 404);
    for (arguments, code) in [
        (vec!["sessions", "rollback", &session, "--call", &calls[2]], 1),
        (vec!["sessions", "rollback", &session, "--to-step", "9"], 2),
        (vec!["sessions", "rollback", &session], 2),
        (vec!["sessions", "rollback", &session, "--call", "x", "--to-step", "1"], 2),
    ] {
        let _ = scene.callboard.run(&arguments).await.expect(code);
    }
    assert_eq!(scene.stack.stop().await, 0);
}

#[tokio::test]
async fn a_session_that_works_takes_nothing_back() {
    let scene =
        Scene::new(&[write("a.md", "one\n"), ("run_command", json!({"command": "true"}))]).await;
    let body = json!({"input": "go", "model": "openai:scripted", "approve": ["write_file"],
        "approver": true});
    let (status, begun) = scene.post("/v1/runs", "run", &body).await;
    assert_eq!(status, 202, "{begun}");
    let session = begun["session"].as_str().unwrap();
    let url = format!("{}/v1/sessions/{session}", scene.stack.url);
    let waits = async {
        loop {
            let shown = scene.stack.client().get(&url).send().await.unwrap();
            let shown: Value = shown.json().await.unwrap();
            if shown["runs"][0]["tool_calls"][1]["status"] == "waiting" {
                return shown;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let shown = tokio::time::timeout(Duration::from_secs(20), waits).await.expect("it waits");
    for dry_run in [true, false] {
        let body = json!({"to_step": 0, "dry_run": dry_run});
        let (status, problem) = scene.roll_back(session, "back", &body).await;
        assert_eq!((status, &problem["reason"]), (409, &json!("session_busy")), "{problem}");
    }
    assert!(scene.content("a.md").is_some());
    let _ = scene.callboard.run(&["sessions", "cancel", session]).await.expect(0);
    let call = shown["runs"][0]["tool_calls"][0]["call_id"].as_str().unwrap();
    let over = async {
        loop {
            let (status, done) = scene.roll_back(session, "back", &json!({"to_step": 0})).await;
            if status == 200 {
                return done;
            }
            assert_eq!(done["reason"], "session_busy", "{done}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let done = tokio::time::timeout(Duration::from_secs(20), over).await.expect("it ends");
    assert_eq!(steps(&done), [(call, "undone")], "what nobody approved never ran");
    assert!(scene.content("a.md").is_none());
    assert_eq!(scene.stack.stop().await, 0);
}

#[tokio::test]
async fn a_service_that_is_away_is_waited_for_a_while_and_has_its_records_when_it_is_back() {
    let scene = Scene::new(&[write("a.md", "one\n")]).await;
    let (session, calls) = scene.run().await;
    let files = scene.role("files");
    send(files, Signal::STOP);
    let all = json!({"to_step": 0});
    let (status, problem) = scene.roll_back(&session, "back", &all).await;
    send(files, Signal::CONT);
    assert_eq!((status, steps(&problem)), (409, vec![(&*calls[0], "failed")]), "{problem}");
    let why = problem["steps"][0]["message"].as_str().unwrap();
    assert!(why.contains("its service did not answer"), "{problem}");
    assert!(scene.content("a.md").is_some());
    scene.kill("files").await;
    let (status, done) = scene.roll_back(&session, "back", &all).await;
    assert_eq!((status, steps(&done)), (200, vec![(&*calls[0], "undone")]), "{done}");
    assert!(scene.content("a.md").is_none());
    assert_eq!(scene.stack.stop().await, 0);
}

#[tokio::test]
async fn one_that_changes_after_the_look_ends_the_rollback_there() {
    let etcd = Etcd::start().await;
    let cluster = Cluster::start(&etcd, Postgres::shared().await, "").await;
    let _owner = cluster.orchestrator(&[]);
    cluster.settled(1).await;
    let gateway = cluster.gateway().await;
    cluster.offers_ledger(&gateway).await;
    let (session, calls) = noted_calls(&cluster, &gateway, 3).await;
    cluster.ledger.let_change(&calls[1]);
    let ask = async || {
        let url = format!("{}/v1/sessions/{session}/rollback", gateway.url);
        let request = cluster.client().post(url).header("idempotency-key", "key");
        let answer = request.json(&json!({"to_step": 0})).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let (status, problem) = ask().await;
    assert_eq!(status, 409, "{problem}");
    let expected = [(&*calls[2], "undone"), (&*calls[1], "conflict"), (&*calls[0], "skipped")];
    assert_eq!(steps(&problem), expected, "{problem}");
    let detail = "1 of 3 calls were taken back: `steps` says where it stopped, and why.";
    assert_eq!(problem["detail"], detail);
    assert_eq!(ask().await, (status, problem), "asked again, it is the first answer");
    assert_eq!(cluster.ledger.struck(), [calls[2].clone()]);
}
