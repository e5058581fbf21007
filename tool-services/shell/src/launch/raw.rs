//! The two system calls of the launcher that have no safe wrapper. Both only take numbers.

#![expect(unsafe_code, reason = "unshare and close_range have no safe wrapper")]

use std::io;

use rustix::thread::UnshareFlags;

/// Moves this process, or for process ids its children, into namespaces of their own. The table of
/// files stays shared: `FILES` is refused.
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    if flags.contains(UnshareFlags::FILES) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: without `FILES` every descriptor stays valid for every thread.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Marks every descriptor from 3 on so that no program started from here inherits it.
pub(super) fn close_on_exec() -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC.cast_signed();
    // SAFETY: descriptors are only marked, none is closed.
    match unsafe { libc::close_range(3, libc::c_uint::MAX, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
