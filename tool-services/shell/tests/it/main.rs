//! The shell service through its own gRPC server, with its own program as the launcher: what
//! commands do, how they end, and what they cannot reach.

#[cfg(test)]
mod approval;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod place;
#[cfg(test)]
mod probing;
#[cfg(test)]
mod tricks;
#[cfg(test)]
mod walls;
