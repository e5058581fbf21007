//! Whether standard output was closed when the program was started.
//!
//! Rust's runtime opens `/dev/null` in the place of a standard stream that is closed, so that an
//! answer would go nowhere and look well written. What was there is only seen before `main`: by a
//! function that the loader calls, which is what `.init_array` is for (ELF's gABI, chapter 5). A look
//! at the descriptor later would take everybody's `>/dev/null` for a closed stream.

#![expect(unsafe_code, reason = "there is no safe way to run before Rust's runtime")]

use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;

/// Makes one system call and nothing else: the runtime is not there yet.
extern "C" fn look() {
    let flags = rustix::io::fcntl_getfd(rustix::stdio::stdout());
    IS_CLOSED.store(flags == Err(rustix::io::Errno::BADF), Ordering::Relaxed);
}

/// Whether nobody can read what is written to standard output, because it was closed.
pub(super) fn is_stdout_closed() -> bool {
    IS_CLOSED.load(Ordering::Relaxed)
}
