//! Ids of calls within one request: each once, each result with its own call.

use std::collections::{HashMap, HashSet, VecDeque};

/// Longest id that providers take.
const MAX_ID: usize = 40;

/// Gives out ids while the messages of a request are written in order.
#[derive(Debug, Default)]
pub(super) struct Ids {
    used: HashSet<String>,
    open: HashMap<String, VecDeque<String>>,
}

impl Ids {
    /// A new assistant message begins: results that are still missing will not come.
    pub(super) fn next_step(&mut self) {
        self.open.clear();
    }

    /// The id to send for a call.
    pub(super) fn call(&mut self, id: &str) -> String {
        let sent = self.unused(&plain(id));
        self.used.insert(sent.clone());
        self.open.entry(id.to_owned()).or_default().push_back(sent.clone());
        sent
    }

    /// The id to send for the result of a call.
    pub(super) fn result(&mut self, id: &str) -> String {
        let sent = self.open.get_mut(id).and_then(VecDeque::pop_front);
        sent.unwrap_or_else(|| plain(id))
    }

    fn unused(&self, wanted: &str) -> String {
        if !self.used.contains(wanted) {
            return wanted.to_owned();
        }
        let numbered = |number: u32| {
            let suffix = format!("-{number}");
            let kept = wanted.len().min(MAX_ID - suffix.len());
            format!("{}{suffix}", &wanted[..kept])
        };
        (2..=u32::MAX)
            .map(numbered)
            .find(|id| !self.used.contains(id))
            .unwrap_or_else(|| wanted.to_owned())
    }
}

/// ASCII only, so that it can be cut at any byte.
fn plain(id: &str) -> String {
    let is_plain = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let mut plain: String =
        id.chars().map(|char| if is_plain(&char) { char } else { '_' }).collect();
    // The end of a long id is what tells it from others.
    if plain.len() > MAX_ID {
        plain.drain(..plain.len() - MAX_ID);
    }
    if plain.is_empty() { "call".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_comes_again_gets_a_number_and_so_does_its_result() {
        let mut ids = Ids::default();
        ids.next_step();
        assert_eq!([ids.call("call_0"), ids.call("call_0")], ["call_0", "call_0-2"]);
        assert_eq!([ids.result("call_0"), ids.result("call_0")], ["call_0", "call_0-2"]);
        ids.next_step();
        assert_eq!(ids.call("call_0"), "call_0-3");
        assert_eq!(ids.result("call_0"), "call_0-3");
    }

    #[test]
    fn ids_that_a_provider_would_refuse_are_made_plain() {
        let mut ids = Ids::default();
        assert_eq!(ids.call("a b/ü"), "a_b__");
        assert_eq!(ids.call(""), "call");
        let long = "x".repeat(60);
        assert_eq!(ids.call(&long).len(), MAX_ID);
        assert_eq!(ids.call(&long).len(), MAX_ID);
        assert_eq!(ids.used.len(), 4);
    }
}
