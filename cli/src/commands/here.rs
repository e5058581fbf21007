//! What a command was started with: options, environment, current folder. Next: `connect`.

use std::path::PathBuf;

use crate::args::Global;
use crate::config::settings::Profile;
use crate::config::{self, Loaded, Sources, environment};
use crate::place::{self, Bases, Place};
use crate::stack::StackOrder;

/// What a command was started with.
#[derive(Clone, Debug)]
pub(crate) struct Here {
    /// Options of all commands.
    pub(crate) global: Global,
    /// Variables that say where things lie.
    pub(crate) bases: Bases,
}

impl Here {
    /// This process's.
    pub(crate) fn new(global: Global) -> Self {
        Self { global, bases: Bases::of_process() }
    }

    /// The workspace.
    ///
    /// # Errors
    /// When it is no folder.
    pub(crate) fn workspace(&self) -> anyhow::Result<PathBuf> {
        place::workspace(self.global.workspace.as_deref())
    }

    /// The workspace with its folders, made where they are missing.
    ///
    /// # Errors
    /// As [`Place::prepare`].
    pub(crate) fn place(&self) -> anyhow::Result<Place> {
        Place::prepare(&self.workspace()?, self.global.state.as_deref(), &self.bases)
    }

    /// The configuration.
    ///
    /// # Errors
    /// As [`config::load`].
    pub(crate) fn load(&self) -> anyhow::Result<Loaded> {
        let mut flags: Vec<(&str, &'static [&'static str], String)> = Vec::new();
        if let Some(profile) = self.global.profile {
            let name = match profile {
                Profile::Development => "development",
                Profile::Production => "production",
            };
            flags.push(("--profile", &["profile"], name.to_owned()));
        }
        if let Some(level) = &self.global.log_level {
            flags.push(("--log-level", &["telemetry", "level"], level.clone()));
        }
        config::load(&Sources {
            config: self.global.config.clone(),
            workspace: self.workspace()?,
            bases: self.bases.clone(),
            variables: environment::of_process(),
            flags,
        })
    }
}

/// What a stack on `place` is started with.
pub(crate) fn stack_order(place: &Place, loaded: &Loaded) -> StackOrder {
    StackOrder {
        settings: loaded.layers.table().clone(),
        agreement: loaded.agreement(),
        sockets: place.sockets.clone(),
    }
}
