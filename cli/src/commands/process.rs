//! What the kernel says of another process on this machine.

/// The letter by which the kernel describes a process: `T` is stopped.
pub(super) fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything, brackets too.
    stat.rsplit_once(") ")?.1.chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_process_is_read_from_the_kernel() {
        assert!(matches!(state(std::process::id()), Some('R' | 'S')));
    }
}
