//! What changes something: files that are written, commands that are run.

use super::{Said, Step, Stop, Work};
use crate::model::offline::{
    answer::Why,
    goals::Content,
    need::{Need, Role, Skill},
    words::Language,
};

impl Work<'_> {
    /// Writes a file.
    pub(super) fn write(&mut self, path: &str, content: &Content) -> Step<()> {
        let content = match content {
            Content::Text(text) => text.clone(),
            Content::Last => self.known.text.clone().ok_or(Stop::GiveUp(Why::WhichResult))?,
        };
        let need = Need::new(Skill::Write)
            .with_text(Role::File, path)
            .with_text(Role::Content, content.clone());
        let told = self.ask(&need)?;
        // What follows the first sentence is advice for models.
        let status = told.status.split(". ").next().unwrap_or_default().trim_end_matches('.');
        self.said.push(Said {
            text: match self.language {
                Language::English => format!("Done. {status}."),
                Language::Chinese => format!("已完成。{status}."),
            },
            is_effect: true,
        });
        self.known.file = Some(path.to_owned());
        self.keep_text(content);
        Ok(())
    }

    /// Runs a command.
    pub(super) fn run(&mut self, command: &str) -> Step<()> {
        let need = Need::new(Skill::Run).with_text(Role::Command, command);
        let told = self.ask(&need)?;
        let told = self.whole(told)?;
        // That all went well need not be said; what a command wrote is what was asked for.
        let body = told.body.trim_matches('\n');
        let is_plain = told.status.contains("code 0") && !body.is_empty();
        let output = if is_plain { format!("{body}\n") } else { told.page() };
        self.said.push(Said {
            text: match self.language {
                Language::English => format!("`{command}` was run:\n\n{}", output.trim_end()),
                Language::Chinese => format!("已运行 `{command}`：\n\n{}", output.trim_end()),
            },
            is_effect: true,
        });
        self.keep_text(output);
        Ok(())
    }
}
