//! The ledger on the kit as a program of its own, which can be killed as one. The program is the test's
//! own: a test that does nothing unless it is asked to be a ledger.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::on_kit;

/// The variable that names the file of the lines; without it nobody asks for a ledger.
const BOOK: &str = "LEDGER_BOOK";

/// Where a ledger of its own process finds the rest of its cluster.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    /// The members of etcd, and the keys of the cluster.
    pub(crate) etcd: (String, &'a str),
    /// File with the deployment token.
    pub(crate) token: PathBuf,
    /// File of the lines, which all ledgers of a cluster share.
    pub(crate) book: &'a Path,
    /// Folder with what the kit keeps; ledgers that share it know of each other's calls.
    pub(crate) store: PathBuf,
}

impl Place<'_> {
    /// What the process is started with.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let path = |path: &Path| path.display().to_string();
        vec![
            (BOOK, path(self.book)),
            ("CALLBOARD_ETCD", self.etcd.0.clone()),
            ("CALLBOARD_ETCD_PREFIX", self.etcd.1.to_owned()),
            ("CALLBOARD_LISTEN", "tcp:127.0.0.1:0".to_owned()),
            ("CALLBOARD_TOKEN_FILE", path(&self.token)),
            ("CALLBOARD_STORE", path(&self.store)),
            ("CALLBOARD_TEAM", "default".to_owned()),
        ]
    }
}

/// Serves the ledger where this process was asked to, until it is killed or the one that started it is
/// gone; else returns at once.
pub fn ledger_if_asked() {
    let Some(book) = std::env::var_os(BOOK) else { return };
    std::thread::spawn(|| {
        // Standard input ends with the process that holds its other end.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let ended = callboard_tool::main(|| on_kit::service(Path::new(&book)));
    assert_eq!(ended, ExitCode::SUCCESS);
}
