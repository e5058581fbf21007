use super::*;
use crate::catalog::Snapshot;
use crate::catalog::tool::sample;

fn tool(name: &str, description: &str, example: &str) -> Tool {
    let mut tool = sample::tool("service", name);
    let descriptor = Arc::make_mut(&mut tool.descriptor);
    descriptor.description = description.to_owned();
    descriptor.examples = vec![(example.to_owned(), "{}".to_owned())];
    tool
}

/// Five tools that people know, and twenty that nobody asks for.
fn catalog() -> Snapshot {
    let mut tools = vec![
        tool("compute", "Evaluates arithmetic. 计算数学表达式。", "What is 12 * 7?"),
        tool("open_text", "Reads a text file of the workspace. 读取文件内容。", "Show me notes.md"),
        tool(
            "list_folder",
            "Lists the entries of a folder. 列出目录。",
            "Which is the newest file?",
        ),
        tool(
            "seek_text",
            "Searches text in all files. 搜索文本。",
            "Where is 'fencing' mentioned?",
        ),
        tool("run_line", "Runs a shell command. 运行命令。", "Run: uname -s"),
    ];
    tools.extend(
        (0..20).map(|n| tool(&format!("zz_{n:02}"), "Nothing that anybody wants.", "Never")),
    );
    Snapshot::of(tools)
}

fn names(tools: &[Arc<Tool>]) -> Vec<&str> {
    tools.iter().map(|tool| tool.descriptor.name.as_str()).collect()
}

#[test]
fn a_small_catalog_is_offered_whole_and_nothing_is_there_to_find() {
    let small = Snapshot::of([tool("b", "B.", "b"), tool("a", "A.", "a")]);
    assert_eq!(names(&small.select("team", "anything", &[], 16)), ["a", "b", "read_artifact"]);
    let used = ["find_tools".to_owned()];
    assert_eq!(
        names(&small.select("team", "anything", &used, 16)),
        ["a", "b", "find_tools", "read_artifact"]
    );
}

#[test]
fn the_best_matches_of_a_large_catalog_are_offered_in_the_order_of_their_names() {
    let catalog = catalog();
    for (task, wanted) in [
        ("What is (12000 * 0.045) / 12? Evaluate the arithmetic.", "compute"),
        ("帮我计算一下表达式", "compute"),
        ("Please read the file notes.md", "open_text"),
        ("读取文件", "open_text"),
        ("search for the text 'epoch'", "seek_text"),
        ("搜索文本", "seek_text"),
        ("run the shell command ls", "run_line"),
    ] {
        let offered = catalog.select("team", task, &[], 4);
        assert_eq!(offered.len(), 4);
        let names = names(&offered);
        assert!(names.contains(&wanted), "{task}: {names:?}");
        assert!(names.contains(&"find_tools"), "{task}: {names:?}");
        assert!(names.is_sorted(), "{names:?}");
    }
}

#[test]
fn tools_used_in_the_run_stay_before_the_best_matches() {
    let catalog = catalog();
    let used: Vec<String> = ["zz_03", "zz_17", "no_such_tool"].map(String::from).to_vec();
    let offered = catalog.select("team", "read the file", &used, 5);
    let names = names(&offered);
    assert!(names.contains(&"zz_03") && names.contains(&"zz_17"), "{names:?}");
    assert!(names.contains(&"open_text"), "{names:?}");
    assert_eq!(names.len(), 5);
    // More were used than fit: the latest ones stay.
    let used: Vec<String> = (0..20).map(|n| format!("zz_{n:02}")).collect();
    let offered = catalog.select("team", "read the file", &used, 6);
    assert_eq!(
        self::names(&offered),
        ["find_tools", "read_artifact", "zz_16", "zz_17", "zz_18", "zz_19"]
    );
}

#[test]
fn a_task_without_a_known_word_still_gets_tools() {
    let offered = catalog().select("team", "qwertz", &[], 16);
    assert_eq!(offered.len(), 16);
    assert_eq!(catalog().select("team", "", &[], 0).len(), 0);
}

#[test]
fn the_choice_is_the_same_each_time() {
    let first = catalog().select("team", "list the folder", &[], 7);
    for _ in 0..5 {
        assert_eq!(names(&catalog().select("team", "list the folder", &[], 7)), names(&first));
    }
}

#[test]
fn what_a_tool_is_not_for_attracts_nobody() {
    let tools = Snapshot::of([
        tool(
            "compute",
            "Evaluates arithmetic.\nNot for: reading files.\nAsked for as: sum",
            "12 * 7",
        ),
        tool("save_text", "Writes a file. Not for reading. Creates folders.", "Save it"),
        tool("open_text", "Reads a file.", "Show it"),
    ]);
    let found = |query: &str| names(&tools.search("team", query, 8)).join(" ");
    assert_eq!(found("reading"), "");
    assert_eq!(found("reads"), "open_text");
    assert_eq!(found("folder"), "save_text", "what follows counts again");
    assert_eq!(found("sum"), "compute");
}

#[test]
fn a_search_gives_only_what_matches_and_nothing_of_our_own() {
    let catalog = catalog();
    let found = catalog.search("team", "find tools that read a file", 8);
    assert_eq!(names(&found)[0], "open_text");
    assert!(names(&found).iter().all(|name| !name.starts_with("zz_") && *name != "find_tools"));
    assert!(catalog.search("team", "qwertz", 8).is_empty());
    assert!(catalog.search("another", "read a file", 8).is_empty(), "another team's tools");
}
