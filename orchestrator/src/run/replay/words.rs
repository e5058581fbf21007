//! What a replay says of events, effects and snapshots, in a line each.

use crate::run::{
    context::cut,
    effect::Effect,
    event::{Event, RunStarted},
};

/// Characters of a text that are shown.
const SHOWN: usize = 200;

/// An event, with what tells it from another one of its type.
pub(super) fn event(event: &Event) -> String {
    let (kind, more) = (event.kind(), more(event));
    if more.is_empty() { kind.to_owned() } else { format!("{kind} ({})", cut(&more, SHOWN)) }
}

fn more(event: &Event) -> String {
    match event {
        Event::RunEnded(ended) => format!("{}: {}", ended.status.as_str(), ended.answer),
        Event::LimitHit(hit) => format!("{}: {}", hit.limit.as_str(), hit.message),
        Event::CallSettled(settled) => {
            format!("{} {}: {}", settled.call_id, settled.status.as_str(), settled.content)
        }
        Event::AttemptStarted(started) => format!("{}", started.call_id),
        Event::CallPlanned(planned) => format!("{} {}", planned.tool, planned.arguments),
        Event::ProgressMissed(missed) => missed.message.clone(),
        _ => String::new(),
    }
}

/// What would be running.
pub(super) fn effects(next: &[Effect]) -> String {
    let words: Vec<String> = next
        .iter()
        .filter_map(|effect| match effect {
            Effect::Record(now) => Some(event(now)),
            Effect::StartRun(run) => Some(format!("run {run} starts")),
            Effect::CallModel { request, with_tools: true } => {
                Some(format!("the model is asked (request {request})"))
            }
            Effect::CallModel { request, with_tools: false } => {
                Some(format!("the model is asked for its last word (request {request})"))
            }
            Effect::Judge(call) => Some(format!("call {call} is judged")),
            Effect::Invoke(call) => Some(format!("call {call} is made")),
            Effect::Stop { call, .. } => Some(format!("call {call} is stopped")),
            Effect::Forget => Some("a removed session is forgotten".to_owned()),
            Effect::Undo { call, .. } => Some(format!("call {call} is taken back")),
            Effect::Lapse { .. } | Effect::Expire { .. } => None,
        })
        .collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}

/// The first field in which two snapshots differ: its name, then, now.
pub(super) fn snapshots(then: &RunStarted, now: &RunStarted) -> Option<[String; 3]> {
    let (a, b) = (then.limits, now.limits);
    let fields = [
        ("agent", then.agent.clone(), now.agent.clone()),
        ("models", then.models.join(", "), now.models.join(", ")),
        ("max_steps", a.max_steps.to_string(), b.max_steps.to_string()),
        ("max_calls", a.max_calls.to_string(), b.max_calls.to_string()),
        ("max_parallel", a.max_parallel.to_string(), b.max_parallel.to_string()),
        ("max_time_ms", a.max_time_ms.to_string(), b.max_time_ms.to_string()),
        ("max_tokens", a.max_tokens.to_string(), b.max_tokens.to_string()),
        ("context_tokens", then.context_tokens.to_string(), now.context_tokens.to_string()),
        ("system_prompt", then.system_prompt.clone(), now.system_prompt.clone()),
    ];
    let (name, then, now) = fields.into_iter().find(|(_, then, now)| then != now)?;
    Some([name.to_owned(), from_difference(&then, &now), from_difference(&now, &then)])
}

/// A text from a little before the place where it differs from another one.
fn from_difference(text: &str, other: &str) -> String {
    let same = text.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let skipped = same.saturating_sub(20);
    if text.chars().count() <= SHOWN || skipped == 0 {
        return cut(text, SHOWN);
    }
    format!("…{}", cut(&text.chars().skip(skipped).collect::<String>(), SHOWN))
}
