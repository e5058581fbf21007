//! How many appends a second a journal takes from 64 sessions.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use callboard_orchestrator::{
    journal::{
        Append, Epoch, Journal, SessionState,
        postgres::{Config as PostgresConfig, PostgresJournal},
        sqlite::{Config as SqliteConfig, SqliteJournal},
    },
    run::event::{Event, ProgressMissed, Recorded, SessionOpened},
};
use tokio::sync::Mutex;
use uuid::Uuid;

/// Sessions that append at the same time, each waiting for its answer.
const SESSIONS: usize = 64;
/// How long each way is measured in a round.
const WINDOW: Duration = Duration::from_millis(1500);
/// Rounds, the two ways in turn.
const ROUNDS: usize = 3;
const EPOCH: Epoch = Epoch { generation: 1, revision: 1 };

/// Medians of all rounds.
pub struct Rates {
    /// Appends a second where each waits for a sync of its own.
    pub alone: f64,
    /// Appends a second where they share syncs.
    pub shared: f64,
    /// How many shared one.
    pub appends_a_sync: f64,
}

impl Rates {
    pub fn line(&self) -> String {
        format!("{} {} {}", self.alone, self.shared, self.appends_a_sync)
    }

    pub fn parse(line: &str) -> Self {
        let mut numbers = line.split_whitespace().map(|number| number.parse().unwrap());
        let mut next = || numbers.next().unwrap();
        Self { alone: next(), shared: next(), appends_a_sync: next() }
    }
}

pub async fn sqlite(folder: &Path) -> Rates {
    let config = SqliteConfig::new(folder.join("journal.db"));
    let journal = Arc::new(SqliteJournal::open(config).await.unwrap());
    let counted = Arc::clone(&journal);
    measure(journal, move || counted.commits()).await
}

pub async fn postgres(url: &str) -> Rates {
    let journal = Arc::new(PostgresJournal::open(PostgresConfig::new(url)).await.unwrap());
    let counted = Arc::clone(&journal);
    measure(journal, move || counted.commits()).await
}

async fn measure(journal: Arc<dyn Journal>, commits: impl Fn() -> usize) -> Rates {
    assert_eq!(journal.claim(&[(3, EPOCH)], "bench").await.unwrap(), [3]);
    let mut sequences = vec![0; SESSIONS];
    let (mut alone, mut shared, mut together) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let turn = Arc::new(Mutex::new(()));
        let one_each = run(&journal, &mut sequences, Some(turn)).await;
        let before = commits();
        let grouped = run(&journal, &mut sequences, None).await;
        // The first round is for warming up.
        if round > 0 {
            alone.push(one_each / WINDOW.as_secs_f64());
            shared.push(grouped / WINDOW.as_secs_f64());
            together.push(grouped / (commits() - before) as f64);
        }
    }
    assert_eq!(journal.verify().await.unwrap(), []);
    journal.close().await;
    Rates { alone: median(alone), shared: median(shared), appends_a_sync: median(together) }
}

/// Appends for a while; how many. With a `turn`, each append is done before the next one begins.
async fn run(
    journal: &Arc<dyn Journal>,
    sequences: &mut [u64],
    turn: Option<Arc<Mutex<()>>>,
) -> f64 {
    let until = Instant::now() + WINDOW;
    let tasks: Vec<_> = sequences
        .iter()
        .enumerate()
        .map(|(session, seq)| {
            let (journal, turn, mut seq) = (Arc::clone(journal), turn.clone(), *seq);
            tokio::spawn(async move {
                while Instant::now() < until {
                    let _turn = match &turn {
                        Some(turn) => Some(turn.lock().await),
                        None => None,
                    };
                    seq = journal.submit(append(session, seq + 1)).await.unwrap().unwrap();
                }
                seq
            })
        })
        .collect();
    let mut count = 0;
    for (seq, task) in sequences.iter_mut().zip(tasks) {
        let last = task.await.unwrap();
        count += last - *seq;
        *seq = last;
    }
    count as f64
}

/// One event of the size of a small tool result.
fn append(session: usize, seq: u64) -> Append {
    let event = if seq == 1 {
        Event::SessionOpened(SessionOpened { team: "t".to_owned(), ..SessionOpened::default() })
    } else {
        Event::ProgressMissed(ProgressMissed { run: "r".into(), message: "x".repeat(200) })
    };
    Append {
        session: format!("session-{session}").as_str().into(),
        partition: 3,
        epoch: EPOCH,
        append_id: Uuid::now_v7(),
        expected_seq: seq,
        events: vec![Recorded {
            seq,
            wall_ms: 1_700_000_000_000,
            elapsed_ms: 0,
            trace_context: String::new(),
            event,
        }],
        state: SessionState::Active,
        wake_at_ms: None,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
