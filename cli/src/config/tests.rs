//! Whole configurations from several sources.

use super::*;

/// A home with a platform file, a workspace with a file of its own, and variables.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home/.config/callboard", "workspace"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn platform(self, text: &str) -> Self {
        self.write("home/.config/callboard/callboard.toml", text)
    }

    fn workspace(self, text: &str) -> Self {
        self.write("workspace/callboard.toml", text)
    }

    fn write(self, name: &str, text: &str) -> Self {
        std::fs::write(self.folder.path().join(name), text).unwrap();
        self
    }

    fn sources(&self, variables: &[(&str, &str)]) -> Sources {
        Sources {
            config: None,
            workspace: self.folder.path().join("workspace"),
            bases: Bases { home: Some(self.folder.path().join("home")), ..Bases::default() },
            variables: variables.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect(),
            flags: Vec::new(),
        }
    }
}

fn find(loaded: &Loaded, key: &str) -> Shown {
    let shown = loaded.shown();
    shown.iter().find(|shown| shown.key == key).cloned().unwrap()
}

fn refused(sources: &Sources) -> String {
    let error = load(sources).unwrap_err();
    assert_eq!(crate::exit::of(&error), crate::exit::Exit::Usage);
    error.to_string()
}

#[test]
fn nothing_set_means_the_defaults() {
    let loaded = load(&Home::new().sources(&[])).unwrap();
    assert!(loaded.shown().iter().all(|shown| shown.origin == Origin::Default));
    let steps = find(&loaded, "orchestrator.agent.max_steps");
    assert_eq!(steps.value, serde_json::json!(16));
    assert_eq!(find(&loaded, "gateway.token").value, serde_json::Value::Null);
}

#[test]
fn each_source_beats_the_one_before_and_is_named() {
    let home = Home::new()
        .platform("profile = 'development'\n[orchestrator.agent]\nmax_steps = 12\nmax_calls = 90")
        .workspace("[orchestrator.agent]\nmax_steps = 10");
    let mut sources = home.sources(&[("CALLBOARD__ORCHESTRATOR__AGENT__MAX_CALLS", "80")]);
    sources.flags.push(("--profile", &["profile"], "production".into()));
    let loaded = load(&sources).unwrap();
    let path = |name: &str| home.folder.path().join(name);
    for (key, value, origin) in [
        (
            "orchestrator.agent.max_steps",
            serde_json::json!(10),
            Origin::Workspace(path("workspace/callboard.toml")),
        ),
        (
            "orchestrator.agent.max_calls",
            serde_json::json!(80),
            Origin::Environment("CALLBOARD__ORCHESTRATOR__AGENT__MAX_CALLS".into()),
        ),
        ("profile", serde_json::json!("production"), Origin::Flag("--profile")),
        ("orchestrator.agent.max_parallel", serde_json::json!(8), Origin::Default),
    ] {
        assert_eq!(find(&loaded, key), Shown { key: key.into(), value, origin });
    }
    assert_eq!(loaded.settings.orchestrator.agent.max_steps, 10);
}

#[test]
fn an_unknown_key_is_refused_with_its_file_and_the_nearest_key() {
    let home = Home::new().platform("[gateway]\nlisen = 'x'\n[teleemtry]\nlevel = 'x'");
    let error = refused(&home.sources(&[]));
    let file = home.folder.path().join("home/.config/callboard/callboard.toml");
    let file = file.display();
    assert!(
        error.contains(&format!(
            "{file}: unknown key `gateway.lisen`; did you mean `gateway.listen`?"
        )),
        "{error}"
    );
    assert!(error.contains("`teleemtry`; did you mean `telemetry`?"), "{error}");

    let variable = Home::new().sources(&[("CALLBOARD__GATEWAY__LISEN", "x")]);
    assert!(refused(&variable).contains("environment CALLBOARD__GATEWAY__LISEN: unknown key"));
    let workspace = Home::new().workspace("[gateway]\nlisen = 'x'");
    assert!(refused(&workspace.sources(&[])).contains("did you mean `gateway.listen`?"));
}

#[test]
fn a_file_that_is_no_toml_or_of_another_type_is_named() {
    let home = Home::new().platform("profile = ");
    let error = refused(&home.sources(&[]));
    assert!(error.contains("callboard.toml is no TOML"), "{error}");
    let home = Home::new().platform("[orchestrator.agent]\nmax_steps = 'many'");
    let error = refused(&home.sources(&[]));
    assert!(error.contains("`orchestrator.agent.max_steps`: invalid type"), "{error}");
    let home = Home::new().platform("profile = 'prodction'");
    assert!(refused(&home.sources(&[])).contains("`profile`: unknown variant"));
}

#[test]
fn bounds_of_nothing_and_unknown_levels_are_refused_where_they_stand() {
    let bounds = "max_steps = 0\nmax_time_ms = 0\nmax_calls = 0\nmax_parallel = 0";
    let home = Home::new().platform(&format!("[orchestrator.agent]\n{bounds}"));
    let error = refused(&home.sources(&[]));
    for key in ["max_steps", "max_time_ms", "max_calls", "max_parallel"] {
        let told = format!("callboard.toml: `orchestrator.agent.{key}`: 0 lets no run do anything");
        assert!(error.contains(&told), "{error}");
    }
    let mut sources = Home::new().sources(&[]);
    sources.flags.push(("--log-level", &["telemetry", "level"], "[[[".into()));
    let error = refused(&sources);
    assert!(error.starts_with("--log-level: `telemetry.level`: `[[[` is neither"), "{error}");
}

#[test]
fn a_file_given_by_hand_is_used_alone() {
    let home = Home::new()
        .platform("[orchestrator.agent]\nmax_steps = 12")
        .workspace("[gateway]\nlisten = 'anything that would be refused'")
        .write("mine.toml", "[orchestrator.agent]\nmax_calls = 5");
    let mut sources = home.sources(&[]);
    sources.config = Some(home.folder.path().join("mine.toml"));
    let loaded = load(&sources).unwrap();
    assert_eq!(loaded.settings.orchestrator.agent.max_calls, 5);
    assert_eq!(loaded.settings.orchestrator.agent.max_steps, 16);
    sources.config = Some(home.folder.path().join("none.toml"));
    assert!(refused(&sources).contains("there is no such file"));
}

#[test]
fn models_that_do_not_exist_are_refused_before_anything_starts() {
    for (text, says) in [
        ("model = 'ofline'", "did you mean `offline`"),
        ("model = ['auto', 'nope:x']", "unknown model `nope:x`"),
        ("model = []", "names no model"),
        ("model = 5", "expected the name of a model or a list of names"),
    ] {
        let home = Home::new().platform(&format!("[orchestrator.agent]\n{text}"));
        let error = refused(&home.sources(&[]));
        assert!(error.contains("`orchestrator.agent.model`") && error.contains(says), "{error}");
    }
    let home = Home::new().platform("[orchestrator.agent]\nmodel = 'offline'");
    let loaded = load(&home.sources(&[])).unwrap();
    assert_eq!(loaded.settings.orchestrator.agent.model, ["offline"]);
}

#[test]
fn secrets_are_masked_wherever_they_came_from() {
    let home = Home::new();
    let loaded = load(&home.sources(&[("OPENAI_API_KEY", "sk-123456789")])).unwrap();
    let key = find(&loaded, "orchestrator.models.openai.api_key");
    assert_eq!(key.value, serde_json::json!("********"));
    assert_eq!(key.origin, Origin::Convention("OPENAI_API_KEY"));
    let agreement = serde_json::to_string(&loaded.agreement()).unwrap();
    assert!(!agreement.contains("123456789"), "{agreement}");
    assert_eq!(secrets_in(loaded.layers.table()), ["sk-123456789"]);
}

#[test]
fn what_is_handed_to_a_role_is_read_as_it_was_loaded() {
    let home = Home::new().platform("[orchestrator.agent]\nmax_steps = 12\n[gateway]\npark_ms = 7");
    let loaded = load(&home.sources(&[])).unwrap();
    let share = settings::share(loaded.layers.table(), crate::stack::order::RoleName::Gateway);
    let line = serde_json::to_string(&share).unwrap();
    let settings = handed(&serde_json::from_str(&line).unwrap()).unwrap();
    assert_eq!(settings.gateway.park_ms, 7);
    assert_eq!(settings.orchestrator.agent.max_steps, 16, "not the gateway's business");
}
