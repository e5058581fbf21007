//! The checks of `doctor`, each on one thing. None changes anything.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use callboard_orchestrator::journal::{self, Damage};
use callboard_orchestrator::model::{self, Models};

use super::{Finding, Level};
use crate::commands::connect;
use crate::commands::here::Here;
use crate::commands::process;
use crate::place::Place;
use crate::stack::control;
use crate::stack::join;
use crate::stack::lock::{self, Holder};

/// File systems over a network, by the magic number that `statfs` gives: their locks do not hold
/// what SQLite and the stack's lock need. From `linux/magic.h` and `cifs/smb2glob.h`.
const NETWORK: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9p"),
    (0x5346_414f, "AFS"),
    (0x00c3_6400, "Ceph"),
    (0x6573_5546, "FUSE"),
];

fn fine(check: &'static str, message: impl Into<String>) -> Finding {
    Finding { check, level: Level::Fine, message: message.into() }
}

fn warning(check: &'static str, message: impl Into<String>) -> Finding {
    Finding { check, level: Level::Warning, message: message.into() }
}

fn problem(check: &'static str, message: impl Into<String>) -> Finding {
    Finding { check, level: Level::Problem, message: message.into() }
}

/// Whether the configuration can be used.
pub(super) fn configuration(here: &Here) -> Finding {
    match here.load() {
        Ok(_) => fine("configuration", "`callboard config` shows it"),
        Err(error) => problem("configuration", format!("{error:#}")),
    }
}

/// Which models a run would ask at the moment; nothing where the configuration cannot be used.
pub(super) async fn models(here: &Here) -> Option<Finding> {
    const CHECK: &str = "models";
    let settings = here.load().ok()?.settings.orchestrator;
    let models = model::http_client(&settings.models)
        .and_then(|http| Models::new(settings.models.clone(), http));
    let models = match models {
        Ok(models) => models,
        Err(error) => return Some(problem(CHECK, error.to_string())),
    };
    models.probe().await;
    Some(match models.resolve(&settings.agent.model) {
        Ok(names) if names == ["offline"] => fine(
            CHECK,
            "`offline`, a planner without a language model: set OPENAI_API_KEY or OPENAI_BASE_URL, \
             or start Ollama, for more",
        ),
        Ok(names) => fine(CHECK, names.join(", then ")),
        Err(unknown) => problem(CHECK, unknown.to_string()),
    })
}

/// The file system and the permissions of the state folder.
pub(super) fn state(place: &Place) -> Vec<Finding> {
    const CHECK: &str = "state folder";
    let state = place.state.display();
    let mut findings = Vec::new();
    match network(&place.state) {
        Ok(Some(name)) => findings.push(warning(
            CHECK,
            format!(
                "{state} is on a network file system ({name}), whose locks and syncs cannot be \
                 relied on: choose a folder on a local disk with --state DIR"
            ),
        )),
        Ok(None) => {}
        Err(error) => findings.push(problem(CHECK, format!("{state}: {error}"))),
    }
    match std::fs::metadata(&place.state) {
        Ok(found) if found.mode() & 0o077 != 0 => findings.push(warning(
            CHECK,
            format!(
                "other users may enter {state}, which holds tokens and conversations: chmod 700"
            ),
        )),
        Ok(_) => {}
        Err(error) => findings.push(problem(CHECK, format!("{state}: {error}"))),
    }
    if findings.is_empty() {
        findings.push(fine(CHECK, state.to_string()));
    }
    findings
}

/// Whether commands can be kept away from what they must not reach, found out by trying.
pub(super) fn sandbox() -> Finding {
    const CHECK: &str = "sandbox";
    let found = callboard_shell::probe();
    let problems = found.problems.join("; ");
    match found.isolation {
        None => warning(CHECK, format!("the shell service offers no commands here: {problems}")),
        Some(_) if found.problems.is_empty() => fine(CHECK, "commands are walled in"),
        Some(_) => warning(CHECK, format!("commands are walled in, but: {problems}")),
    }
}

/// Whether tokens can be read by their owner alone.
pub(super) fn tokens(here: &Here) -> Vec<Finding> {
    const CHECK: &str = "tokens";
    let configured = here.load().ok().and_then(|loaded| loaded.settings.discovery.token_file);
    let own = here.place().ok().map(|place| place.state.join("api-token"));
    let mut findings = Vec::new();
    for file in configured.iter().chain(&own) {
        let Ok(found) = std::fs::metadata(file) else { continue };
        let (file, mode) = (file.display(), found.mode() & 0o777);
        findings.push(if mode & 0o077 != 0 {
            warning(CHECK, format!("other users may read {file} (mode {mode:o}): chmod 600"))
        } else {
            fine(CHECK, file.to_string())
        });
    }
    findings
}

/// Who holds the state folder, and whether it can be reached.
pub(super) async fn holder(place: &Place) -> Finding {
    const CHECK: &str = "lock";
    match lock::holder(&place.state) {
        Ok(Holder::Nobody) => fine(CHECK, "no stack runs on this state folder"),
        Ok(holder) => match holder.pid().and_then(process::state) {
            Some('T') => warning(
                CHECK,
                format!("{holder} holds the state folder and is stopped: kill -CONT or end it"),
            ),
            _ if matches!(holder, Holder::Ending(_)) => {
                fine(CHECK, format!("{holder} is ending its stack on this state folder"))
            }
            _ if join::answers(place).await => {
                fine(CHECK, format!("{holder} runs a stack on this state folder"))
            }
            _ => problem(
                CHECK,
                format!(
                    "{holder} runs a stack on this state folder and does not answer on {}: end it{}",
                    place.sockets.join(control::NAME).display(),
                    holder.pid().map_or(String::new(), |pid| format!(" with `kill {pid}`"))
                ),
            ),
        },
        Err(error) => problem(CHECK, format!("the lock cannot be read: {error}")),
    }
}

/// Whether the journal is whole: each damaged session is named with its first event that cannot be
/// trusted. A configuration that cannot be read is another check's finding.
pub(super) async fn journal(here: &Here, place: &Place) -> Vec<Finding> {
    match here.load() {
        Ok(loaded) => journal_at(&loaded.settings.orchestrator.journal, &place.state).await,
        Err(_) => Vec::new(),
    }
}

async fn journal_at(config: &journal::config::Config, state: &Path) -> Vec<Finding> {
    const CHECK: &str = "journal";
    match journal::config::inspect(config, state).await {
        Ok(None) => vec![fine(CHECK, "none yet: it begins with the first session")],
        Ok(Some(found)) => {
            let damages = found.damages.iter().map(|damage| problem(CHECK, sentence(damage)));
            let warnings = found.warnings.iter().map(|text| warning(CHECK, text.clone()));
            let mut findings: Vec<Finding> = damages.chain(warnings).collect();
            if found.damages.is_empty() {
                findings.insert(0, fine(CHECK, format!("{} is whole", found.place)));
            }
            findings
        }
        Err(error) => vec![problem(CHECK, error.to_string())],
    }
}

/// Which sessions a running stack refuses; nothing where none runs.
pub(super) async fn refused(here: &Here) -> Vec<Finding> {
    const CHECK: &str = "sessions";
    let Ok(Some(connection)) = connect::open_running(here).await else { return Vec::new() };
    let figures = connection.client.get("/v1/status").await;
    connection.close().await;
    let Ok(figures) = figures else { return Vec::new() };
    let count = figures["refused_sessions"].as_u64().unwrap_or_default();
    if count == 0 {
        return vec![fine(CHECK, "none is refused")];
    }
    let text = |of: &serde_json::Value| of.as_str().unwrap_or_default().to_owned();
    let named = figures["refused"].as_array().into_iter().flatten().map(|one| {
        let (session, reason) = (text(&one["session"]), text(&one["reason"]));
        problem(
            CHECK,
            format!(
                "session {session} is refused: {reason}; `callboard sessions export {session}` \
                 saves what can be read of it, `callboard sessions delete {session}` removes it"
            ),
        )
    });
    let mut findings: Vec<Finding> = named.collect();
    if findings.is_empty() {
        findings.push(problem(CHECK, format!("{count} refused, of another team or unreadable")));
    }
    findings
}

fn sentence(damage: &Damage) -> String {
    match (&damage.session, damage.seq) {
        (Some(session), Some(seq)) => {
            format!("session {session} cannot be trusted from event {seq} on: {}", damage.what)
        }
        (Some(session), None) => format!("session {session}: {}", damage.what),
        (None, _) => damage.what.clone(),
    }
}

/// Name of the network file system that a folder is on.
fn network(folder: &Path) -> rustix::io::Result<Option<&'static str>> {
    let kind = rustix::fs::statfs(folder)?.f_type;
    // The kernel's type is signed on some machines; the magic numbers have 32 bits.
    let kind = u64::from_ne_bytes(kind.to_ne_bytes()) & 0xffff_ffff;
    Ok(NETWORK.iter().find(|(magic, _)| *magic == kind).map(|(_, name)| *name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn place() -> (tempfile::TempDir, Place) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        (folder, Place { workspace: path.clone(), state: path.clone(), sockets: path })
    }

    #[test]
    fn a_folder_that_others_may_enter_is_a_warning() {
        let (folder, place) = place();
        let set = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(folder.path(), permissions).unwrap();
        };
        set(0o700);
        assert_eq!(state(&place)[0].level, Level::Fine);
        set(0o755);
        let found = &state(&place)[0];
        assert_eq!(found.level, Level::Warning);
        assert!(found.message.contains("chmod 700"), "{}", found.message);
    }

    #[tokio::test]
    async fn the_holder_of_the_lock_is_named_and_must_answer() {
        let (_folder, place) = place();
        assert!(holder(&place).await.message.starts_with("no stack"));
        let mut lock = lock::take(&place.state).unwrap().unwrap();
        let found = holder(&place).await;
        assert_eq!(found.level, Level::Problem);
        let kill = format!("`kill {}`", std::process::id());
        assert!(found.message.contains(&kill), "{}", found.message);
        lock.note_end();
        assert_eq!(holder(&place).await.level, Level::Fine);
    }

    #[tokio::test]
    async fn a_journal_that_is_none_is_a_problem() {
        let (folder, place) = place();
        let embedded = journal::config::Config::default();
        assert_eq!(journal_at(&embedded, &place.state).await[0].level, Level::Fine, "none yet");
        std::fs::write(folder.path().join("journal.db"), "no database").unwrap();
        assert_eq!(journal_at(&embedded, &place.state).await[0].level, Level::Problem);
    }
}
