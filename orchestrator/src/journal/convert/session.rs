//! Facts about a session and the start of its runs, both ways.
//!
//! A long system prompt is taken out by `blob` afterwards. Next: `model.rs`.

use callboard_proto::journal as wire;

use crate::run::event::{Input, InputReceived, Limits, OwnerTaken, RunStarted, SessionOpened};

use super::word::{Word as _, parse};
use super::{ConvertError, text};

impl From<SessionOpened> for wire::SessionOpened {
    fn from(event: SessionOpened) -> Self {
        Self {
            team: event.team,
            kind: event.kind.word().to_owned(),
            agent: event.agent,
            title: event.title,
            key: event.key,
            models: event.models,
            body_digest: event.body_digest,
        }
    }
}

impl TryFrom<wire::SessionOpened> for SessionOpened {
    type Error = ConvertError;

    fn try_from(event: wire::SessionOpened) -> Result<Self, ConvertError> {
        Ok(Self {
            team: event.team,
            kind: parse(&event.kind)?,
            agent: event.agent,
            title: event.title,
            key: event.key,
            models: event.models,
            body_digest: event.body_digest,
        })
    }
}

impl From<OwnerTaken> for wire::OwnerTaken {
    fn from(event: OwnerTaken) -> Self {
        Self { owner: event.owner }
    }
}

impl From<wire::OwnerTaken> for OwnerTaken {
    fn from(event: wire::OwnerTaken) -> Self {
        Self { owner: event.owner }
    }
}

impl From<InputReceived> for wire::InputReceived {
    fn from(event: InputReceived) -> Self {
        let (text, tool, arguments) = match event.input {
            Input::Text(text) => (text, None, String::new()),
            Input::Direct { tool, arguments } => (String::new(), Some(tool), arguments),
        };
        Self {
            run: event.run.to_string(),
            text,
            tool,
            arguments: arguments.into_bytes(),
            key: event.key,
            body_digest: event.body_digest,
            approver_attached: event.approver_attached,
            approve: event.approve,
            limits: Some(event.limits.into()),
            principal: event.principal,
        }
    }
}

impl TryFrom<wire::InputReceived> for InputReceived {
    type Error = ConvertError;

    fn try_from(event: wire::InputReceived) -> Result<Self, ConvertError> {
        let input = match event.tool {
            None => Input::Text(event.text),
            Some(tool) => Input::Direct { tool, arguments: text(event.arguments, "arguments")? },
        };
        Ok(Self {
            run: event.run.into(),
            input,
            key: event.key,
            body_digest: event.body_digest,
            approver_attached: event.approver_attached,
            approve: event.approve,
            limits: event.limits.unwrap_or_default().into(),
            principal: event.principal,
        })
    }
}

impl From<Limits> for wire::Limits {
    fn from(limits: Limits) -> Self {
        Self {
            max_steps: limits.max_steps,
            max_calls: limits.max_calls,
            max_parallel: limits.max_parallel,
            max_time_ms: limits.max_time_ms,
            max_tokens: limits.max_tokens,
        }
    }
}

impl From<wire::Limits> for Limits {
    fn from(limits: wire::Limits) -> Self {
        Self {
            max_steps: limits.max_steps,
            max_calls: limits.max_calls,
            max_parallel: limits.max_parallel,
            max_time_ms: limits.max_time_ms,
            max_tokens: limits.max_tokens,
        }
    }
}

impl From<RunStarted> for wire::RunStarted {
    fn from(event: RunStarted) -> Self {
        Self {
            run: event.run.to_string(),
            agent: event.agent,
            models: event.models,
            limits: Some(event.limits.into()),
            system_prompt: event.system_prompt,
            context_tokens: event.context_tokens,
            system_prompt_digest: String::new(),
        }
    }
}

impl From<wire::RunStarted> for RunStarted {
    fn from(event: wire::RunStarted) -> Self {
        Self {
            run: event.run.into(),
            agent: event.agent,
            models: event.models,
            limits: event.limits.unwrap_or_default().into(),
            system_prompt: event.system_prompt,
            context_tokens: event.context_tokens,
        }
    }
}
