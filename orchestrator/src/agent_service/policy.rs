//! The rules by which calls are judged, shown and tried out.

use callboard_proto::agent;
use tonic::Status;

use super::{Agents, team};
use crate::call::{
    failure::Kind,
    policy::{Effect, Rule, lint},
};
use crate::run::event::WantedCall;
use crate::session::wall_ms;

impl Agents {
    /// The rules in force.
    pub(super) fn rules(&self) -> agent::ListRulesResponse {
        let book = self.sessions.shared().calls.rules();
        let standing = book.standing();
        let mut rules: Vec<agent::PolicyRule> =
            standing.config.rules.iter().enumerate().map(shown).collect();
        for warning in lint::warnings(&standing.config, wall_ms()) {
            if let Some(rule) = rules.get_mut(warning.nth) {
                rule.warning = warning.text;
            }
        }
        agent::ListRulesResponse {
            profile: word(&book.profile()),
            rules,
            refused: standing.refused,
        }
    }

    /// What the rules say of a call that is not made.
    pub(super) fn rehearsed(
        &self,
        request: agent::TestRulesRequest,
    ) -> Result<agent::TestRulesResponse, Status> {
        let shared = self.sessions.shared();
        let own = team(request.principal);
        let or = |asked: String, own: &str| if asked.is_empty() { own.to_owned() } else { asked };
        let team = or(request.team, &own);
        let agent = or(request.agent, &shared.config.agent.name);
        let arguments = String::from_utf8(request.arguments)
            .map_err(|_| Status::invalid_argument("the arguments are no UTF-8"))?;
        let wanted = WantedCall { name: request.tool, arguments, ..WantedCall::default() };
        let rehearsed = shared.calls.rehearse(&wanted, (&team, &agent, wall_ms()));
        let (tool, judgement) = rehearsed.map_err(|failure| match failure.kind {
            Kind::NotFound => Status::not_found(failure.message),
            Kind::Unavailable => Status::unavailable(failure.message),
            _ => {
                let violations = failure.violations.iter();
                let violations: Vec<String> =
                    violations.map(|one| format!("{}: {}", one.pointer, one.message)).collect();
                let words = [vec![failure.message.clone()], violations].concat();
                Status::invalid_argument(words.join("; "))
            }
        })?;
        Ok(agent::TestRulesResponse {
            tool: tool.name.clone(),
            verdict: word(&judgement.verdict),
            rule: judgement.rule,
            reason: judgement.reason,
            denied_effects: judgement
                .denied_effects
                .iter()
                .map(|e| e.as_str().to_owned())
                .collect(),
            has_preflight: tool.has_preflight,
        })
    }
}

fn shown((nth, rule): (usize, &Rule)) -> agent::PolicyRule {
    let annotations = rule.annotations.iter().map(|(key, value)| (word(key), *value)).collect();
    agent::PolicyRule {
        name: rule.name_at(nth),
        team: rule.team.clone(),
        agent: rule.agent.clone(),
        tool: rule.tool.clone(),
        effect: rule.effect.map_or("", Effect::as_str).to_owned(),
        annotations,
        condition: rule.condition.clone(),
        expires: rule.expires.map(|expires| expires.to_string()).unwrap_or_default(),
        verdict: word(&rule.verdict),
        reason: rule.reason.clone(),
        warning: String::new(),
    }
}

/// The word that a value of a closed list has in the configuration.
fn word(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_value(value);
    json.ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}
