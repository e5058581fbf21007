//! The load: sessions from a number of clients, and what they cost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use serde_json::{Value, json};

use crate::{CALLS, contestant::Contestant};

#[derive(Clone, Copy)]
pub struct Figures {
    pub p50_ms: f64,
    pub per_second: f64,
    pub cpu_per_1000: f64,
}

pub async fn run(contestant: &Contestant, concurrency: usize, sessions: usize) -> Figures {
    let left = Arc::new(AtomicUsize::new(sessions));
    let (cpu, since) = (contestant.cpu_seconds(), Instant::now());
    let clients = (0..concurrency).map(|_| {
        let (left, http, url) =
            (Arc::clone(&left), contestant.http.clone(), contestant.url.clone());
        tokio::spawn(async move {
            let mut times = Vec::new();
            while left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                .is_ok()
            {
                let since = Instant::now();
                let body = json!({"input": "work", "wait": true});
                let answer = http.post(&url).json(&body).send().await.unwrap();
                let answer: Value = answer.json().await.unwrap();
                assert_eq!(answer["status"], "completed", "{answer}");
                times.push(since.elapsed().as_secs_f64() * 1000.0);
            }
            times
        })
    });
    let mut times = Vec::new();
    for client in clients.collect::<Vec<_>>() {
        times.extend(client.await.unwrap());
    }
    let seconds = since.elapsed().as_secs_f64();
    let calls = (sessions * CALLS) as f64;
    Figures {
        p50_ms: median(times),
        per_second: sessions as f64 / seconds,
        cpu_per_1000: (contestant.cpu_seconds() - cpu) / calls * 1000.0,
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
