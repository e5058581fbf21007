//! One connection for each orchestrator, made when it is first needed and kept until the
//! orchestrator has left.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use callboard_discovery::{
    Instance, InstanceId,
    transport::{self, Channel, Credentials},
};
use callboard_proto::{agent::agent_service_client::AgentServiceClient, size};
use tracing::error;

use crate::problem::{Kind, Problem};

/// Speaks to one orchestrator.
pub(crate) type Client = AgentServiceClient<Channel>;

pub(super) struct Channels {
    credentials: Credentials,
    open: Mutex<HashMap<InstanceId, (String, Client)>>,
}

impl Channels {
    pub(super) fn new(credentials: Credentials) -> Self {
        Self { credentials, open: Mutex::default() }
    }

    /// A client for this very incarnation of an instance.
    pub(super) fn client(&self, instance: &Instance) -> Result<Client, Problem> {
        let mut open = self.open();
        if let Some((incarnation, client)) = open.get(&instance.id)
            && *incarnation == instance.incarnation
        {
            return Ok(client.clone());
        }
        let channel = transport::channel(&instance.address, &self.credentials);
        let channel = channel.map_err(|error| {
            error!(instance = %instance.id, %error, "orchestrator cannot be called");
            Problem::new(Kind::Internal, "The orchestrator cannot be called; the log says why.")
        })?;
        let client = AgentServiceClient::new(channel)
            .max_decoding_message_size(size::NOTICE)
            .max_encoding_message_size(size::MESSAGE);
        open.insert(instance.id.clone(), (instance.incarnation.clone(), client.clone()));
        Ok(client)
    }

    /// Closes the connections to those that have left.
    pub(super) fn retain(&self, is_live: impl Fn(&InstanceId) -> bool) {
        self.open().retain(|id, _| is_live(id));
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<InstanceId, (String, Client)>> {
        // A map of plain values is whole whatever its last holder did.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
