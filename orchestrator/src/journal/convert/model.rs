//! Facts about model calls, both ways.
//!
//! Arguments are text here and bytes on the wire. Next: `call.rs`.

use callboard_proto::journal as wire;

use crate::run::event::{ModelFailed, ModelReplied, ModelRequested, WantedCall};

use super::word::{Word as _, parse};
use super::{ConvertError, text};

impl From<ModelRequested> for wire::ModelRequested {
    fn from(event: ModelRequested) -> Self {
        Self {
            run: event.run.to_string(),
            request: event.request,
            model: event.model,
            offered: event.offered,
            offered_digest: event.offered_digest,
            prompt_digest: event.prompt_digest,
            tool_tokens: event.tool_tokens,
        }
    }
}

impl From<wire::ModelRequested> for ModelRequested {
    fn from(event: wire::ModelRequested) -> Self {
        Self {
            run: event.run.into(),
            request: event.request,
            model: event.model,
            offered: event.offered,
            offered_digest: event.offered_digest,
            prompt_digest: event.prompt_digest,
            tool_tokens: event.tool_tokens,
        }
    }
}

impl From<ModelReplied> for wire::ModelReplied {
    fn from(event: ModelReplied) -> Self {
        Self {
            run: event.run.to_string(),
            request: event.request,
            text: event.text,
            reasoning: event.reasoning,
            calls: event.calls.into_iter().map(Into::into).collect(),
            input_tokens: event.input_tokens,
            output_tokens: event.output_tokens,
            finish: event.finish.word().to_owned(),
            model: event.model,
        }
    }
}

impl TryFrom<wire::ModelReplied> for ModelReplied {
    type Error = ConvertError;

    fn try_from(event: wire::ModelReplied) -> Result<Self, ConvertError> {
        let mut calls = Vec::with_capacity(event.calls.len());
        for call in event.calls {
            calls.push(call.try_into()?);
        }
        Ok(Self {
            run: event.run.into(),
            request: event.request,
            text: event.text,
            reasoning: event.reasoning,
            calls,
            input_tokens: event.input_tokens,
            output_tokens: event.output_tokens,
            finish: parse(&event.finish)?,
            model: event.model,
        })
    }
}

impl From<WantedCall> for wire::WantedCall {
    fn from(call: WantedCall) -> Self {
        Self {
            call_id: call.call_id.to_string(),
            model_id: call.model_id,
            name: call.name,
            arguments: call.arguments.into_bytes(),
        }
    }
}

impl TryFrom<wire::WantedCall> for WantedCall {
    type Error = ConvertError;

    fn try_from(call: wire::WantedCall) -> Result<Self, ConvertError> {
        Ok(Self {
            call_id: call.call_id.into(),
            model_id: call.model_id,
            name: call.name,
            arguments: text(call.arguments, "arguments")?,
        })
    }
}

impl From<ModelFailed> for wire::ModelFailed {
    fn from(event: ModelFailed) -> Self {
        Self {
            run: event.run.to_string(),
            request: event.request,
            kind: event.kind,
            message: event.message,
        }
    }
}

impl From<wire::ModelFailed> for ModelFailed {
    fn from(event: wire::ModelFailed) -> Self {
        Self {
            run: event.run.into(),
            request: event.request,
            kind: event.kind,
            message: event.message,
        }
    }
}
