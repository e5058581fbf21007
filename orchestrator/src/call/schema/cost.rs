//! How often parts of a schema can be applied along one path into some arguments: an upper bound,
//! so that neither a reference that is used twice at each of many levels nor a recursive type with
//! overlapping branches can keep a checker busy for hours.
//!
//! Branches that go on under different names do not add up: no argument is under both.

use std::collections::HashMap;

use super::Rejected;
use super::graph::{Graph, Label};
use crate::call::arguments;

/// Applications of parts of a schema along one path.
const MAX_STEPS: u64 = 10_000;

/// Columns of the labels that every member or every item meets.
const ANY_MEMBER: usize = 0;
const ANY_ITEM: usize = 1;

/// Refuses a schema that refers to itself in place, or whose branches multiply.
pub(super) fn check(graph: &Graph) -> Result<(), Rejected> {
    let order = bottom_up(graph)?;
    let columns = Columns::new(graph);
    // What one application of a node brings about, where the arguments end at this level.
    let mut steps = vec![0_u64; order.len()];
    for level in 0..=arguments::MAX_DEPTH {
        let before = steps.clone();
        let mut here = vec![1_u64; order.len()];
        let mut open = vec![vec![0_u64; columns.count]; order.len()];
        for &node in &order {
            let mut labels = std::mem::take(&mut open[node]);
            for &child in &graph.same[node] {
                here[node] = here[node].saturating_add(here[child]);
                for (sum, count) in labels.iter_mut().zip(&open[child]) {
                    *sum = sum.saturating_add(*count);
                }
            }
            if level > 0 {
                for (label, child) in &graph.deeper[node] {
                    let sum = &mut labels[columns.of(label)];
                    *sum = sum.saturating_add(before[*child]);
                }
            }
            steps[node] = here[node].saturating_add(columns.worst(&labels));
            open[node] = labels;
        }
        if steps.first().is_some_and(|&total| total > MAX_STEPS) {
            return Err(Rejected::Explosive(MAX_STEPS));
        }
        if steps == before {
            break;
        }
    }
    Ok(())
}

/// A number for each label, so that sums are plain rows.
struct Columns<'a> {
    by_label: HashMap<&'a Label, usize>,
    is_member: Vec<bool>,
    count: usize,
}

impl<'a> Columns<'a> {
    fn new(graph: &'a Graph) -> Self {
        let mut by_label = HashMap::new();
        let mut is_member = vec![true, false];
        for (label, _) in graph.deeper.iter().flatten() {
            if matches!(label, Label::Member(_) | Label::Item(_)) {
                by_label.entry(label).or_insert_with(|| {
                    is_member.push(matches!(label, Label::Member(_)));
                    is_member.len() - 1
                });
            }
        }
        let count = is_member.len();
        Self { by_label, is_member, count }
    }

    fn of(&self, label: &Label) -> usize {
        match label {
            Label::AnyMember => ANY_MEMBER,
            Label::AnyItem => ANY_ITEM,
            Label::Member(_) | Label::Item(_) => self.by_label.get(label).copied().unwrap_or(0),
        }
    }

    /// The most that a single member or item can meet.
    fn worst(&self, labels: &[u64]) -> u64 {
        let (mut member, mut item) = (0, 0);
        for (&count, &is_member) in labels.iter().zip(&self.is_member).skip(2) {
            let most = if is_member { &mut member } else { &mut item };
            *most = count.max(*most);
        }
        let member = labels[ANY_MEMBER].saturating_add(member);
        member.max(labels[ANY_ITEM].saturating_add(item))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Nodes so that whatever is applied at the same place comes first.
fn bottom_up(graph: &Graph) -> Result<Vec<usize>, Rejected> {
    let mut marks = vec![Mark::New; graph.pointers.len()];
    let mut order = Vec::with_capacity(marks.len());
    for start in 0..marks.len() {
        if marks[start] != Mark::New {
            continue;
        }
        // Node and how many of its children were looked at: no recursion over a hostile schema.
        let mut path = vec![(start, 0_usize)];
        marks[start] = Mark::Open;
        while let Some((node, next)) = path.last_mut() {
            let Some(&child) = graph.same[*node].get(*next) else {
                marks[*node] = Mark::Done;
                order.push(*node);
                path.pop();
                continue;
            };
            *next += 1;
            match marks[child] {
                Mark::Open => return Err(Rejected::Cycle(graph.pointers[child].clone())),
                Mark::Done => {}
                Mark::New => {
                    marks[child] = Mark::Open;
                    path.push((child, 0));
                }
            }
        }
    }
    Ok(order)
}
