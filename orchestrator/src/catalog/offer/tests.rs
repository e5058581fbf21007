use callboard_proto::tool::{self as wire, Example};

use super::*;
use crate::call::testing::{tool, tools};
use crate::run::event::Class;

fn key() -> Key {
    Key { team: "blue".to_owned(), service: "service".to_owned(), digest: "d1".to_owned() }
}

fn response(tools: Vec<ToolDescriptor>) -> DescribeResponse {
    DescribeResponse {
        service: "service".to_owned(),
        version: "1.2.3".to_owned(),
        tools,
        digest: "d1".to_owned(),
    }
}

#[test]
fn an_offer_is_read_as_it_was_meant() {
    let mut run = tool("run", false, false);
    run.effects = vec![wire::Effect::Execute.into(), wire::Effect::Write.into(), 99, 0];
    run.removable_effects = vec![wire::Effect::Write.into(), wire::Effect::Network.into()];
    run.affinity = wire::Affinity::Session.into();
    run.preflight = wire::PreflightMode::Unspecified.into();
    run.reversible = true;
    run.default_timeout_ms = 0;
    let mut all = tools();
    all.push(run);
    let offer = check(&key(), response(all), true).unwrap();
    assert!(offer.tools.iter().all(|tool| tool.withheld.is_empty()), "{offer:?}");
    let classes: Vec<Class> = offer.tools.iter().map(|tool| tool.descriptor.class()).collect();
    assert_eq!(classes, [Class::Read, Class::Idempotent, Class::Write, Class::Write]);
    let run = &offer.tools[3].descriptor;
    assert_eq!(run.effects, [Effect::Write, Effect::Execute]);
    assert_eq!(run.removable_effects, [Effect::Write], "what it does not have it cannot lose");
    assert!(run.is_session_bound && run.is_reversible);
    assert!(run.has_preflight, "a tool that does not say is asked");
    assert_eq!(run.timeout, None);
    assert_eq!(offer.tools[0].descriptor.timeout, Some(Duration::from_secs(15)));
    assert_eq!(offer.tools[0].descriptor.version, "1.2.3");
    let mut digests: Vec<&str> =
        offer.tools.iter().map(|tool| tool.descriptor.digest.as_str()).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 4);
}

#[test]
fn promises_that_are_missing_or_not_believed_are_read_the_careful_way() {
    let mut bare = tool("bare", true, true);
    bare.annotations = None;
    let offer = check(&key(), response(vec![bare]), true).unwrap();
    let said = offer.tools[0].descriptor.annotations;
    assert!(!said.read_only && said.destructive && !said.idempotent && said.open_world);
    let offer = check(&key(), response(tools()), false).unwrap();
    let classes: Vec<Class> = offer.tools.iter().map(|tool| tool.descriptor.class()).collect();
    assert_eq!(classes, [Class::Write; 3]);
}

#[test]
fn one_bad_tool_is_withheld_alone_and_says_why() {
    let with = |change: fn(&mut ToolDescriptor)| {
        let mut bad = tool("bad", true, true);
        change(&mut bad);
        bad
    };
    let rows: Vec<(ToolDescriptor, &str)> = vec![
        (with(|t| t.name = "Bad Name".into()), "its name must be"),
        (with(|t| t.name = String::new()), "its name must be"),
        (with(|t| t.name = "x".repeat(65)), "its name must be"),
        (with(|t| t.name = "good".into()), "the same name twice"),
        (with(|t| t.description = " ".into()), "what it is for"),
        (with(|t| t.description = "x".repeat(5_000)), "5000 bytes, 4096"),
        (with(|t| t.examples.clear()), "no example"),
        (
            with(|t| {
                t.examples = vec![Example { request: "x".repeat(5_000), arguments: "{}".into() }];
            }),
            "an example has",
        ),
        (with(|t| t.input_schema = "{".into()), "no JSON"),
        (with(|t| t.input_schema = r#"{"$ref":"http://127.0.0.1/"}"#.into()), "leads out of"),
        (with(|t| t.input_schema = "x".repeat(70_000)), "bytes"),
        (with(|t| t.output_schema = r##"{"$ref":"#"}"##.into()), "its output: the schema at"),
    ];
    for (bad, fault) in rows {
        let offer = check(&key(), response(vec![tool("good", true, true), bad]), true).unwrap();
        assert_eq!(offer.tools[0].withheld, "");
        assert!(offer.tools[1].withheld.contains(fault), "{}", offer.tools[1].withheld);
    }
}

#[test]
fn a_service_that_is_not_what_it_registered_offers_nothing() {
    let other = DescribeResponse { service: "else\u{202e}".to_owned(), ..response(tools()) };
    let said = check(&key(), other, true).unwrap_err().to_string();
    assert_eq!(said, "it registered as `service` and calls itself `else`");
    let other = DescribeResponse { digest: "d2".to_owned(), ..response(tools()) };
    assert!(matches!(check(&key(), other, true), Err(Problem::OtherDigest { .. })));
    let many = (0..257).map(|n| tool(&format!("t{n}"), true, true)).collect();
    assert_eq!(check(&key(), response(many), true).unwrap_err(), Problem::TooMany(257));
}

#[test]
fn what_hides_in_a_description_is_taken_out() {
    let mut sly = tool("sly", true, true);
    sly.description = "Reads.\u{200b}\u{e0041}\u{7} Not for writing.".to_owned();
    let offer = check(&key(), response(vec![sly]), true).unwrap();
    assert_eq!(offer.tools[0].descriptor.description, "Reads. Not for writing.");
}
