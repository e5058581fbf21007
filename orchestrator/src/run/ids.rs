//! Identifiers as newtypes: opaque text, made at the edges and never inside `run`.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The id as it travels.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// True for the id of nothing.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A session: a UUID, chosen by the gateway.
    SessionId
);
id!(
    /// A run: a UUIDv7, chosen by the gateway.
    RunId
);
id!(
    /// A tool call: a UUIDv7 of ours, and its idempotency key.
    CallId
);
id!(
    /// A rollback: a UUIDv7 of ours.
    RollbackId
);
