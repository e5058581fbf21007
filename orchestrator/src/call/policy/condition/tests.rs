use super::*;
use crate::catalog::tool::sample;

fn read(text: &str) -> Result<Condition, String> {
    Condition::new("key", text).map_err(|error| error.to_string())
}

fn holds(text: &str, arguments: &str) -> Result<bool, String> {
    let tool = sample::descriptor("files", "look");
    let subject = Subject { team: "blue", agent: "default", tool: &tool };
    read(text).unwrap().holds(subject, &Facts::of(arguments))
}

#[test]
fn expressions_are_evaluated_as_cel_says() {
    let arguments = r#"{"path": "a/b.md", "n": 3, "big": 18446744073709551615, "f": 0.5,
        "list": ["p", "q"], "none": null, "deep": {"x": true}}"#;
    for (text, expected) in [
        (r#"args.path.startsWith("a/")"#, true),
        (r#"args.path.matches("^a/[^/]*[.]md$")"#, true),
        (r#"tool == "look" && team == "blue" && agent == "default""#, true),
        // JSON's whole numbers are ints, so that one can reckon with them.
        ("args.n + 1 == 4", true),
        ("args.big == 18446744073709551615u", true),
        ("args.f < 1", true),
        (r#"args.list.exists(word, word == "q")"#, true),
        (r#"args.list.all(word, word == "q")"#, false),
        (r#""list" in args && size(args.list) == 2"#, true),
        ("has(args.deep.x) && args.deep.x", true),
        ("has(args.missing) && args.missing > 1", false),
        ("args.none == null", true),
    ] {
        assert_eq!(holds(text, arguments), Ok(expected), "{text}");
    }
}

#[test]
fn what_gives_no_truth_is_no_answer() {
    for (text, arguments, why) in [
        ("args.path", r#"{"path": "x"}"#, "it gives a string"),
        ("args.path", "{}", "No such key: path"),
        ("args.n / args.n == 1", r#"{"n": 0}"#, "Division by zero"),
        ("args.n > 1", r#"{"n": "x"}"#, "no matching overload"),
        ("true", "no json", "expected"),
    ] {
        let error = holds(text, arguments).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn what_can_never_work_is_refused_when_it_is_read() {
    let deep = format!("{}true{}", "(".repeat(300), ")".repeat(300));
    let long = format!("true {}", "|| true ".repeat(300));
    let chain = format!("args.n == 0{}", " + 1".repeat(30));
    for (text, why) in [
        ("args.path ==", "it is no CEL expression"),
        ("arg.path == 1", "it names `arg`"),
        ("args.path.beginsWith(1)", "it calls `beginsWith`"),
        ("now() > 1", "it calls `now`"),
        (r#"args.path.matches("(")"#, "is no pattern"),
        (r#"args.path.matches("a{1000}{1000}")"#, "is no pattern"),
        ("args.path.matches(args.pattern)", "written out"),
        ("args.a.all(x, args.b.all(y, args.c.all(z, x == z)))", "inside one another"),
        (deep.as_str(), "Recursion limit"),
        (long.as_str(), "at most 2000 bytes"),
        (chain.as_str(), "more than 24 parts"),
        ("args.a.all(x, y == 1)", "it names `y`"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with("`key`: ") && error.contains(why), "{text}: {error}");
    }
}

#[test]
fn what_would_take_long_is_not_evaluated() {
    let list = format!("{{\"a\": [{}0]}}", "0,".repeat(100_000));
    let error = holds("args.a.all(x, args.a.all(y, x == y))", &list).unwrap_err();
    assert!(error.contains("too large"), "{error}");
    let short = format!("{{\"a\": [{}0]}}", "0,".repeat(20));
    assert_eq!(holds("args.a.all(x, args.a.all(y, x == y))", &short), Ok(true));
    // A thousand values, looked at once, are few.
    let list = format!("{{\"a\": [{}0]}}", "0,".repeat(1_000));
    assert_eq!(holds("args.a.all(x, x == 0)", &list), Ok(true));
}
