use super::*;

fn key(number: usize) -> Arc<Key> {
    Arc::new(Key {
        team: "team".to_owned(),
        session: "session".to_owned(),
        call_id: format!("call-{number}"),
    })
}

fn outcome(bytes: usize) -> Arc<wire::Outcome> {
    let output = wire::Output { content: "x".repeat(bytes), ..wire::Output::default() };
    let result = Some(wire::outcome::Result::Output(output));
    Arc::new(wire::Outcome { result, ..wire::Outcome::default() })
}

fn start(outcomes: &mut Outcomes, number: usize, changes: bool) {
    outcomes.claim(key(number), Running::unheard([7; 32], changes));
}

fn run(outcomes: &mut Outcomes, number: usize, changes: bool, bytes: usize) {
    start(outcomes, number, changes);
    outcomes.settle(&key(number), outcome(bytes), Instant::now());
}

fn state(outcomes: &Outcomes, number: usize) -> &'static str {
    match outcomes.find(&key(number)) {
        Some(Known::Running(_)) => "running",
        Some(Known::Settled { .. }) => "settled",
        Some(Known::Gone) => "gone",
        None => "unknown",
    }
}

#[test]
fn a_settled_call_is_answered_with_its_first_outcome() {
    let mut outcomes = Outcomes::default();
    assert_eq!(state(&outcomes, 1), "unknown");
    start(&mut outcomes, 1, true);
    assert_eq!(state(&outcomes, 1), "running");
    let first = outcome(3);
    outcomes.settle(&key(1), Arc::clone(&first), Instant::now());
    outcomes.settle(&key(1), outcome(9), Instant::now());
    let Some(Known::Settled { digest, outcome }) = outcomes.find(&key(1)) else { panic!() };
    assert_eq!((digest, outcome), ([7; 32], first));
}

#[test]
fn the_same_id_in_another_session_or_team_is_another_call() {
    let mut outcomes = Outcomes::default();
    run(&mut outcomes, 1, true, 1);
    let other_team = Key { team: "other".to_owned(), ..Key::clone(&key(1)) };
    let other_session = Key { session: "other".to_owned(), ..Key::clone(&key(1)) };
    assert!(outcomes.find(&other_team).is_none() && outcomes.find(&other_session).is_none());
}

#[test]
fn a_call_that_was_not_started_may_be_sent_again() {
    let mut outcomes = Outcomes::default();
    start(&mut outcomes, 1, true);
    outcomes.release(&key(1));
    assert_eq!(state(&outcomes, 1), "unknown");
    run(&mut outcomes, 2, true, 1);
    outcomes.release(&key(2));
    assert_eq!(state(&outcomes, 2), "settled");
}

#[test]
fn a_call_at_work_is_not_forgotten() {
    let mut outcomes = Outcomes::default();
    start(&mut outcomes, 1, true);
    outcomes.forget(&key(1));
    assert_eq!(state(&outcomes, 1), "running");
}

#[test]
fn a_forgotten_change_is_not_started_by_a_message_that_was_late() {
    let mut outcomes = Outcomes::default();
    run(&mut outcomes, 1, true, 1);
    run(&mut outcomes, 2, false, 1);
    outcomes.forget(&key(1));
    outcomes.forget(&key(2));
    assert_eq!((state(&outcomes, 1), state(&outcomes, 2)), ("gone", "unknown"));
    assert_eq!((outcomes.content, outcomes.records.len()), (0, 0));
}

#[test]
fn over_the_limit_reads_are_dropped_before_a_change_loses_its_content() {
    let mut outcomes = Outcomes::default();
    let quarter = CONTENT / 4;
    start(&mut outcomes, 0, false);
    run(&mut outcomes, 1, true, quarter);
    run(&mut outcomes, 2, false, quarter);
    run(&mut outcomes, 3, false, quarter);
    run(&mut outcomes, 4, true, quarter);
    let states = |outcomes: &Outcomes| [0, 1, 2, 3, 4, 5, 6].map(|number| state(outcomes, number));
    assert_eq!(
        states(&outcomes),
        ["running", "settled", "unknown", "settled", "settled", "unknown", "unknown"]
    );
    run(&mut outcomes, 5, true, quarter);
    run(&mut outcomes, 6, true, quarter);
    assert_eq!(
        states(&outcomes),
        ["running", "gone", "unknown", "unknown", "settled", "settled", "settled"]
    );
    assert!(outcomes.content <= CONTENT);
    assert_eq!(outcomes.running(), 1);
}

#[test]
fn reads_are_bounded_by_number_and_the_oldest_go_first() {
    let mut outcomes = Outcomes::default();
    for number in 0..=READS {
        run(&mut outcomes, number, false, 1);
    }
    assert_eq!((state(&outcomes, 0), state(&outcomes, 1)), ("unknown", "settled"));
    assert_eq!(outcomes.records.len(), READS);
}

#[test]
fn changes_are_never_dropped_for_their_number() {
    let mut outcomes = Outcomes::default();
    for number in 0..CHANGES {
        assert!(!outcomes.is_full());
        run(&mut outcomes, number, true, 1);
    }
    assert!(outcomes.is_full());
    assert_eq!(outcomes.records.len(), CHANGES);
    outcomes.forget(&key(3));
    assert!(!outcomes.is_full());
}

#[tokio::test(start_paused = true)]
async fn outcomes_that_nobody_forgot_expire() {
    let mut outcomes = Outcomes::default();
    run(&mut outcomes, 1, false, 1);
    run(&mut outcomes, 2, true, 1);
    tokio::time::advance(READ_AGE).await;
    run(&mut outcomes, 3, false, 1);
    assert_eq!((state(&outcomes, 1), state(&outcomes, 2)), ("unknown", "settled"));
    tokio::time::advance(CHANGE_AGE).await;
    run(&mut outcomes, 4, false, 1);
    assert_eq!((state(&outcomes, 2), state(&outcomes, 4)), ("gone", "settled"));
}

#[test]
fn marks_are_bounded() {
    let mut marks = Marks::default();
    for number in 0..=MARKS {
        marks.add(&key(number));
        marks.add(&key(number));
    }
    assert_eq!((marks.hashes.len(), marks.order.len()), (MARKS, MARKS));
    assert!(!marks.contains(&key(0)) && marks.contains(&key(1)));
}
