//! Which tools a model call offers: those used in the run, then the best matches for the task by
//! BM25 over names, descriptions and examples, in the stable order of their names.
//!
//! Pure, and built once for each view. How much context they may take is left to `session`.

use std::collections::HashMap;
use std::sync::Arc;

use super::tokens::tokens;
use super::tool::{AnsweredBy, Tool};
use crate::call::builtin;

/// Tools of the orchestrator's own that are offered unasked.
const MAX_OWN: usize = 8;

/// How much a repeated word counts, and how much long texts are held against a tool: the usual
/// values (<https://en.wikipedia.org/wiki/Okapi_BM25>).
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// A word of the name says more than one of the description, an example's request less than that.
const NAME_WEIGHT: u32 = 3;
const EXAMPLE_WEIGHT: u32 = 2;

/// Words of all tools.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// Tools that hold a word, each with how much it says of them.
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    average: f64,
}

impl Index {
    pub(super) fn new(tools: &[Arc<Tool>]) -> Self {
        let mut index = Self::default();
        for (nth, tool) in tools.iter().enumerate() {
            let mut counts: HashMap<String, u32> = HashMap::new();
            let mut count = |text: &str, weight: u32| {
                for token in tokens(text) {
                    *counts.entry(token).or_default() += weight;
                }
            };
            count(&tool.descriptor.name, NAME_WEIGHT);
            wanted_for(&tool.descriptor.description).for_each(|words| count(words, 1));
            for (request, _) in &tool.descriptor.examples {
                count(request, EXAMPLE_WEIGHT);
            }
            index.lengths.push(counts.values().map(|&n| f64::from(n)).sum());
            for (token, count) in counts {
                index.postings.entry(token).or_default().push((nth, f64::from(count)));
            }
        }
        let total: f64 = index.lengths.iter().sum();
        index.average = total / to_f64(index.lengths.len()).max(1.0);
        index
    }

    /// How well each tool matches; 0 where no word does.
    fn scores(&self, query: &str) -> Vec<f64> {
        let mut scores = vec![0.0; self.lengths.len()];
        let mut words = tokens(query);
        words.sort_unstable();
        words.dedup();
        for word in words {
            let Some(postings) = self.postings.get(&word) else { continue };
            let (with, all) = (to_f64(postings.len()), to_f64(self.lengths.len()));
            let rarity = ((all - with + 0.5) / (with + 0.5)).ln_1p();
            for &(nth, count) in postings {
                let length = self.lengths[nth] / self.average.max(1.0);
                let frequency = count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length));
                scores[nth] += rarity * frequency;
            }
        }
        scores
    }
}

/// The tools for one model call, at most `max`. `tools` are those that can be called, by name.
pub(super) fn select(
    tools: &[Arc<Tool>],
    index: &Index,
    (task, used): (&str, &[String]),
    max: usize,
) -> Vec<Arc<Tool>> {
    let is_own = |tool: &Tool| tool.descriptor.answered_by != AnsweredBy::Service;
    let is_finder = |tool: &Tool| tool.descriptor.name == builtin::FIND_TOOLS;
    let is_used = |tool: &Tool| used.contains(&tool.descriptor.name);
    // Where everything fits, there is nothing to find.
    let all: Vec<usize> =
        (0..tools.len()).filter(|&nth| !is_finder(&tools[nth]) || is_used(&tools[nth])).collect();
    if all.len() <= max {
        return all.into_iter().map(|nth| Arc::clone(&tools[nth])).collect();
    }
    let mut chosen: Vec<usize> = Vec::with_capacity(max);
    let own: Vec<usize> = (0..tools.len()).filter(|&nth| is_own(&tools[nth])).collect();
    let own = own.into_iter().take(MAX_OWN.min(max / 2));
    chosen.extend(own);
    // The latest ones of those used are the likeliest to be used again.
    let latest = used
        .iter()
        .rev()
        .filter_map(|name| (0..tools.len()).find(|&nth| tools[nth].descriptor.name == *name));
    for nth in latest.chain(best(index, task, tools.len())) {
        if chosen.len() < max
            && !chosen.contains(&nth)
            && (!is_own(&tools[nth]) || is_used(&tools[nth]))
        {
            chosen.push(nth);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|nth| Arc::clone(&tools[nth])).collect()
}

/// The best matches for a query among tools that are not the orchestrator's own; only those with a
/// word of it.
pub(super) fn search(
    tools: &[Arc<Tool>],
    index: &Index,
    query: &str,
    max: usize,
) -> Vec<Arc<Tool>> {
    let scores = index.scores(query);
    let matching = best(index, query, tools.len())
        .filter(|&nth| scores[nth] > 0.0)
        .filter(|&nth| tools[nth].descriptor.answered_by == AnsweredBy::Service);
    matching.take(max).map(|nth| Arc::clone(&tools[nth])).collect()
}

/// All tools, the best match first; equals stay in the order of their names.
fn best(index: &Index, query: &str, count: usize) -> impl Iterator<Item = usize> {
    let scores = index.scores(query);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    order.into_iter()
}

/// A description without what it says the tool is not for: those words would attract what they
/// should keep away.
fn wanted_for(description: &str) -> impl Iterator<Item = &str> {
    description.lines().flat_map(|line| {
        let (before, after) = line.split_once("Not for").unwrap_or((line, ""));
        [before, after.split_once(". ").map_or("", |(_, rest)| rest)]
    })
}

fn to_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;
