//! What scripted orchestrators share, as real ones share a database: facts and results by session.

use std::collections::BTreeMap;

use callboard_proto::agent::{Fact, RunSummary, Session};
use serde_json::{Value, json};
use tokio::sync::watch;

/// One session.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    pub(super) session: Session,
    pub(super) facts: Vec<Fact>,
    pub(super) runs: Vec<RunSummary>,
}

/// All sessions; who looks is woken by every change.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    sessions: watch::Sender<BTreeMap<String, Kept>>,
}

impl Journal {
    pub(super) fn watch(&self) -> watch::Receiver<BTreeMap<String, Kept>> {
        self.sessions.subscribe()
    }

    pub(super) fn session(&self, id: &str) -> Option<Kept> {
        self.sessions.borrow().get(id).cloned()
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.sessions.borrow().keys().cloned().collect()
    }

    pub(super) fn open(&self, session: Session) {
        self.sessions.send_modify(|all| {
            let id = session.id.clone();
            all.entry(id).or_insert_with(|| Kept { session, ..Kept::default() });
        });
    }

    pub(super) fn remove(&self, id: &str) {
        self.sessions.send_modify(|all| drop(all.remove(id)));
    }

    /// Appends a fact and answers with its number.
    pub(super) fn append(&self, id: &str, run: &str, kind: &str, fields: &Value) -> u64 {
        let mut seq = 0;
        self.sessions.send_modify(|all| {
            let kept = all.get_mut(id).expect("the session is open");
            seq = kept.facts.len() as u64 + 1;
            kept.session.last_seq = seq;
            kept.facts.push(Fact {
                seq,
                r#type: kind.to_owned(),
                json: fields.to_string(),
                wall_ms: 1_000 + i64::try_from(seq).unwrap(),
                run: run.to_owned(),
                ..Fact::default()
            });
        });
        seq
    }

    /// Begins a run, once for each id.
    pub(super) fn begin(&self, id: &str, run: &RunSummary) {
        if self.session(id).is_some_and(|kept| kept.runs.iter().any(|known| known.id == run.id)) {
            return;
        }
        self.sessions.send_modify(|all| {
            let kept = all.get_mut(id).expect("the session is open");
            kept.session.state = "active".to_owned();
            kept.runs.push(run.clone());
        });
        self.append(id, &run.id, "input.received", &json!({ "run": run.id, "key": run.reason }));
    }

    /// Ends a run with what `change` makes of it.
    pub(super) fn end(&self, id: &str, run: &str, change: impl FnOnce(&mut RunSummary)) {
        self.sessions.send_modify(|all| {
            let kept = all.get_mut(id).expect("the session is open");
            kept.session.state = "idle".to_owned();
            let of = kept.runs.iter_mut().find(|known| known.id == run).expect("the run is known");
            of.status = "completed".to_owned();
            change(of);
        });
        self.append(id, run, "run.ended", &json!({ "run": run, "status": "completed" }));
    }

    /// Waits until a session fits, and answers with it.
    pub(super) async fn until(&self, fits: impl Fn(&Kept) -> bool) -> (String, Kept) {
        let mut sessions = self.watch();
        let found = |all: &BTreeMap<String, Kept>| {
            all.iter().find(|(_, kept)| fits(kept)).map(|(id, kept)| (id.clone(), kept.clone()))
        };
        let all = sessions.wait_for(|all| found(all).is_some()).await.unwrap();
        found(&all).expect("just seen")
    }
}
