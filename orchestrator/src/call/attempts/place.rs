//! Where a call can go, and who can say what became of it, in one view of the catalog.

use std::sync::Arc;

use super::Job;
use crate::call::failure::{Failure, Kind};
use crate::call::retry::{AttemptError, Reach};
use crate::catalog::{Instance, Snapshot, Tool};
use crate::run::event::AttemptStarted;

/// The tool as the call was planned with it, and who serves it now.
pub(super) fn tool<'a>(snapshot: &'a Snapshot, job: Job<'_>) -> Option<&'a Arc<Tool>> {
    let planned = &job.call.planned;
    snapshot.variant(&job.context.team, &planned.service, &planned.descriptor_digest)
}

/// Whether the tool is served, and is not what it was when the call was planned.
pub(super) fn is_another(snapshot: &Snapshot, job: Job<'_>) -> bool {
    let planned = &job.call.planned;
    let current = snapshot.tool(&job.context.team, &planned.tool);
    tool(snapshot, job).is_none() && current.is_some_and(|current| !current.instances.is_empty())
}

/// Why no instance can take the call.
pub(super) fn why_none(snapshot: &Snapshot, job: Job<'_>) -> AttemptError {
    if is_another(snapshot, job) {
        return AttemptError::Failed(Failure::new(
            Kind::Conflict,
            "the tool has changed since the call was planned, and was not run; call it again as \
             it is now",
        ));
    }
    AttemptError::NotSent
}

/// Who can say what became of an attempt: the same incarnation, or one with the same store.
pub(super) fn of(
    snapshot: &Snapshot,
    job: Job<'_>,
    started: &AttemptStarted,
) -> Option<Arc<Instance>> {
    holder(snapshot.instances_of(&job.context.team, &job.call.planned.service), started)
}

/// Which of the instances of a service holds what an attempt left: the same incarnation, or one with
/// the same store.
pub(in crate::call) fn holder(
    instances: &[Arc<Instance>],
    started: &AttemptStarted,
) -> Option<Arc<Instance>> {
    let same = instances.iter().find(|one| one.incarnation == started.incarnation);
    let shares = |one: &&Arc<Instance>| !started.store.is_empty() && one.store == started.store;
    same.or_else(|| instances.iter().find(shares)).map(Arc::clone)
}

/// Whether the place that an attempt went to can still be asked.
pub(super) fn reach(snapshot: &Snapshot, job: Job<'_>, started: &AttemptStarted) -> Reach {
    match of(snapshot, job, started) {
        Some(place) if place.incarnation == started.incarnation => Reach::Same,
        Some(_) => Reach::Store,
        None => Reach::Gone,
    }
}
