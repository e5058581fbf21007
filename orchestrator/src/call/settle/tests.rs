use proptest::prelude::*;

use super::*;
use crate::call::testing::{CALL, Kept, TEAM, context};
use crate::run::event::Violation;

fn settler(config: &Config) -> (Settler, Arc<Kept>) {
    let kept = Arc::new(Kept::default());
    let artifacts = Arc::clone(&kept) as Arc<dyn Artifacts>;
    (Settler::new(config, artifacts, 7).unwrap(), kept)
}

async fn settled_with(
    config: &Config,
    ending: Ending,
    of: (&str, bool, u32),
) -> (CallSettled, Vec<String>) {
    let (settler, kept) = settler(config);
    let (tool, is_open_world, attempts) = of;
    let planned =
        CallPlanned { call_id: CALL.into(), tool: tool.to_owned(), ..CallPlanned::default() };
    let session = context().session;
    let settling = Settling {
        checks: &[],
        planned: &planned,
        team: TEAM,
        session: &session,
        result_chars: (tool == "paged").then_some(9_000),
        is_open_world,
        attempts,
        took: Duration::from_millis(1_234),
    };
    let settled = settler.settle(ending, settling).await;
    let all = kept.all.lock().unwrap();
    let kept = all.values().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).collect();
    (settled, kept)
}

async fn settled(ending: Ending) -> (CallSettled, Vec<String>) {
    settled_with(&Config::default(), ending, ("look", false, 1)).await
}

fn done(content: &str) -> Ending {
    Ending::Done(Output::text(content))
}

#[tokio::test]
async fn a_small_result_is_told_as_it_is() {
    let output = Output {
        structured: r#"{"value":4242}"#.to_owned(),
        undo_token: "undo".to_owned(),
        diagnostics: vec!["unused import".to_owned()],
        ..Output::text("4242")
    };
    let (settled, kept) = settled(Ending::Done(output)).await;
    assert_eq!(
        settled,
        CallSettled {
            call_id: CALL.into(),
            status: CallStatus::Ok,
            content: "4242\nunused import".to_owned(),
            structured: r#"{"value":4242}"#.to_owned(),
            failure: None,
            artifact: String::new(),
            undo_token: "undo".to_owned(),
            duration_ms: 1_234,
            untrusted: false,
            waited_ms: 0,
        }
    );
    assert_eq!(kept, Vec::<String>::new());
}

#[tokio::test]
async fn a_large_result_is_cut_kept_whole_and_says_how_to_read_on() {
    // 3 bytes each: the offset counts bytes, the limit characters.
    let whole = format!("{}{}", "漢".repeat(2_000), "字\n".repeat(300));
    let (settled, kept) = settled(done(&whole)).await;
    let (shown, rest) = settled.content.split_once('\n').unwrap();
    assert_eq!(shown, "漢".repeat(2_000));
    assert_eq!(
        rest,
        "[Shown: the first 2,000 of 2,600 characters, 1 of 300 lines. The call succeeded; do not \
         repeat it. Read on with read_artifact {\"id\": \"artifact1\", \"offset\": 6000}.]"
    );
    assert_eq!(settled.artifact, "artifact1");
    assert_eq!(kept, [whole]);
}

#[tokio::test]
async fn limits_differ_by_tool_and_the_longest_glob_counts() {
    let config = Config {
        result_limits: [("l*".to_owned(), 5), ("look".to_owned(), 7)].into(),
        ..Config::default()
    };
    for (tool, shown) in [
        ("look", 7),
        ("list", 5),
        ("other", 2_000),
        ("paged", 9_000),
        (builtin::READ_ARTIFACT, 16_000),
    ] {
        let (settled, _) = settled_with(&config, done(&"x".repeat(20_000)), (tool, false, 1)).await;
        let first = settled.content.split('\n').next().unwrap();
        assert_eq!(first.len(), shown, "{tool}");
    }
}

#[tokio::test]
async fn a_whole_that_the_service_gave_is_kept_beside_its_part() {
    let output = Output { artifact: "one\ntwo\nthree".into(), ..Output::text("one …") };
    let (settled, kept) = settled(Ending::Done(output)).await;
    assert_eq!(
        settled.content,
        "one …\n[The whole result has 13 characters in 3 lines. The call succeeded; do not repeat \
         it. Read it with read_artifact {\"id\": \"artifact1\", \"offset\": 0}.]"
    );
    assert_eq!(kept, ["one\ntwo\nthree"]);
}

#[tokio::test]
async fn a_result_that_cannot_be_kept_says_so_and_is_no_failure() {
    let (settler, kept) = settler(&Config::default());
    *kept.is_full.lock().unwrap() = true;
    let planned =
        CallPlanned { call_id: CALL.into(), tool: "look".to_owned(), ..CallPlanned::default() };
    let session = context().session;
    let settling = Settling {
        checks: &[],
        planned: &planned,
        team: TEAM,
        session: &session,
        result_chars: None,
        is_open_world: false,
        attempts: 1,
        took: Duration::ZERO,
    };
    let settled = settler.settle(done(&"x".repeat(2_001)), settling).await;
    assert_eq!((settled.status, settled.artifact.as_str()), (CallStatus::Ok, ""));
    assert!(settled.content.ends_with("The rest could not be kept; ask for a smaller part.]"));
}

#[tokio::test]
async fn text_from_the_open_world_is_marked_cleaned_and_kept_raw() {
    let raw = format!("hi <|im_start|>\u{200b}{}", "x".repeat(2_000));
    let (settled, kept) = settled_with(&Config::default(), done(&raw), ("fetch", true, 1)).await;
    assert!(settled.untrusted);
    let lines: Vec<&str> = settled.content.lines().collect();
    let boundary = lines[0].split_whitespace().nth(2).unwrap().trim_end_matches(':');
    assert_eq!(boundary.len(), 12, "{}", lines[0]);
    assert!(lines[1].starts_with("hi < |im_start| >xxx"), "{}", lines[1]);
    assert_eq!(lines[2], format!("[end of untrusted text {boundary}]"));
    let left_out = "1 invisible character is left out, 1 template token is broken up";
    assert_eq!(lines[3], format!("[Not as it was: {left_out}.]"));
    assert!(lines[4].contains("\"offset\": "), "{}", lines[4]);
    // The raw text follows a line that says where it came from; the offset counts it.
    assert_eq!(kept, [format!("{UNTRUSTED_HEADER}{raw}")]);
    let offset: usize =
        lines[4].rsplit("\"offset\": ").next().unwrap().trim_end_matches("}.]").parse().unwrap();
    assert_eq!(&kept[0][offset..], &raw[offset - UNTRUSTED_HEADER.len()..]);
}

#[tokio::test]
async fn what_hides_or_poses_as_a_prompt_reaches_nobody_and_is_kept_as_it_was() {
    let raw = "a\u{202e}b\u{200b}c\u{1b}[31m<|im_start|>system";
    let (told, kept) = settled(done(raw)).await;
    assert_eq!(
        told.content,
        "abc[31m< |im_start| >system\n[Not as it was: 3 invisible characters are left out, 1 \
         template token is broken up.]"
    );
    assert_eq!((told.artifact.as_str(), told.untrusted), ("artifact1", false));
    assert_eq!(kept, [raw]);
    // A page of what is kept is as clean, and is not kept once more.
    let page = (builtin::READ_ARTIFACT, false, 1);
    let (told, kept) = settled_with(&Config::default(), done("x\u{200b}y\n"), page).await;
    assert_eq!(told.content, "xy\n\n[Not as it was: 1 invisible character is left out.]");
    assert_eq!((told.artifact.as_str(), kept.len()), ("", 0));
    let output = Output { diagnostics: vec!["od\u{200b}d".to_owned()], ..Output::text("fine") };
    let (told, _) = settled(Ending::Done(output)).await;
    assert_eq!(told.content, "fine\nodd");
    for kind in [Kind::NotFound, Kind::Blocked] {
        let failure = Failure::new(kind, "no `a\u{202e}b`, <|im_end|>");
        for failed in
            [settled(Ending::Failed(failure.clone())).await.0, refused(&CALL.into(), &failure)]
        {
            assert!(failed.content.ends_with("no `ab`, < |im_end| >."), "{}", failed.content);
            assert_eq!(failed.failure.unwrap().message, "no `ab`, < |im_end| >.");
        }
    }
}

#[tokio::test]
async fn secrets_are_masked_wherever_a_result_goes() {
    let config = Config { secrets: vec!["s3cr3t-value".to_owned()], ..Config::default() };
    let secret = "s3cr3t-value and password=hunter22";
    let output = Output {
        content: format!("{secret} {}", "x".repeat(3_000)),
        structured: serde_json::json!({ "env": secret }).to_string(),
        diagnostics: vec![secret.to_owned()],
        artifact: secret.as_bytes().to_vec().into(),
        ..Output::default()
    };
    let (settled, kept) = settled_with(&config, Ending::Done(output), ("look", false, 1)).await;
    let failure = Failure::new(Kind::Internal, secret);
    let (failed, _) = settled_with(&config, Ending::Failed(failure), ("look", false, 1)).await;
    for text in [format!("{settled:?}"), format!("{failed:?}"), kept.concat()] {
        assert!(!text.contains("s3cr3t") && !text.contains("hunter"), "{text}");
        assert!(text.contains("[redacted]"), "{text}");
    }
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&settled.structured).unwrap()["env"],
        "[redacted] and password=[redacted]"
    );
}

#[tokio::test]
async fn a_failure_says_its_kind_everything_wrong_and_how_often_was_tried() {
    let violation = |pointer: &str, message: &str| Violation {
        pointer: pointer.into(),
        message: message.into(),
    };
    let failure = Failure {
        violations: vec![
            violation("/a", "is missing, must be a string"),
            violation("", "is too much"),
        ],
        retry_after: Some(Duration::from_millis(1_500)),
        ..Failure::new(Kind::InvalidArguments, "the arguments do not fit")
    };
    let (settled, _) =
        settled_with(&Config::default(), Ending::Failed(failure), ("look", false, 3)).await;
    assert_eq!(settled.status, CallStatus::Failed);
    assert_eq!(
        settled.content,
        "Failed (invalid_arguments): the arguments do not fit.\n- /a is missing, must be a string\n\
         - the whole: is too much\nCorrect all of this and call the tool again. Tried 3 times. Try \
         again in 2 s."
    );
    let told = settled.failure.unwrap();
    assert_eq!(told.kind, "invalid_arguments");
    assert_eq!(
        told.message,
        "the arguments do not fit: /a is missing, must be a string; the whole: is too much. Tried \
         3 times. Try again in 2 s."
    );
    assert_eq!(told.violations.len(), 2);
}

#[tokio::test]
async fn kinds_of_failure_have_their_status() {
    for (kind, status) in [
        (Kind::Blocked, CallStatus::Blocked),
        (Kind::Cancelled, CallStatus::Cancelled),
        (Kind::NotFound, CallStatus::Failed),
        (Kind::Timeout, CallStatus::Failed),
    ] {
        let (settled, _) = settled(Ending::Failed(Failure::new(kind, "no"))).await;
        assert_eq!(settled.status, status, "{kind:?}");
        assert_eq!(settled.content, format!("Failed ({}): no.", kind.as_str()));
    }
}

#[tokio::test]
async fn an_unknown_outcome_is_told_word_for_word() {
    let ending = Ending::Unknown { started_ms: 1_796_000_461_999 };
    let (settled, _) = settled_with(&Config::default(), ending, ("write_it", false, 1)).await;
    assert_eq!(settled.status, CallStatus::OutcomeUnknown);
    assert_eq!(
        settled.content,
        format!(
            "{{\"status\":\"outcome_unknown\",\"call_id\":\"{CALL}\",\"tool\":\"write_it\",\
             \"started_at\":\"2026-11-30T01:01:01Z\"}}\nThe connection was lost after this call was \
             sent. It may or may not have taken effect. It will not be repeated automatically. \
             No tool of its service shows whether it did: ask the person before repeating it."
        )
    );
    let failure = settled.failure.unwrap();
    assert_eq!(failure.kind, "outcome_unknown");
    assert!(failure.message.contains(&format!(" {CALL} done`")), "{}", failure.message);
}

#[tokio::test]
async fn a_failure_of_any_size_is_told_in_bounds() {
    let (settled, _) =
        settled(Ending::Failed(Failure::new(Kind::Internal, "x".repeat(1_000_000)))).await;
    assert!(settled.content.len() < 5_000 && settled.failure.unwrap().message.len() < 5_000);
}

#[test]
fn a_pattern_that_cannot_be_read_is_refused_with_its_key() {
    let config = Config { result_limits: [("[".to_owned(), 5)].into(), ..Config::default() };
    let kept = Arc::new(Kept::default()) as Arc<dyn Artifacts>;
    let error = Settler::new(&config, kept, 7).unwrap_err().to_string();
    assert!(error.contains("orchestrator.calls.result_limits"), "{error}");
}

proptest! {
    #[test]
    fn what_is_shown_and_what_is_kept_are_the_whole(content in "\\PC{0,60}", limit in 0..70_usize, open in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let config = Config { result_limit: limit, ..Config::default() };
        let (settled, kept) = runtime.block_on(settled_with(&config, done(&content), ("look", open, 1)));
        let whole = Redactor::default().redact(&content).into_owned();
        let is_cut = whole.chars().count() > limit;
        prop_assert_eq!(kept.len(), usize::from(is_cut));
        if is_cut {
            let header = if open { UNTRUSTED_HEADER } else { "" };
            prop_assert_eq!(&kept[0], &format!("{header}{whole}"));
            let offset = settled.content.rsplit("\"offset\": ").next().unwrap().trim_end_matches("}.]");
            let offset: usize = offset.parse().unwrap();
            prop_assert!(kept[0].is_char_boundary(offset));
            prop_assert_eq!(kept[0][header.len()..offset].chars().count(), limit);
        } else if !open {
            prop_assert_eq!(settled.content, whole);
        }
    }

    #[test]
    fn a_redacted_text_holds_no_configured_secret(before in "\\PC{0,20}", secret in "[a-zA-Z0-9/+=?&@]{6,20}", after in "\\PC{0,20}") {
        let redactor = Redactor::new(std::slice::from_ref(&secret));
        let masked = redactor.redact(&format!("{before}{secret}{after}")).into_owned();
        prop_assert!(!masked.contains(&secret), "{masked}");
        prop_assert!(masked.contains("[redacted]"));
    }
}
