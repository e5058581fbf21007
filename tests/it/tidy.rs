//! Rules of the code base that no compiler checks.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Lines that a source file may have.
const MAX_LINES: usize = 400;

/// Names that say nothing about what is in a file.
const EMPTY_NAMES: [&str; 6] = ["utils", "helpers", "common", "types", "manager", "misc"];

/// Tool names that the orchestrator must not know.
const TOOLS: [&str; 9] = [
    "calculate",
    "read_file",
    "list_dir",
    "find_files",
    "write_file",
    "edit_file",
    "search_text",
    "run_command",
    "callboard-shell",
];

/// What each crate may use of ours: arrows point one way.
const EDGES: [(&str, &[&str]); 10] = [
    ("proto", &[]),
    ("discovery", &["callboard-proto"]),
    ("telemetry", &["callboard-proto"]),
    ("orchestrator", &["callboard-proto", "callboard-discovery", "callboard-telemetry"]),
    ("gateway", &["callboard-proto", "callboard-discovery", "callboard-telemetry"]),
    ("tool-services/kit", &["callboard-proto", "callboard-discovery", "callboard-telemetry"]),
    ("tool-services/calculator", &["callboard-tool"]),
    ("tool-services/files", &["callboard-tool"]),
    ("tool-services/search", &["callboard-tool", "callboard-files"]),
    ("tool-services/shell", &["callboard-tool", "callboard-files"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// All Rust files that are ours, by path from the root.
fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(root()).unwrap().display().to_string();
                found.insert(relative, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(found.len() > 100, "the walk found the sources");
    found
}

fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// The code of a file above its `mod tests`.
fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod tests {").map_or(text, |at| &text[..at])
}

fn report(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

#[test]
fn files_are_short() {
    let broken: Vec<_> = sources()
        .iter()
        .filter(|(path, _)| !is_test(path))
        .map(|(path, text)| (path, without_tests(text).lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(path, lines)| format!("{path}: {lines} lines"))
        .collect();
    report("no file has more than 400 lines", &broken);
}

#[test]
fn files_say_what_they_are_for() {
    let broken: Vec<_> = sources()
        .iter()
        .filter(|(path, text)| !is_test(path) && !text.starts_with("//! "))
        .map(|(path, _)| path.clone())
        .collect();
    report("every file opens with `//!`", &broken);
}

#[test]
fn documents_hold_no_half_of_a_merge() {
    let marks = ["<<<<<<< ", ">>>>>>> "];
    let mut broken = Vec::new();
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        let marked = text.lines().filter(|line| marks.iter().any(|mark| line.starts_with(mark)));
        broken.extend(marked.map(|line| format!("{name}: {line}")));
    }
    report("a merge was not finished", &broken);
}

#[test]
fn files_have_names_that_say_something() {
    let broken: Vec<_> = sources()
        .keys()
        .filter(|path| {
            let stem = Path::new(path).file_stem().unwrap().to_string_lossy().into_owned();
            EMPTY_NAMES.contains(&stem.as_str()) || stem == "mod"
        })
        .cloned()
        .collect();
    report("no file is called utils, helpers, common, types, manager, misc or mod", &broken);
}

#[test]
fn the_fold_is_pure() {
    let forbidden = [
        "tokio",
        "tonic",
        "std::time",
        "SystemTime",
        "Instant",
        "fastrand",
        "uuid::",
        "std::fs",
        "std::env",
        "std::net",
        "reqwest",
        "tracing",
        "async ",
    ];
    let broken: Vec<_> = sources()
        .iter()
        .filter(|(path, _)| {
            (path.starts_with("orchestrator/src/run/") || *path == "orchestrator/src/run.rs")
                && !is_test(path)
        })
        .flat_map(|(path, text)| {
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            code.filter(|line| forbidden.iter().any(|word| line.contains(word)))
                .map(|line| format!("{path}: {}", line.trim()))
                .collect::<Vec<_>>()
        })
        .collect();
    report("run/ uses no clock, randomness, runtime or I/O", &broken);
}

#[test]
fn the_orchestrator_knows_no_tool_by_name() {
    let may = |path: &str| {
        path.starts_with("orchestrator/src/model/offline")
            || path.starts_with("orchestrator/src/call/builtin")
    };
    let broken: Vec<_> = sources()
        .iter()
        .filter(|(path, _)| path.starts_with("orchestrator/src/") && !may(path) && !is_test(path))
        .flat_map(|(path, text)| {
            let code = without_tests(text);
            TOOLS
                .iter()
                .filter(|tool| code.contains(*tool))
                .map(|tool| format!("{path}: {tool}"))
                .collect::<Vec<_>>()
        })
        .collect();
    report("no tool name outside model/offline and call/builtin", &broken);
}

#[test]
fn arrows_between_crates_point_one_way() {
    let mut broken = Vec::new();
    for (folder, allowed) in EDGES {
        let manifest = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap();
        for line in dependencies.lines().filter(|line| line.starts_with("callboard-")) {
            let name = line.split(['.', ' ', '=']).next().unwrap();
            if !allowed.contains(&name) {
                broken.push(format!("{folder} uses {name}"));
            }
        }
    }
    report("a crate uses only what is below it", &broken);
}

#[test]
fn the_planner_holds_no_answer() {
    // The figures of the README's examples: a planner that knew them would need no tool.
    let known = ["7,591", "7591", "4242", "README.md", "CHANGELOG.md", "meetings", "uname"];
    let broken: Vec<_> = sources()
        .iter()
        .filter(|(path, _)| path.starts_with("orchestrator/src/model/offline") && !is_test(path))
        .flat_map(|(path, text)| {
            let code = without_tests(text);
            known
                .iter()
                .filter(|word| code.contains(*word))
                .map(|word| format!("{path}: {word}"))
                .collect::<Vec<_>>()
        })
        .collect();
    report("the offline planner knows no test's prompt, file or number", &broken);
}
