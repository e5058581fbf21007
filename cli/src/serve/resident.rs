//! Keeps a role's memory small: one program holds every role, and starting one reads far more of its
//! text than serving does.
#![expect(unsafe_code, reason = "madvise has no safe wrapper")]

use std::fs;
use std::ops::Range;
use std::time::Duration;

use rustix::mm::{Advice, madvise};

/// When what only the start needed is let go.
const SETTLED: Duration = Duration::from_secs(1);

/// Lets go of the program text that was read while the role started. What is used again is mapped
/// again from the page cache.
pub(super) async fn let_go_of_start() {
    tokio::time::sleep(SETTLED).await;
    let (Ok(program), Ok(maps)) = (std::env::current_exe(), fs::read_to_string("/proc/self/maps"))
    else {
        return;
    };
    for text in maps.lines().filter_map(|line| text_of(line, &program.to_string_lossy())) {
        // SAFETY: the range is a private, read-only, executable mapping of our own program, which
        // nobody writes to and which lives as long as the process: every page of it is read from
        // the file again when it is next used.
        let dropped = unsafe { madvise(text.start as *mut _, text.len(), Advice::LinuxDontNeed) };
        if let Err(error) = dropped {
            tracing::debug!(%error, "text of the start stays mapped");
        }
    }
}

/// The range of a line of `/proc/PID/maps` (proc(5)), if it is text of the program.
fn text_of(line: &str, program: &str) -> Option<Range<usize>> {
    let (range, rest) = line.split_once(' ')?;
    let is_text = rest.starts_with("r-xp ") && rest.ends_with(program);
    let (start, end) = range.split_once('-').filter(|_| is_text)?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some(address(start)?..address(end)?)
}

#[cfg(test)]
mod tests {
    use super::text_of;

    #[test]
    fn only_text_of_the_program_is_let_go() {
        let text = "55a01ae9f000-55a01c5d7000 r-xp 00756000 fe:00 42   /usr/bin/callboard";
        assert_eq!(text_of(text, "/usr/bin/callboard"), Some(0x55a0_1ae9_f000..0x55a0_1c5d_7000));
        for other in [
            "55a01c5d7000-55a01c6a5000 r--p 01e8d000 fe:00 42   /usr/bin/callboard",
            "55a01c6a5000-55a01c6af000 rw-p 01f5a000 fe:00 42   /usr/bin/callboard",
            "7f0000000000-7f0000001000 r-xp 00000000 fe:00 43   /usr/lib/libc.so.6",
            "7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0    [vdso]",
            "nonsense",
            "",
        ] {
            assert_eq!(text_of(other, "/usr/bin/callboard"), None, "{other}");
        }
    }
}
