//! How roles reach one another, and who may: a Unix socket in a private folder between processes
//! of one user, or TCP with the deployment token. A server calls [`bind`] and puts a [`Guard`]
//! around its services; a client calls [`channel`]. Which instance to call is decided elsewhere.
//! Read `token.rs`, `listen.rs`, `connection.rs`, `guard.rs`, `channel.rs` in this order.

mod token;
mod listen;
mod connection;
mod guard;
mod channel;

pub use self::{
    channel::{Channel, ChannelError, channel},
    connection::{Connection, Peer},
    guard::{Guard, Guarded},
    listen::{BindError, Bound, bind},
    token::{Credentials, DeploymentToken, TokenError},
};

#[cfg(test)]
mod tests;
