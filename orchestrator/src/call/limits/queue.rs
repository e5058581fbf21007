//! The places of one tool, handed out fairly: a team has only so many, and when all are taken those
//! who wait get them team by team, each team's own in the order of asking. So a team that asks for
//! much waits behind itself, and another one waits for one round at most.
//!
//! Pure: what a place is worth to whoever waits, `T`, is left to `limits`.

use std::collections::{HashMap, VecDeque};

/// The places of one tool.
#[derive(Debug)]
pub(super) struct Queue<T> {
    of_team: usize,
    of_all: usize,
    taken: usize,
    teams: HashMap<String, Team<T>>,
    /// Teams of which somebody waits, the next one first.
    turns: VecDeque<String>,
    tickets: u64,
}

/// A team that has places or waits for some.
#[derive(Debug)]
struct Team<T> {
    taken: usize,
    waiting: VecDeque<(u64, T)>,
}

impl<T> Queue<T> {
    /// A queue for so many places, of which one team gets only a part.
    pub(super) fn new(of_team: usize, of_all: usize) -> Self {
        let (teams, turns) = (HashMap::new(), VecDeque::new());
        Self { of_team, of_all, taken: 0, teams, turns, tickets: 0 }
    }

    /// Takes a place, or waits for one: `who` is handed out by [`Self::leave`] then.
    ///
    /// # Errors
    /// The ticket with which to [`Self::withdraw`].
    pub(super) fn enter(&mut self, team: &str, who: T) -> Result<(), u64> {
        let entry = self.teams.entry(team.to_owned());
        let entry = entry.or_insert_with(|| Team { taken: 0, waiting: VecDeque::new() });
        // Where a place is free, whoever waits is of a team that has all of its own.
        if self.taken < self.of_all && entry.taken < self.of_team {
            self.taken += 1;
            entry.taken += 1;
            return Ok(());
        }
        self.tickets += 1;
        entry.waiting.push_back((self.tickets, who));
        if entry.waiting.len() == 1 {
            self.turns.push_back(team.to_owned());
        }
        Err(self.tickets)
    }

    /// Gives back a place of a team; whoever has it now.
    pub(super) fn leave(&mut self, team: &str) -> Option<T> {
        self.taken -= 1;
        if let Some(entry) = self.teams.get_mut(team) {
            entry.taken -= 1;
        }
        let next = self.next();
        self.tidy(team);
        next
    }

    /// Waits no longer. False if the place was handed out already.
    pub(super) fn withdraw(&mut self, team: &str, ticket: u64) -> bool {
        let Some(entry) = self.teams.get_mut(team) else { return false };
        let Some(at) = entry.waiting.iter().position(|(one, _)| *one == ticket) else {
            return false;
        };
        entry.waiting.remove(at);
        if entry.waiting.is_empty() {
            self.turns.retain(|one| one != team);
        }
        self.tidy(team);
        true
    }

    /// Hands a free place to the next team that may have one.
    fn next(&mut self) -> Option<T> {
        let may = |team: &String| self.teams.get(team).is_some_and(|one| one.taken < self.of_team);
        let at = self.turns.iter().position(may)?;
        let team = self.turns.remove(at)?;
        let entry = self.teams.get_mut(&team)?;
        let (_, who) = entry.waiting.pop_front()?;
        self.taken += 1;
        entry.taken += 1;
        if !entry.waiting.is_empty() {
            self.turns.push_back(team);
        }
        Some(who)
    }

    /// Forgets a team that has nothing here.
    fn tidy(&mut self, team: &str) {
        if self.teams.get(team).is_some_and(|one| one.taken == 0 && one.waiting.is_empty()) {
            self.teams.remove(team);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_team_that_asks_for_much_waits_behind_itself() {
        let mut queue = Queue::new(4, 4);
        for n in 0..4 {
            assert!(queue.enter("loud", n).is_ok());
        }
        for n in 4..100 {
            queue.enter("loud", n).unwrap_err();
        }
        queue.enter("calm", 1_000).unwrap_err();
        queue.enter("mild", 2_000).unwrap_err();
        queue.enter("calm", 1_001).unwrap_err();
        // One round serves every team once, in the order in which they came to wait.
        let round: Vec<_> = (0..3).map(|_| queue.leave("loud").unwrap()).collect();
        assert_eq!(round, [4, 1_000, 2_000]);
        assert_eq!(queue.leave("loud"), Some(5));
        assert_eq!(queue.leave("calm"), Some(1_001));
        assert_eq!(queue.leave("mild"), Some(6));
    }

    #[test]
    fn a_team_has_its_share_only_and_holds_up_nobody_beyond_it() {
        let mut queue = Queue::new(2, 3);
        assert!(queue.enter("loud", 1).is_ok() && queue.enter("loud", 2).is_ok());
        queue.enter("loud", 3).unwrap_err();
        assert!(queue.enter("calm", 4).is_ok());
        queue.enter("calm", 5).unwrap_err();
        // `loud` waits longer, and has its two places still.
        assert_eq!(queue.leave("calm"), Some(5));
        assert_eq!(queue.leave("loud"), Some(3));
    }

    #[test]
    fn who_waits_no_longer_gets_nothing() {
        let mut queue = Queue::new(1, 1);
        assert!(queue.enter("a", 1).is_ok());
        let ticket = queue.enter("a", 2).unwrap_err();
        queue.enter("a", 3).unwrap_err();
        assert!(queue.withdraw("a", ticket));
        assert!(!queue.withdraw("a", ticket));
        assert_eq!(queue.leave("a"), Some(3));
        assert_eq!(queue.leave("a"), None);
        assert!(queue.teams.is_empty() && queue.turns.is_empty());
    }

    proptest! {
        /// Whatever happens: no more places than there are, none free that somebody may have, and
        /// every team that waits is served within one round of the others.
        #[test]
        fn places_are_neither_lost_nor_given_twice(
            acts in prop::collection::vec((0..3_usize, any::<bool>()), 1..200),
        ) {
            let (of_team, of_all) = (3, 5);
            let mut queue = Queue::new(of_team, of_all);
            let mut held = [0_usize; 3];
            let mut waits = [0_usize; 3];
            let names = ["a", "b", "c"];
            for (team, enters) in acts {
                if enters {
                    match queue.enter(names[team], team) {
                        Ok(()) => held[team] += 1,
                        Err(_) => waits[team] += 1,
                    }
                } else if held[team] > 0 {
                    held[team] -= 1;
                    if let Some(next) = queue.leave(names[team]) {
                        held[next] += 1;
                        waits[next] -= 1;
                    }
                }
                let all: usize = held.iter().sum();
                prop_assert!(all <= of_all && held.iter().all(|held| *held <= of_team));
                for team in 0..3 {
                    let may = all < of_all && held[team] < of_team;
                    prop_assert!(!may || waits[team] == 0, "{held:?} {waits:?}");
                }
            }
        }
    }
}
