//! Values of the right type that cannot work: found when the configuration is read, so that no
//! process starts with them. Next: `secrets`.

use callboard_orchestrator::call::{Policy, limits::Limits};
use callboard_orchestrator::model::check_name;

use super::fields::{Fault, FaultKind};
use super::settings::Settings;

/// Everything that cannot work.
pub(super) fn faults(settings: &Settings) -> Vec<Fault> {
    let agent = &settings.orchestrator.agent;
    let bounds = [
        ("max_steps", u64::from(agent.max_steps)),
        ("max_calls", agent.max_calls.into()),
        ("max_parallel", agent.max_parallel.into()),
        ("max_time_ms", agent.max_time_ms),
    ];
    let mut faults: Vec<Fault> = bounds
        .into_iter()
        .filter(|(_, value)| *value == 0)
        .map(|(key, _)| {
            let reason = "0 lets no run do anything; give 1 or more, or leave the key out";
            fault(&format!("orchestrator.agent.{key}"), reason)
        })
        .collect();
    if agent.model.is_empty() {
        faults
            .push(fault("orchestrator.agent.model", "it names no model; leave it out for `auto`"));
    }
    let unknown = agent.model.iter().filter_map(|name| check_name(name).err());
    faults.extend(unknown.map(|error| fault("orchestrator.agent.model", &error.to_string())));
    if let Err(error) = settings.orchestrator.journal.check() {
        faults.push(fault("orchestrator.journal", &error.to_string()));
    }
    if let Err(error) = Limits::new(&settings.orchestrator.calls) {
        let (key, reason) = error.parts();
        faults.push(fault(key, &reason));
    }
    if let Err(error) = Policy::new(&settings.orchestrator.policy, settings.orchestrator.profile) {
        let (key, reason) = error.parts();
        faults.push(fault(key, &reason));
    }
    if let Some(part) = settings.telemetry.wrong_level() {
        let reason = format!(
            "`{part}` is neither a level (off, error, warn, info, debug, trace) nor a target with \
             one, as in `info,callboard=debug`"
        );
        faults.push(fault("telemetry.level", &reason));
    }
    faults
}

fn fault(key: &str, reason: &str) -> Fault {
    Fault { key: key.to_owned(), kind: FaultKind::Invalid(reason.to_owned()) }
}
