//! Which instance an attempt goes to.
//!
//! Pure: the better of two drawn at random (power of two choices) by latency and load, or for
//! session-bound tools the one that a hash of the session names. Only instances that take new calls
//! and serve the call's workspace; ejected ones are left out, but never the last one. What is done
//! when the attempt fails is decided in `retry`.

use sha2::{Digest, Sha256};

/// An instance that serves the tool.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its id.
    pub id: &'a str,
    /// Whether it takes new calls.
    pub is_serving: bool,
    /// Workspaces that it serves; empty = any.
    pub workspaces: &'a [String],
    /// Whether it is left out for failing.
    pub is_ejected: bool,
    /// What another call would cost there.
    pub cost: f64,
}

/// What a call asks of an instance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish<'a> {
    /// Workspace to work in; empty for none.
    pub workspace: &'a str,
    /// Session whose calls must meet the same instance.
    pub session: Option<&'a str>,
    /// Instance that failed the call before: taken only if there is no other.
    pub avoid: Option<&'a str>,
}

/// Chooses among candidates; `None` if none can serve the call. `draw` are two random numbers.
pub fn pick(candidates: &[Candidate<'_>], wish: Wish<'_>, draw: (u64, u64)) -> Option<usize> {
    let serves = |candidate: &Candidate<'_>| {
        candidate.is_serving
            && (wish.workspace.is_empty()
                || candidate.workspaces.is_empty()
                || candidate.workspaces.iter().any(|id| id == wish.workspace))
    };
    let able: Vec<usize> = (0..candidates.len()).filter(|&nth| serves(&candidates[nth])).collect();
    let healthy = or_all(&able, |nth| !candidates[nth].is_ejected);
    let others = or_all(&healthy, |nth| wish.avoid != Some(candidates[nth].id));
    match (others.as_slice(), wish.session) {
        ([], _) => None,
        ([only], _) => Some(*only),
        (_, Some(session)) => others.into_iter().max_by_key(|&nth| {
            let id = candidates[nth].id;
            (score(session, id), id)
        }),
        (several, None) => Some(cheaper_of_two(candidates, several, draw)),
    }
}

/// Those that fit, or all where none does.
fn or_all(from: &[usize], fits: impl Fn(usize) -> bool) -> Vec<usize> {
    let fitting: Vec<usize> = from.iter().copied().filter(|&nth| fits(nth)).collect();
    if fitting.is_empty() { from.to_vec() } else { fitting }
}

fn cheaper_of_two(candidates: &[Candidate<'_>], several: &[usize], draw: (u64, u64)) -> usize {
    let first = nth(draw.0, several.len());
    // The second is drawn among the others, so that two different ones are compared.
    let step = 1 + nth(draw.1, several.len() - 1);
    let second = (first + step) % several.len();
    let (one, two) = (several[first], several[second]);
    if candidates[two].cost < candidates[one].cost { two } else { one }
}

fn nth(draw: u64, count: usize) -> usize {
    let count = u64::try_from(count).unwrap_or(u64::MAX).max(1);
    usize::try_from(draw % count).unwrap_or_default()
}

/// Rendezvous hashing: each instance has a score for each session, the highest wins. When an
/// instance leaves, only its own sessions move.
fn score(session: &str, instance: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(session.as_bytes());
    hash.update([0]);
    hash.update(instance.as_bytes());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn candidate(id: &str) -> Candidate<'_> {
        Candidate { id, is_serving: true, workspaces: &[], is_ejected: false, cost: 1.0 }
    }

    fn picked<'a>(candidates: &[Candidate<'a>], wish: Wish<'_>) -> Vec<&'a str> {
        let mut ids: Vec<&str> = (0..64_u64)
            .filter_map(|n| pick(candidates, wish, (n, n / 8)).map(|nth| candidates[nth].id))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    #[test]
    fn only_instances_that_can_serve_the_call_are_taken() {
        let here = ["w".to_owned()];
        let there = ["v".to_owned()];
        let candidates = [
            candidate("any"),
            Candidate { workspaces: &here, ..candidate("here") },
            Candidate { workspaces: &there, ..candidate("there") },
            Candidate { is_serving: false, ..candidate("draining") },
            Candidate { is_ejected: true, ..candidate("ejected") },
        ];
        let wish = Wish { workspace: "w", ..Wish::default() };
        assert_eq!(picked(&candidates, wish), ["any", "here"]);
        let avoiding = Wish { avoid: Some("any"), ..wish };
        assert_eq!(picked(&candidates, avoiding), ["here"]);
        assert_eq!(picked(&candidates, Wish::default()), ["any", "here", "there"]);
        assert_eq!(picked(&candidates[3..4], wish), Vec::<&str>::new());
        assert_eq!(picked(&[], wish), Vec::<&str>::new());
    }

    #[test]
    fn the_last_instance_is_taken_ejected_or_not() {
        let ejected = |id| Candidate { is_ejected: true, ..candidate(id) };
        let wish = Wish { avoid: Some("a"), ..Wish::default() };
        assert_eq!(picked(&[ejected("a")], wish), ["a"]);
        assert_eq!(picked(&[ejected("a"), ejected("b")], Wish::default()), ["a", "b"]);
        assert_eq!(picked(&[ejected("a"), candidate("b")], wish), ["b"]);
        let draining = Candidate { is_serving: false, ..candidate("c") };
        assert_eq!(picked(&[ejected("a"), draining], wish), ["a"]);
    }

    #[test]
    fn the_slow_one_of_three_gets_little() {
        let slow = Candidate { cost: 10.0, ..candidate("slow") };
        let candidates = [candidate("a"), slow, candidate("b")];
        // Whenever it is compared with another one it loses, and it is always compared.
        assert_eq!(picked(&candidates, Wish::default()), ["a", "b"]);
    }

    #[test]
    fn a_session_stays_where_it_is_when_another_instance_leaves() {
        let ids: Vec<String> = (0..5).map(|n| format!("files-{n}")).collect();
        let all: Vec<Candidate<'_>> = ids.iter().map(|id| candidate(id)).collect();
        let of = |candidates: &[Candidate<'_>], session: &str| {
            let wish = Wish { session: Some(session), ..Wish::default() };
            pick(candidates, wish, (3, 4)).map(|nth| candidates[nth].id.to_owned()).unwrap()
        };
        let mut load: BTreeMap<String, usize> = BTreeMap::new();
        for n in 0..500 {
            let session = format!("session-{n}");
            let home = of(&all, &session);
            *load.entry(home.clone()).or_default() += 1;
            for gone in 0..5 {
                let mut rest = all.clone();
                let id = rest.remove(gone).id;
                if id != home {
                    assert_eq!(of(&rest, &session), home);
                }
            }
        }
        assert!(load.values().all(|&n| (50..=150).contains(&n)), "{load:?}");
    }

    proptest! {
        #[test]
        fn a_call_goes_nowhere_only_if_nobody_can_serve_it(
            flags in prop::collection::vec((any::<bool>(), any::<bool>(), 0.0..10.0_f64), 0..6),
            draw in any::<(u64, u64)>(),
            avoid in prop::option::of(0..6_usize),
            bound in any::<bool>(),
        ) {
            let ids: Vec<String> = (0..flags.len()).map(|n| n.to_string()).collect();
            let candidates: Vec<Candidate<'_>> = flags.iter().zip(&ids)
                .map(|(&(is_serving, is_ejected, cost), id)| Candidate { is_serving, is_ejected, cost, ..candidate(id) })
                .collect();
            let avoided = avoid.map(|n| n.to_string());
            let wish = Wish { avoid: avoided.as_deref(), session: bound.then_some("s"), ..Wish::default() };
            let picked = pick(&candidates, wish, draw);
            prop_assert_eq!(picked.is_some(), candidates.iter().any(|c| c.is_serving));
            if let Some(nth) = picked {
                prop_assert!(candidates[nth].is_serving);
                if candidates[nth].is_ejected {
                    prop_assert!(candidates.iter().all(|c| !c.is_serving || c.is_ejected));
                }
            }
        }
    }
}
