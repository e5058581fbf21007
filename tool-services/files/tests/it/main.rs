//! The files service as a process of its own, killed by the system call that it comes to.

#[cfg(test)]
mod killed;
#[cfg(test)]
mod program;
