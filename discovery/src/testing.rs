//! What several tests of this crate share: a sample instance, and waiting for a condition with a
//! deadline.

use std::{fs::Permissions, os::unix::fs::PermissionsExt as _, time::Duration};

use tokio::sync::watch;

use crate::{Address, Instance, InstanceId, LiveSet, Role, State};

/// Generous: a test fails by it only if the condition never comes.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// A calculator with every field set.
pub(crate) fn instance(id: &str) -> Instance {
    Instance {
        id: id.into(),
        role: Role::Tool,
        team: "default".into(),
        name: "calculator".into(),
        address: Address::Unix("/run/c.sock".into()),
        version: "0.1.0".into(),
        zone: "eu-1".into(),
        capacity: 64,
        state: State::Serving,
        descriptors: "9f2c".into(),
        incarnation: "i-1".into(),
        store: "s-1".into(),
        workspaces: vec!["w-1".into()],
        pid: 4242,
    }
}

/// An orchestrator of its own incarnation.
pub(crate) fn orchestrator(id: &str) -> Instance {
    let incarnation = uuid::Uuid::new_v4().to_string();
    Instance { role: Role::Orchestrator, name: "orchestrator".into(), incarnation, ..instance(id) }
}

/// Holds once the instance is in a confirmed view.
pub(crate) fn has(id: &str) -> impl FnMut(&LiveSet) -> bool {
    let id = InstanceId::from(id);
    move |live| live.confirmed && live.instances.contains_key(&id)
}

/// Holds once the instance is no longer in a confirmed view.
pub(crate) fn lacks(id: &str) -> impl FnMut(&LiveSet) -> bool {
    let id = InstanceId::from(id);
    move |live| live.confirmed && !live.instances.contains_key(&id)
}

/// Waits until the value fits, and answers with it.
pub(crate) async fn until<T: Clone + std::fmt::Debug>(
    receiver: &mut watch::Receiver<T>,
    condition: impl FnMut(&T) -> bool,
) -> T {
    let waited = tokio::time::timeout(DEADLINE, receiver.wait_for(condition)).await;
    let waited = waited.map(|value| value.map(|value| value.clone()));
    if let Ok(value) = waited {
        return value.expect("the view goes on");
    }
    panic!("the condition never came; last value: {:?}", *receiver.borrow())
}

/// A private folder that is removed at the end.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap()
}
