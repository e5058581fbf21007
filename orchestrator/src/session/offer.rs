//! Which tools one model call offers, and the digests that say what the model was shown.

use super::registry::Shared;
use crate::{
    call::builtin::{self, find},
    digest::Digest,
    model::{Request, ToolDeclaration},
    run::{
        context::{Message, estimate},
        event::Input,
        state::{Run, Session},
    },
};

/// The tools of one model call.
pub(super) struct Offer {
    /// Their names, in order.
    pub(super) names: Vec<String>,
    /// SHA-256 (lower-case hex) over their descriptors.
    pub(super) digest: String,
    /// Tokens that their declarations take, as estimated.
    pub(super) tokens: u32,
    declarations: Vec<ToolDeclaration>,
}

impl Offer {
    /// The tools for the next call of the current run; none where none may be called.
    pub(super) fn new(shared: &Shared, session: &Session, with_tools: bool) -> Self {
        let mut offer =
            Self { names: Vec::new(), digest: String::new(), tokens: 0, declarations: Vec::new() };
        let (Some(run), Some(opened)) = (&session.current, &session.opened) else { return offer };
        if !with_tools {
            return offer;
        }
        let agent = &shared.config.agent;
        let used = used(run, &agent.pinned_tools);
        let Input::Text(task) = &run.input.input else { return offer };
        let snapshot = shared.calls.catalog().snapshot();
        let mut digest = Digest::default();
        for tool in snapshot.select(&opened.team, task, &used, agent.max_tools) {
            let descriptor = &tool.descriptor;
            digest.field(&descriptor.digest);
            offer.tokens += estimate(&descriptor.name)
                + estimate(&descriptor.description)
                + estimate(&descriptor.input_schema.to_string());
            offer.names.push(descriptor.name.clone());
            offer.declarations.push(ToolDeclaration {
                name: descriptor.name.clone(),
                description: descriptor.description.clone(),
                input_schema: serde_json::Value::clone(&descriptor.input_schema),
                examples: descriptor.examples.clone(),
            });
        }
        offer.digest = digest.finish();
        offer
    }

    /// The request that shows these tools.
    pub(super) fn request(&self, messages: Vec<Message>, shared: &Shared) -> Request {
        Request {
            messages,
            tools: self.declarations.clone(),
            temperature: shared.models.temperature(),
            max_output_tokens: None,
            context_tokens: shared.config.agent.context_tokens,
        }
    }
}

/// Pinned tools, those that the run has used and those that it has looked up, each once.
fn used(run: &Run, pinned: &[String]) -> Vec<String> {
    let mut names = pinned.to_vec();
    for call in run.calls() {
        let tool = call.planned.as_ref().map_or(&call.wanted.name, |planned| &planned.tool);
        let settled = call.settled.as_ref().filter(|_| tool == builtin::FIND_TOOLS);
        let found = settled.map_or(Vec::new(), |settled| find::found(&settled.structured));
        for name in std::iter::once(tool.clone()).chain(found) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// SHA-256 (lower-case hex) over the messages of a request.
pub(super) fn prompt_digest(messages: &[Message]) -> String {
    let mut digest = Digest::default();
    let mut field = |text: &str| digest.field(text);
    for message in messages {
        match message {
            Message::System(text) => {
                field("system");
                field(text);
            }
            Message::User(text) => {
                field("user");
                field(text);
            }
            Message::Assistant { text, reasoning, calls } => {
                field("assistant");
                field(text);
                field(reasoning);
                for call in calls {
                    field(&call.id);
                    field(&call.name);
                    field(&call.arguments);
                }
            }
            Message::Tool { id, name, content } => {
                field("tool");
                field(id);
                field(name);
                field(content);
            }
        }
    }
    digest.finish()
}
