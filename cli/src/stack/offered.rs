//! Whether the tools of a stack can be called: the orchestrator has to have found each service and
//! asked it what it offers, which takes a moment after the service is registered. Next: `clients`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use crate::client::Client;

/// Pause between two looks, while all processes of the stack are starting.
const EVERY: Duration = Duration::from_millis(3);

/// Resolves once the gateway lists tools of all `instances`.
pub(super) async fn by_all(gateway: PathBuf, instances: BTreeSet<String>) {
    let Ok(client) = Client::unix(&gateway) else { return };
    loop {
        // An error is a gateway or an orchestrator that is not there yet.
        if let Ok(listed) = client.get("/v1/tools").await
            && instances.is_subset(&instances_in(&listed))
        {
            return;
        }
        sleep(EVERY).await;
    }
}

fn instances_in(listed: &Value) -> BTreeSet<String> {
    let tools = listed["tools"].as_array().into_iter().flatten();
    let instances = tools.flat_map(|tool| tool["instances"].as_array().into_iter().flatten());
    instances.filter_map(|instance| Some(instance["id"].as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn instances_of_all_tools_are_seen_once() {
        let listed = json!({"tools": [
            {"name": "a", "instances": [{"id": "x-1"}, {"id": "x-2"}]},
            {"name": "b", "instances": [{"id": "x-1"}]},
            {"name": "c", "instances": []},
        ]});
        assert_eq!(instances_in(&listed), ["x-1".to_owned(), "x-2".to_owned()].into());
        assert_eq!(instances_in(&json!({"detail": "not ready"})), BTreeSet::new());
    }
}
