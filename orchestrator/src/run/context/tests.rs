//! The rules of the context, checked on every request of long conversations.

use proptest::prelude::*;

use super::*;
use crate::run::event::*;

const BUDGET: u32 = 8_000;

struct Story {
    session: Session,
}

impl Story {
    fn new() -> Self {
        let mut story = Self { session: Session::default() };
        story.record(Event::SessionOpened(SessionOpened::default()));
        story
    }

    fn record(&mut self, event: Event) {
        let seq = self.session.last_seq + 1;
        let trace_context = String::new();
        self.session
            .apply(&Recorded { seq, wall_ms: 0, elapsed_ms: 0, trace_context, event })
            .unwrap();
    }

    fn start(&mut self, run: &str, input: &str) {
        let input = Input::Text(input.to_owned());
        self.record(Event::InputReceived(InputReceived {
            run: run.into(),
            input,
            ..Default::default()
        }));
        self.record(Event::RunStarted(RunStarted {
            run: run.into(),
            system_prompt: "You are Callboard.".into(),
            context_tokens: BUDGET,
            ..Default::default()
        }));
    }

    /// One step with calls that all have the same id from the model, and results of some size.
    fn step(&mut self, run: &str, request: usize, text: &str, sizes: &[usize]) {
        let calls: Vec<_> = (0..sizes.len())
            .map(|nth| WantedCall {
                call_id: format!("{run}-{request}-{nth}").as_str().into(),
                model_id: "call_0".into(),
                name: "tool".into(),
                arguments: format!("{{\"n\":{nth}}}"),
            })
            .collect();
        self.record(Event::ModelReplied(ModelReplied {
            run: run.into(),
            text: text.into(),
            calls: calls.clone(),
            ..Default::default()
        }));
        for (call, size) in calls.into_iter().zip(sizes) {
            self.record(Event::CallSettled(CallSettled {
                call_id: call.call_id,
                content: "中x".repeat(size / 2),
                artifact: "abc123".into(),
                ..Default::default()
            }));
        }
    }

    fn end(&mut self, run: &str, answer: &str) {
        self.step(run, 999, answer, &[]);
        self.record(Event::RunEnded(RunEnded {
            run: run.into(),
            answer: answer.into(),
            ..Default::default()
        }));
    }
}

/// Every rule of the module's doc.
fn check(messages: &[Message], input: &str) {
    let total: u32 = messages.iter().map(turns::tokens).sum();
    assert!(total <= BUDGET, "{total} tokens");
    assert_eq!(messages[0], Message::System("You are Callboard.".into()));
    assert!(messages.contains(&Message::User(input.into())), "the input is there word for word");
    let results: u32 =
        messages.iter().filter(|m| matches!(m, Message::Tool { .. })).map(turns::tokens).sum();
    assert!(results <= BUDGET / 2, "{results} tokens of results");
    let mut open: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for message in messages {
        match message {
            Message::Tool { id, .. } => {
                assert!(!open.is_empty(), "a result without its call");
                assert_eq!(open.remove(0), *id, "results come in the order of the calls");
            }
            other => {
                assert!(open.is_empty(), "a call without its result before {other:?}");
                if let Message::Assistant { calls, .. } = other {
                    open = calls.iter().map(|call| call.id.clone()).collect();
                    assert!(open.iter().all(|id| seen.insert(id.clone())), "ids are unique");
                }
            }
        }
    }
    assert!(open.is_empty());
}

#[test]
fn two_calls_and_text_are_one_assistant_message_then_two_results() {
    let mut story = Story::new();
    story.start("r", "go");
    story.step("r", 1, "Looking.", &[4, 4]);
    let messages = build(&story.session, 0);
    let roles: Vec<_> = messages
        .iter()
        .map(|m| match m {
            Message::System(_) => "system".to_owned(),
            Message::User(text) => format!("user:{text}"),
            Message::Assistant { text, calls, .. } => {
                format!(
                    "assistant:{text}:{}",
                    calls.iter().map(|c| &*c.id).collect::<Vec<_>>().join(",")
                )
            }
            Message::Tool { id, .. } => format!("tool:{id}"),
        })
        .collect();
    assert_eq!(
        roles,
        ["system", "user:go", "assistant:Looking.:call_0,call_0_2", "tool:call_0", "tool:call_0_2"]
    );
}

#[test]
fn forty_steps_of_large_results_fit_and_the_newest_is_whole() {
    let mut story = Story::new();
    story.start("r", "go");
    for request in 1..=40 {
        story.step("r", request, "next", &[2_000]);
        let messages = build(&story.session, 500);
        check(&messages, "go");
        let Some(Message::Tool { content, .. }) = messages.last() else { unreachable!() };
        assert_eq!(content.chars().count(), 2_000, "the newest result is whole");
    }
    let oldest = build(&story.session, 500).into_iter().find_map(|m| match m {
        Message::Tool { content, .. } => Some(content),
        _ => None,
    });
    let oldest = oldest.unwrap();
    assert!(oldest.chars().count() <= SHRUNK_CHARS && oldest.ends_with("artifact abc123]"));
}

#[test]
fn older_runs_become_a_summary() {
    let mut story = Story::new();
    for nth in 0..30 {
        let run = format!("r{nth}");
        story.start(&run, &format!("question {nth}"));
        story.end(&run, &format!("answer {nth}"));
    }
    story.start("now", "and now?");
    let messages = build(&story.session, 0);
    check(&messages, "and now?");
    let Message::User(summary) = &messages[1] else { unreachable!("{messages:?}") };
    assert!(summary.contains("- Asked: question 19 Answered: answer 19"), "{summary}");
    assert!(!summary.contains("question 20"), "what is in the window is not summarised");
    assert_eq!(messages[2], Message::User("question 20".into()));
    assert_eq!(messages.len(), 2 + WINDOW_MESSAGES + 1);
}

#[test]
fn a_run_that_gave_no_answer_is_told_as_such() {
    let mut story = Story::new();
    story.start("a", "first");
    story.step("a", 1, "", &[10]);
    story.record(Event::RunEnded(RunEnded {
        run: "a".into(),
        status: RunStatus::Cancelled,
        answer: "The run was cancelled.".into(),
        ..Default::default()
    }));
    story.start("b", "second");
    let messages = build(&story.session, 0);
    check(&messages, "second");
    let Message::Assistant { text, .. } = &messages[messages.len() - 2] else { unreachable!() };
    assert_eq!(text, "[The run was cancelled.]");
}

#[test]
fn text_is_cut_between_characters() {
    assert_eq!(cut("中中中中", 3), "中中…");
    assert_eq!(cut("abc", 3), "abc");
    assert_eq!(cut("a\nb", 3), "a b");
    assert_eq!(estimate("abcd中"), 2);
    assert_eq!(estimate(""), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_request_keeps_the_rules(
        runs in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(0_usize..6_000, 0..4), 0..8),
            1..8,
        ),
        tools in 0_u32..3_000,
    ) {
        let mut story = Story::new();
        for (nth, steps) in runs.iter().enumerate() {
            let (run, input) = (format!("r{nth}"), format!("input {nth}"));
            story.start(&run, &input);
            for (request, sizes) in steps.iter().enumerate() {
                story.step(&run, request, "text", sizes);
                check(&build(&story.session, tools), &input);
            }
            story.end(&run, "done");
        }
    }
}
