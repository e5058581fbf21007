//! Who takes part: the floor and Callboard, each as processes of its own.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use callboard_tests::{Callboard, Stack, processes_of};

/// Clock ticks a second in `/proc/PID/stat` (`getconf CLK_TCK`).
const TICKS: f64 = 100.0;

/// A process of this benchmark that says where it listens.
pub struct Helper {
    child: Child,
    pub address: String,
}

impl Helper {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim().to_owned() }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

enum Processes {
    Floor(Helper, u32),
    Callboard(Box<Callboard>, Box<Stack>),
}

/// Somebody who runs sessions.
pub struct Contestant {
    pub name: &'static str,
    pub url: String,
    pub http: reqwest::Client,
    processes: Processes,
}

impl Contestant {
    pub fn floor(model: &Helper, tool: &Helper) -> Self {
        let floor = Helper::start(&["floor", &model.address, &tool.address]);
        Self {
            name: "floor gateway",
            url: format!("http://{}/v1/runs", floor.address),
            http: callboard_tests::http_client(reqwest::header::HeaderMap::new()),
            processes: Processes::Floor(floor, tool.child.id()),
        }
    }

    pub async fn callboard(name: &'static str, state: &Path, model: &Helper) -> Self {
        let callboard = Callboard::new()
            .env("OPENAI_API_KEY", "none")
            .env("OPENAI_BASE_URL", &format!("http://{}/v1", model.address));
        let state: PathBuf = std::path::absolute(state).unwrap();
        let state = state
            .join(format!("callboard-bench-{}", callboard.home().file_name().unwrap().display()));
        let stack = callboard.up(&["--state", &state.display().to_string()]).await;
        Self {
            name,
            url: format!("{}/v1/runs", stack.url),
            http: stack.client(),
            processes: Processes::Callboard(Box::new(callboard), Box::new(stack)),
        }
    }

    /// Processor time of all its processes so far, the model's not counted.
    pub fn cpu_seconds(&self) -> f64 {
        self.pids().into_iter().map(cpu_seconds).sum()
    }

    pub fn print_memory(&self) {
        if let Processes::Callboard(callboard, _) = &self.processes {
            println!("\nresident after the load, {}", self.name);
            for (pid, command) in processes_of(callboard.home()) {
                let status =
                    std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
                let line =
                    status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
                println!("  {line}  {}", command.split("serve ").nth(1).unwrap_or(&command));
            }
        }
    }

    pub async fn stop(self) {
        if let Processes::Callboard(_, stack) = self.processes {
            assert_eq!(stack.stop().await, 0);
        }
    }

    fn pids(&self) -> Vec<u32> {
        match &self.processes {
            Processes::Floor(floor, tool) => vec![floor.child.id(), *tool],
            Processes::Callboard(callboard, _) => {
                processes_of(callboard.home()).into_iter().map(|(pid, _)| pid).collect()
            }
        }
    }
}

fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |n: usize| fields.get(n).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    // utime and stime: fields 14 and 15 of proc(5), here counted after the name.
    (ticks(11) + ticks(12)) / TICKS
}
