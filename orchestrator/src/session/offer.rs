//! Which tools one model call offers, and the digests that say what the model was shown.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::registry::Shared;
use crate::{
    call::builtin::{self, find},
    catalog::Tool,
    digest::Digest,
    model::{Request, ToolDeclaration, Tools},
    run::{
        context::{Message, estimate},
        event::Input,
        state::{Run, Session},
    },
};

/// Offers that are kept; with more, all are made anew.
const MAX_KEPT: usize = 64;

/// The tools of one model call.
#[derive(Debug, Default)]
pub(super) struct Offer {
    /// Their names, in order.
    pub(super) names: Vec<String>,
    /// SHA-256 (lower-case hex) over their descriptors.
    pub(super) digest: String,
    /// Tokens that their declarations take, as estimated.
    pub(super) tokens: u32,
    tools: Arc<Tools>,
}

/// Offers as they were made, by digest: sessions show the same few sets of tools over and over.
#[derive(Debug, Default)]
pub struct Offers {
    made: Mutex<HashMap<String, Arc<Offer>>>,
}

impl Offers {
    /// The tools for the next call of the current run; none where none may be called.
    pub(super) fn next(&self, shared: &Shared, session: &Session, with_tools: bool) -> Arc<Offer> {
        let (Some(run), Some(opened)) = (&session.current, &session.opened) else {
            return Arc::default();
        };
        let Input::Text(task) = &run.input.input else { return Arc::default() };
        if !with_tools {
            return Arc::default();
        }
        let agent = &shared.config.agent;
        let used = used(run, &agent.pinned_tools);
        let snapshot = shared.calls.catalog().snapshot();
        self.of(&snapshot.select(&opened.team, task, &used, agent.max_tools))
    }

    fn of(&self, tools: &[Arc<Tool>]) -> Arc<Offer> {
        let mut digest = Digest::default();
        for tool in tools {
            digest.field(&tool.descriptor.digest);
        }
        let digest = digest.finish();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(offer) = made.get(&digest) {
            return Arc::clone(offer);
        }
        if made.len() >= MAX_KEPT {
            made.clear();
        }
        let offer = Arc::new(Offer::new(tools, digest.clone()));
        made.insert(digest, Arc::clone(&offer));
        offer
    }
}

impl Offer {
    fn new(tools: &[Arc<Tool>], digest: String) -> Self {
        let descriptors = || tools.iter().map(|tool| &tool.descriptor);
        let tokens = descriptors().map(|descriptor| {
            estimate(&descriptor.name)
                + estimate(&descriptor.description)
                + estimate(&descriptor.input_schema.to_string())
        });
        let declarations = descriptors().map(|descriptor| ToolDeclaration {
            name: descriptor.name.clone(),
            description: descriptor.description.clone(),
            input_schema: serde_json::Value::clone(&descriptor.input_schema),
            examples: descriptor.examples.clone(),
        });
        Self {
            names: descriptors().map(|descriptor| descriptor.name.clone()).collect(),
            digest,
            tokens: tokens.sum(),
            tools: Arc::new(Tools::from(declarations.collect::<Vec<_>>())),
        }
    }

    /// The request that shows these tools.
    pub(super) fn request(&self, messages: Vec<Message>, shared: &Shared) -> Request {
        Request {
            messages,
            tools: Arc::clone(&self.tools),
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
