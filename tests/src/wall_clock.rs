//! A wall clock that a test sets, for the processes that it starts with it: a small library between them
//! and the kernel, built by the compiler that links everything else.

use std::{
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// A wall clock for some processes; it is right until it is set.
#[derive(Debug)]
pub struct WallClock {
    file: std::fs::File,
    folder: TempDir,
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new()
    }
}

impl WallClock {
    /// Builds the library.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("cb-clock").tempdir().unwrap();
        let source = folder.path().join("wall_clock.c");
        std::fs::write(&source, include_str!("wall_clock.c")).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library(folder.path()), &source])
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let file = std::fs::File::options()
            .create_new(true)
            .write(true)
            .open(folder.path().join("off"))
            .unwrap();
        let clock = Self { file, folder };
        clock.set(0);
        clock
    }

    /// Sets it so many seconds before or after the right time.
    pub fn set(&self, off: i64) {
        self.file.write_all_at(&off.to_ne_bytes(), 0).unwrap();
    }

    /// What a process that is to have this clock is started with.
    pub fn environment(&self) -> [(&'static str, String); 2] {
        let path = |path: PathBuf| path.display().to_string();
        let folder = self.folder.path();
        [("LD_PRELOAD", path(library(folder))), ("WALL_CLOCK", path(folder.join("off")))]
    }
}

fn library(folder: &Path) -> PathBuf {
    folder.join("libwallclock.so")
}
