//! The thread that writes log lines. A line that finds the queue full is dropped and counted; a
//! logger that waits would make the disk part of every run. Files are `logs/rotate.rs`'s.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use tokio::sync::oneshot;

use super::rotate::RotatingFile;

/// Events that may wait for the thread.
const QUEUE: usize = 1024;

/// One event, formatted for the outputs that are on.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) human: Option<String>,
    pub(super) json: Option<String>,
}

#[derive(Debug)]
enum Message {
    Write(Lines),
    Flush(oneshot::Sender<()>),
}

/// Hands lines to the thread.
#[derive(Debug)]
pub(super) struct Sender {
    queue: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
    is_stderr: bool,
    is_file: bool,
}

impl Sender {
    pub(super) fn is_stderr(&self) -> bool {
        self.is_stderr
    }

    pub(super) fn is_file(&self) -> bool {
        self.is_file
    }

    pub(super) fn send(&self, lines: Lines) {
        if self.queue.try_send(Message::Write(lines)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Waits for what was handed over.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: SyncSender<Message>,
}

impl Writer {
    /// Ready when everything sent before is written. The thread goes on, for later lines; whoever
    /// awaits sets the time limit.
    pub(crate) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.queue.try_send(Message::Flush(done)).is_ok() {
            // An error means that the thread is gone, and then nothing is left to wait for.
            let _ = written.await;
        }
    }
}

/// Starts the thread. It ends with the process, or when both handles are gone.
pub(super) fn spawn(
    file: Option<RotatingFile>,
    is_stderr: bool,
    dropped: Arc<AtomicU64>,
) -> io::Result<(Sender, Writer)> {
    let (queue, inbox) = sync_channel(QUEUE);
    let is_file = file.is_some();
    let counter = Arc::clone(&dropped);
    thread::Builder::new()
        .name("callboard-logs".to_owned())
        .stack_size(256 * 1024)
        .spawn(move || run(&inbox, file, &counter))?;
    let writer = Writer { queue: queue.clone() };
    Ok((Sender { queue, dropped, is_stderr, is_file }, writer))
}

fn run(inbox: &Receiver<Message>, mut file: Option<RotatingFile>, dropped: &AtomicU64) {
    while let Ok(message) = inbox.recv() {
        match message {
            Message::Write(lines) => {
                if let Some(line) = &lines.human {
                    // Nobody is left to tell when standard error is closed.
                    let _ = io::stderr().lock().write_all(line.as_bytes());
                }
                if let (Some(file), Some(line)) = (&mut file, &lines.json)
                    && file.write(line.as_bytes()).is_err()
                {
                    dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            // A caller that stopped waiting does not care.
            Message::Flush(done) => drop(done.send(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, atomic::Ordering, mpsc::sync_channel},
        time::Duration,
    };

    use tokio::time;

    use crate::logs::rotate::RotatingFile;

    use super::{Lines, Sender, spawn};

    fn line() -> Lines {
        Lines { human: None, json: Some("{}\n".to_owned()) }
    }

    #[test]
    fn a_line_that_finds_the_queue_full_is_dropped_and_counted() {
        let (queue, _inbox) = sync_channel(2);
        let dropped = Arc::default();
        let sender = Sender { queue, dropped, is_stderr: false, is_file: true };
        for _ in 0..5 {
            sender.send(line());
        }
        assert_eq!(sender.dropped.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn lines_for_a_full_disk_are_counted_and_stop_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = RotatingFile::full_disk(folder.path());
        let (sender, writer) = spawn(Some(file), false, Arc::default()).unwrap();
        sender.send(line());
        sender.send(line());
        time::timeout(Duration::from_secs(10), writer.flush()).await.unwrap();
        assert_eq!(sender.dropped.load(Ordering::Relaxed), 2);
    }
}
