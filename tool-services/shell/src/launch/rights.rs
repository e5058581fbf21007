//! Capabilities: kept over one `exec` to build the view, then dropped for good, and limits on what
//! a process may take.
//!
//! Next: `grants.rs`.

use rustix::io::{Errno, Result};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    clear_ambient_capability_set, configure_capability_in_ambient_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::{During as _, LaunchError};

/// Largest file that a command may write.
const FILE_BYTES: u64 = 512 * 1024 * 1024;

/// Files that one process may have open.
const OPEN_FILES: u64 = 1024;

/// Processes of a user; of no effect for root, whose number the census limits.
const PROCESSES: u64 = 4096;

/// Lets the next program have the capabilities of this one, whoever its user is.
pub(super) fn keep_over_exec() -> Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable = sets.permitted;
    set_capabilities(None, sets)?;
    for capability in each().filter(|capability| sets.permitted.contains(*capability)) {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Gives up every capability, so that no program started from here gets one back.
pub(super) fn drop_all() -> std::result::Result<(), LaunchError> {
    let step = "giving up rights";
    let may_shrink = capabilities(None).during(step)?.effective.contains(CapabilitySet::SETPCAP);
    for capability in each() {
        match capability_is_in_bounding_set(capability) {
            Ok(true) if may_shrink => {
                remove_capability_from_bounding_set(capability).during(step)?;
            }
            // The kernel knows no more of them.
            Err(Errno::INVAL) => break,
            // Without the right to shrink it there is nothing that could be gained from it: no new
            // privileges, see below.
            Ok(_) | Err(_) => {}
        }
    }
    clear_ambient_capability_set().during(step)?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).during(step)?;
    set_no_new_privs(true).during(step)
}

/// Limits each process of the command.
pub(super) fn limit(cpu_seconds: u64) -> std::result::Result<(), LaunchError> {
    for (resource, most) in [
        (Resource::Cpu, cpu_seconds),
        (Resource::Fsize, FILE_BYTES),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Nproc, PROCESSES),
        (Resource::Core, 0),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
    ] {
        // Where less is allowed already, that stays.
        let now = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let most = Some(most.min(now));
        setrlimit(resource, Rlimit { current: most, maximum: most })
            .during(format!("limiting {resource:?}"))?;
    }
    Ok(())
}

fn each() -> impl Iterator<Item = CapabilitySet> {
    (0..64).map(|number| CapabilitySet::from_bits_retain(1 << number))
}
