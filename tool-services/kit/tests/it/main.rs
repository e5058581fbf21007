//! Services of the kit as processes of their own: killed, started again, and short of disk.

#[cfg(test)]
mod crash;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod program;
