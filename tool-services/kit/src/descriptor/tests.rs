use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

use super::*;
use crate::{Call, Cost, Example, Failure, Output, Tool};

/// How to look.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema and its parsing are used")]
struct Args {
    /// What to look for.
    pattern: String,
    /// How many to show; 10 by default.
    #[serde(default = "ten")]
    limit: u32,
}

fn ten() -> u32 {
    10
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Lax {
    #[serde(rename = "pattern")]
    _pattern: Option<String>,
}

#[derive(JsonSchema)]
struct Found {
    #[expect(dead_code, reason = "only its schema is used")]
    lines: Vec<u32>,
}

struct Described<A>(About, std::marker::PhantomData<fn() -> A>);

impl<A: serde::de::DeserializeOwned + JsonSchema + Send + Sync + 'static> Tool for Described<A> {
    type Args = A;

    fn about(&self) -> About {
        self.0.clone()
    }

    async fn invoke(&self, _: A, _: &Call) -> Result<Output, Failure> {
        Ok(Output::default())
    }
}

fn about() -> About {
    let example = Example::new("Where is fencing said?", r#"{"pattern":"fencing"}"#);
    About::new("search_text", "Looks for text.", "Reading a file.", example).words("grep, 搜索")
}

fn with<A>(about: About) -> Service
where
    A: serde::de::DeserializeOwned + JsonSchema + Send + Sync + 'static,
{
    Service::new("search", "0.1.0").tool(Described::<A>(about, std::marker::PhantomData))
}

#[test]
fn a_tool_is_described_as_it_says() {
    let about = about()
        .example(Example::new("Show three.", r#"{"pattern":"x","limit":3}"#))
        .read_only()
        .open_world()
        .effects(&[Effect::Read, Effect::Network])
        .removable(&[Effect::Network])
        .asks()
        .affinity_session()
        .result_chars(16_000)
        .calls_per_minute(5)
        .timeout(Duration::from_millis(1500))
        .cost(Cost::Moderate)
        .output::<Found>();
    let described = with::<Args>(about).describe().unwrap();
    let tool = &described.tools[0];
    assert_eq!(
        tool.description,
        "Looks for text.\nNot for: Reading a file.\nAsked for as: grep, 搜索"
    );
    let schema: Value = serde_json::from_str(&tool.input_schema).unwrap();
    let expected = json!({
        "type": "object",
        "properties": {
            "pattern": {"description": "What to look for.", "type": "string"},
            "limit": {
                "description": "How many to show; 10 by default.",
                "type": "integer", "format": "uint32", "minimum": 0, "default": 10,
            },
        },
        "additionalProperties": false,
        "required": ["pattern"],
    });
    assert_eq!(schema, expected);
    let output: Value = serde_json::from_str(&tool.output_schema).unwrap();
    assert_eq!(output["properties"]["lines"]["type"], "array");
    let annotations = tool.annotations.unwrap();
    assert_eq!(
        (
            annotations.read_only,
            annotations.destructive,
            annotations.idempotent,
            annotations.open_world
        ),
        (true, false, true, true)
    );
    assert_eq!(tool.affinity(), wire::Affinity::Session);
    assert_eq!(tool.preflight(), wire::PreflightMode::Arguments);
    assert_eq!((tool.default_timeout_ms, tool.cost()), (1500, wire::CostClass::Moderate));
    assert_eq!(tool.result_chars, 16_000);
    assert_eq!(tool.calls_per_minute, 5);
    assert_eq!(tool.effects, [1, 4]);
    assert_eq!(tool.removable_effects, [4]);
    assert_eq!(tool.examples.len(), 2);
}

#[test]
fn unsaid_behaviour_is_the_careful_reading() {
    let described = with::<Args>(about()).describe().unwrap();
    let annotations = described.tools[0].annotations.unwrap();
    assert_eq!(
        (annotations.read_only, annotations.destructive, annotations.idempotent),
        (false, true, false)
    );
    assert!(!described.tools[0].reversible);
}

#[test]
fn the_digest_changes_with_what_is_said_and_with_nothing_else() {
    let first = with::<Args>(about()).describe().unwrap();
    let same = with::<Args>(about()).describe().unwrap();
    let other = with::<Args>(about().read_only()).describe().unwrap();
    assert_eq!(first.digest, same.digest);
    assert_ne!(first.digest, other.digest);
    assert!(first.digest.len() == 64 && first.digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn a_badly_described_tool_is_refused_with_what_is_wrong() {
    let refused = |about| with::<Args>(about).describe().unwrap_err().to_string();
    let named = |name: &str| {
        About::new(name, "Looks.", "Reading.", Example::new("Look.", r#"{"pattern":"x"}"#))
            .words("look")
    };
    for (name, shown) in [("", "\"\""), ("Search", "\"Search\""), ("a b", "\"a b\"")] {
        let expected = format!("{shown} is no name: use 1 to 64 of a-z, 0-9, '_', '.' and '-'");
        assert_eq!(refused(named(name)), expected);
    }
    assert!(refused(named(&"x".repeat(65))).contains("is no name"));
    assert!(with::<Args>(named(&"x".repeat(64))).describe().is_ok());

    let example = || Example::new("Look.", r#"{"pattern":"x"}"#);
    for (about, expected) in [
        (About::new("t", " ", "x", example()).words("w"), "tool t: does not say what it is for"),
        (About::new("t", "x", "", example()).words("w"), "tool t: does not say what it is not for"),
        (
            About::new("t", "x", "x", example()),
            "tool t: lacks the words that people use for it: add About::words",
        ),
        (
            named("t").words("x".repeat(4096)),
            "tool t: the description has 4135 bytes, the limit is 4096",
        ),
        (
            named("t").words("a\u{200b}b"),
            "tool t: the description holds the invisible character '\\u{200b}'",
        ),
        (named("t").read_only().effects(&[Effect::Write]), "tool t: cannot be read-only and write"),
        (
            named("t").read_only().reversible(),
            "tool t: is read-only: there is nothing to destroy or to take back",
        ),
        (
            named("t").removable(&[Effect::Network]),
            "tool t: can do without `network` but does not have it",
        ),
        (
            named("t").result_chars(16_001),
            "tool t: wants to show 16001 characters of a result, the limit is 16000",
        ),
        (named("t").timeout(Duration::ZERO), "tool t: the timeout must be 1 ms to 49 days"),
        (
            named("t").example(Example::new("Look twice.", r#"{"pattern":1}"#)),
            "tool t: the arguments of the example \"Look twice.\" do not fit: \
             /pattern invalid type: integer `1`, expected a string",
        ),
        (
            named("t").example(Example::new("", r#"{"pattern":"x"}"#)),
            "tool t: an example has no request",
        ),
    ] {
        assert_eq!(refused(about), expected);
    }
}

#[test]
fn arguments_must_be_a_struct_that_refuses_unknown_keys() {
    let error = with::<Lax>(about()).describe().unwrap_err().to_string();
    assert_eq!(
        error,
        "tool search_text: the arguments must refuse unknown keys: \
         add #[serde(deny_unknown_fields)] to the struct"
    );
    let error = with::<Vec<String>>(about()).describe().unwrap_err().to_string();
    assert_eq!(error, "tool search_text: the arguments must be a struct");
}

#[test]
fn a_service_has_a_name_a_version_and_tools_of_different_names() {
    let service = |name: &str, version: &str| {
        let tool = Described::<Args>(about(), std::marker::PhantomData);
        Service::new(name, version).tool(tool)
    };
    assert!(service("s", "1.0.0-rc.1+7").describe().is_ok());
    assert!(matches!(service("S", "1.0.0").describe(), Err(DescriptorError::Name { .. })));
    for version in ["", "1", "1.0", "1.0.x", "v1.0.0", "1..0"] {
        let error = service("s", version).describe().unwrap_err();
        assert!(matches!(error, DescriptorError::Version { .. }), "{version}");
    }
    let none = Service::new("s", "1.0.0").describe().unwrap_err();
    assert_eq!(none, DescriptorError::NoTools { service: "s".to_owned() });
    let twice = service("s", "1.0.0").tool(Described::<Args>(about(), std::marker::PhantomData));
    let duplicate = DescriptorError::Duplicate { tool: "search_text".to_owned() };
    assert_eq!(twice.describe().unwrap_err(), duplicate);
}
