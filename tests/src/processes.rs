//! Which processes are there, asked of the kernel.

use std::{fs, path::Path};

use rustix::process::{Pid, Signal, kill_process};

/// Process ids whose command line or environment mentions `folder`, our own process left out.
pub fn processes_of(folder: &Path) -> Vec<(u32, String)> {
    let own = std::process::id();
    let needle = folder.as_os_str().as_encoded_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let mentions = |bytes: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
        if pid != own && alive(pid) && (mentions(&command) || mentions(&environment)) {
            let text = String::from_utf8_lossy(&command).replace('\0', " ");
            found.push((pid, text));
        }
    }
    found
}

/// True for a process that is there and no zombie.
pub fn alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which is in parentheses and may hold any character.
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// The process of a role of the installation in `folder`, if there is one.
pub fn role_of(folder: &Path, role: &str) -> Option<u32> {
    let command = format!("serve {role}");
    let of_role = |(pid, line): (u32, String)| line.contains(&command).then_some(pid);
    processes_of(folder).into_iter().find_map(of_role)
}

/// Sends a signal to a process that the test has started.
pub fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}
