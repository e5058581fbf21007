//! The tools of a model call, with what a provider makes of them: the same tools go with many calls,
//! so what they look like on the wire is made once and kept beside them.

use std::{ops::Deref, sync::OnceLock};

use super::{ToolDeclaration, openai::Declared};

/// Tools that may be called.
#[derive(Debug, Default)]
pub struct Tools {
    declarations: Vec<ToolDeclaration>,
    openai: OnceLock<Declared>,
}

impl Tools {
    /// As OpenAI's protocol has them.
    pub(super) fn openai(&self) -> &Declared {
        self.openai.get_or_init(|| Declared::new(&self.declarations))
    }
}

impl From<Vec<ToolDeclaration>> for Tools {
    fn from(declarations: Vec<ToolDeclaration>) -> Self {
        Self { declarations, openai: OnceLock::new() }
    }
}

impl Deref for Tools {
    type Target = [ToolDeclaration];

    fn deref(&self) -> &[ToolDeclaration] {
        &self.declarations
    }
}

impl PartialEq for Tools {
    fn eq(&self, other: &Self) -> bool {
        self.declarations == other.declarations
    }
}
