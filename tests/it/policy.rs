//! Rules: listed, tried out, checked, and changed while a stack runs.

use std::{path::PathBuf, time::Duration};

use callboard_tests::{Callboard, Cluster, Etcd, Postgres, within};
use serde_json::{Value, json};

/// Longest that a test waits for something that must come.
const SOON: Duration = Duration::from_secs(30);

/// A rule about drafts, and one that blocks what is private.
const RULES: &str = r#"
[[orchestrator.policy.rules]]
name = "drafts"
tool = "write_file"
condition = 'args.path.startsWith("drafts/")'
verdict = "allow"

[[orchestrator.policy.rules]]
name = "private"
effect = "read"
condition = 'has(args.path) && args.path.startsWith("private/")'
verdict = "block"
reason = "nobody reads what is private"
"#;

/// An installation whose own configuration holds rules.
fn with_rules(rules: &str) -> (Callboard, PathBuf) {
    let callboard = Callboard::new();
    let file = callboard.home().join("callboard.toml");
    std::fs::write(&file, rules).unwrap();
    (callboard, file)
}

/// What the rules say, and by which rule.
async fn verdict(
    callboard: &Callboard,
    config: &str,
    tool: &str,
    args: &Value,
) -> (String, String) {
    let args = args.to_string();
    let line = ["--config", config, "policy", "test", "--json", "--tool", tool, "--args", &args];
    let said = callboard.run(&line).await;
    assert!([0, 3].contains(&said.code), "{said:?}");
    let said = said.json();
    let text = |key: &str| said[key].as_str().unwrap().to_owned();
    (text("verdict"), text("rule"))
}

#[tokio::test]
async fn rules_are_tried_out_without_a_call() {
    let (callboard, file) = with_rules(RULES);
    let config = file.display().to_string();
    for (tool, args, expected) in [
        ("write_file", json!({"path": "drafts/a.md", "content": ""}), ("allow", "drafts")),
        ("write_file", json!({"path": "a.md", "content": ""}), ("ask", "default: development")),
        ("read_file", json!({"path": "private/a.md"}), ("block", "private")),
        ("read_file", json!({"path": "a.md"}), ("allow", "default: read-only")),
    ] {
        let said = verdict(&callboard, &config, tool, &args).await;
        assert_eq!((said.0.as_str(), said.1.as_str()), expected, "{tool} {args}");
    }
    assert!(!callboard.workspace().join("drafts").exists(), "nothing was written");
    // What could not be called is said as a call would.
    let line = ["--config", &config, "policy", "test", "--tool", "read_fil"];
    let unknown = callboard.run(&line).await.expect(2);
    assert!(unknown.stderr.contains("`read_file`"), "{unknown:?}");
    let line =
        ["--config", &config, "policy", "test", "--tool", "read_file", "--args", "{\"p\": 1}"];
    let misfit = callboard.run(&line).await.expect(2);
    assert!(misfit.stderr.contains("/path"), "{misfit:?}");
    callboard.nothing_is_left().await;
}

/// The newest session as a person is shown it.
async fn shown(callboard: &Callboard, config: &str) -> String {
    let listed = callboard.run(&["--config", config, "sessions", "list", "--json"]).await;
    let listed = listed.expect(0).json();
    let id = listed[0]["id"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned();
    callboard.run(&["--config", config, "sessions", "show", &id]).await.expect(0).stdout
}

#[tokio::test]
async fn a_condition_decides_what_runs() {
    let (callboard, file) = with_rules(RULES);
    callboard.file("private/a.md", "secret plan\n");
    let config = file.display().to_string();
    let call = |path: &str| json!({"path": path, "content": "x\n"}).to_string();
    let (inside, outside) = (call("drafts/a.md"), call("a.md"));
    let line = |args| ["--config", &config, "tools", "call", "write_file", "--args", args];
    let _ = callboard.run(&line(&inside)).await.expect(0);
    assert_eq!(std::fs::read_to_string(callboard.workspace().join("drafts/a.md")).unwrap(), "x\n");
    let shown = shown(&callboard, &config).await;
    let said = "ok · ask by preflight, answered by rule drafts · 1 attempt · files-";
    assert!(shown.contains(said), "{shown}");
    let _ = callboard.run(&line(&outside)).await.expect(3);
    let shown = self::shown(&callboard, &config).await;
    let said = "denied · ask by default: development, answered by nobody · 0 attempts";
    assert!(shown.contains(said), "{shown}");
    let line = ["--config", &config, "ask", "Read private/a.md"];
    let asked = callboard.run(&line).await;
    assert!(asked.code != 0 && !asked.stdout.contains("secret plan"), "{asked:?}");
    assert!(asked.stderr.contains("private") || asked.stdout.contains("private"), "{asked:?}");
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn rules_are_changed_while_a_stack_runs_and_wrong_ones_do_not_count() {
    let (callboard, file) = with_rules(RULES);
    let config = file.display().to_string();
    let stack = callboard.up(&["--config", &config]).await;
    let standing = async || {
        let asked = stack.client().get(format!("{}/v1/policy", stack.url)).send().await.unwrap();
        asked.json::<Value>().await.unwrap()
    };
    let until = async |what: &str, holds: &dyn Fn(&Value) -> bool| {
        let deadline = std::time::Instant::now() + SOON;
        loop {
            let listed = standing().await;
            if holds(&listed) {
                return listed;
            }
            assert!(std::time::Instant::now() < deadline, "{what}: {listed}");
        }
    };
    let drafts = json!({"path": "drafts/a.md", "content": ""});
    let said = verdict(&callboard, &config, "write_file", &drafts).await;
    assert_eq!(said, ("allow".into(), "drafts".into()));

    std::fs::write(&file, RULES.replace("\"allow\"", "\"block\"")).unwrap();
    until("the rule blocks", &|listed| listed["rules"][0]["verdict"] == "block").await;
    // A client with the new file is one of this stack still.
    let said = verdict(&callboard, &config, "write_file", &drafts).await;
    assert_eq!(said, ("block".into(), "drafts".into()));

    std::fs::write(&file, RULES.replace("startsWith", "beginsWith")).unwrap();
    let listed = until("it is refused", &|listed| listed["refused"] != "").await;
    assert_eq!(listed["rules"][0]["verdict"], "block", "what stood stands");
    let refused = listed["refused"].as_str().unwrap();
    assert!(refused.contains("rules[0].condition") && refused.contains("beginsWith"), "{refused}");

    std::fs::write(&file, "").unwrap();
    let listed = until("they are gone", &|listed| listed["rules"] == json!([])).await;
    assert_eq!(listed["refused"], "");
    // What stood last stands after a restart of the orchestrator.
    std::fs::write(&file, RULES).unwrap();
    until("they are back", &|listed| listed["rules"].as_array().unwrap().len() == 2).await;
    let orchestrator = callboard_tests::role_of(callboard.home(), "orchestrator").unwrap();
    callboard_tests::send(orchestrator, rustix::process::Signal::KILL);
    within(SOON, "another orchestrator", || {
        callboard_tests::role_of(callboard.home(), "orchestrator")
            .filter(|pid| *pid != orchestrator)
    })
    .await;
    let listed = standing().await;
    assert_eq!(listed["rules"].as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(stack.stop().await, 0);
    callboard.nothing_is_left().await;
}

#[tokio::test]
async fn a_file_of_rules_is_checked_without_a_stack() {
    let odd = format!(
        "{RULES}\n[[orchestrator.policy.rules]]\nname = \"old\"\ntool = \"run_command\"\n\
         verdict = \"allow\"\nexpires = \"2020-01-01\"\n"
    );
    let (callboard, file) = with_rules(&odd);
    let file = file.display().to_string();
    let checked = callboard.run(&["policy", "check", &file]).await.expect(0);
    assert!(checked.stdout.contains("3 rules, all can be read, one of them is odd"), "{checked:?}");
    assert!(checked.stderr.contains("old: it ended at 2020-01-02T00:00:00Z"), "{checked:?}");
    for (rules, why) in [
        ("[[orchestrator.policy.rules]]\ntool = \"x\"\n", "verdict"),
        ("[[orchestrator.policy.rules]]\nverdict = \"allow\"\ntol = \"x\"\n", "tool"),
        ("[[orchestrator.policy.rules]]\nverdict = \"alow\"\n", "allow"),
        ("[[orchestrator.policy.rules]]\nverdict = \"ask\"\nexpires = \"soon\"\n", "2027-01-31"),
        ("[[orchestrator.policy.rules]]\nverdict = \"ask\"\ncondition = \"args.\"\n", "condition"),
        ("[[orchestrator.policy.rules]]\nverdict = \"ask\"\ntool = \"[\"\n", "rules[0].tool"),
    ] {
        std::fs::write(&file, rules).unwrap();
        let refused = callboard.run(&["policy", "check", &file]).await.expect(2);
        assert!(refused.stderr.contains(why), "{rules}: {refused:?}");
        assert!(refused.stderr.contains("callboard.toml"), "{rules}: {refused:?}");
        // And no stack starts with it.
        let _ = callboard.run(&["--config", &file, "ask", "1 + 1"]).await.expect(2);
    }
}

#[tokio::test]
async fn an_orchestrator_of_a_cluster_reads_its_rules_again() {
    let (etcd, postgres) = (Etcd::start().await, Postgres::shared().await);
    let cluster = Cluster::start(&etcd, postgres, "").await;
    let _member = cluster.orchestrator(&[]);
    cluster.settled(1).await;
    let gateway = cluster.gateway().await;
    let file = cluster.config();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}\n{RULES}")).unwrap();
    let deadline = std::time::Instant::now() + SOON;
    loop {
        let url = format!("{}/v1/policy", gateway.url);
        let listed: Value = cluster.client().get(url).send().await.unwrap().json().await.unwrap();
        if listed["rules"][1]["name"] == "private" {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{listed}");
    }
}
