//! What a listener is told while a reply comes.

use std::time::Duration;

use tokio::sync::mpsc;

use super::Delta;

/// The listener of one model call, and whether it was shown text that may become void.
#[derive(Debug)]
pub(super) struct Glimpses<'a> {
    deltas: &'a mpsc::Sender<Delta>,
    has_shown_text: bool,
}

impl<'a> Glimpses<'a> {
    pub(super) fn new(deltas: &'a mpsc::Sender<Delta>) -> Self {
        Self { deltas, has_shown_text: false }
    }

    /// More text. Waits while the listener is behind; that nobody listens does not matter.
    pub(super) async fn text(&mut self, text: String) {
        if !text.is_empty() {
            self.has_shown_text = true;
            let _ = self.deltas.send(Delta::Text(text)).await;
        }
    }

    /// Withdraws the text so far before another try.
    pub(super) async fn restart(&mut self) {
        if std::mem::take(&mut self.has_shown_text) {
            let _ = self.deltas.send(Delta::Restarted).await;
        }
    }

    /// The next try comes after `wait`. A pause too short to notice is not told, nor is any to a
    /// listener who is behind.
    pub(super) fn waiting(&self, wait: Duration) {
        if wait >= Duration::from_secs(1) {
            let seconds = wait.as_millis().div_ceil(1_000);
            let _ =
                self.deltas.try_send(Delta::Waiting(format!("waiting for the model, {seconds} s")));
        }
    }

    /// The model is silent since `so_far`.
    pub(super) fn silent(&self, so_far: Duration) {
        let text = format!("the model has been silent for {} s", so_far.as_secs());
        let _ = self.deltas.try_send(Delta::Waiting(text));
    }
}
