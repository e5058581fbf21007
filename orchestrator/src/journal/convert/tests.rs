//! Every event both ways, and what a newer version may have written.

use callboard_proto::journal as wire;
use callboard_proto::journal::event::Kind;
use proptest::prelude::*;
use prost::Message as _;

use crate::run::event::{
    AttemptStatus, CallStatus, Choice, Class, Event, Finish, Input, InputReceived, Limit, Recorded,
    RunStatus, SessionKind, UndoStatus, Verdict,
};

use super::word::{Word, parse};
use super::{ConvertError, SCHEMA, decode, from_wire, to_wire};
use crate::journal::generate;

fn round_trip(recorded: &Recorded) -> Result<Recorded, ConvertError> {
    let payload = to_wire(recorded.clone()).encode_to_vec();
    let place = (recorded.seq, recorded.wall_ms);
    from_wire(decode(&payload, SCHEMA)?, place, recorded.event.kind())
}

proptest! {
    #[test]
    fn every_event_comes_back_as_it_was(recorded in generate::recorded()) {
        prop_assert_eq!(round_trip(&recorded).unwrap(), recorded);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(event) = decode(&bytes, SCHEMA) {
            let _ = from_wire(event, (1, 0), "run.ended");
        }
    }
}

#[test]
fn a_direct_call_of_no_name_is_still_a_direct_call() {
    let input = Input::Direct { tool: String::new(), arguments: String::new() };
    let event = Event::InputReceived(InputReceived { input, ..InputReceived::default() });
    let recorded =
        Recorded { seq: 1, wall_ms: 0, elapsed_ms: 0, trace_context: String::new(), event };
    assert_eq!(round_trip(&recorded).unwrap(), recorded);
}

#[test]
fn a_kind_of_the_future_is_an_error_with_its_name() {
    // Field 99, a message of two bytes: what a newer version's event looks like from here.
    let payload = [0x9a, 0x06, 0x02, 0x08, 0x01];
    let event = decode(&payload, SCHEMA).unwrap();
    let error = from_wire(event, (1, 0), "history.compacted").unwrap_err();
    assert_eq!(error.to_string(), "its kind `history.compacted` is not known to this program");
}

#[test]
fn a_word_of_the_future_is_an_error_with_its_place() {
    let ended = wire::RunEnded { status: "paused".to_owned(), ..wire::RunEnded::default() };
    let event = wire::Event { kind: Some(Kind::RunEnded(ended)), ..wire::Event::default() };
    let error = from_wire(event, (1, 0), "run.ended").unwrap_err();
    assert_eq!(error.to_string(), "its status of a run `paused` is not known to this program");
}

#[test]
fn a_newer_schema_is_refused_before_its_bytes_are_read() {
    assert!(matches!(decode(&[0xff], SCHEMA + 1), Err(ConvertError::NewerSchema(_))));
}

#[test]
fn arguments_that_are_no_text_are_an_error() {
    let call = wire::WantedCall { arguments: vec![0xff], ..wire::WantedCall::default() };
    let replied = wire::ModelReplied {
        calls: vec![call],
        finish: "stop".to_owned(),
        ..wire::ModelReplied::default()
    };
    let event = wire::Event { kind: Some(Kind::ModelReplied(replied)), ..wire::Event::default() };
    assert!(matches!(from_wire(event, (1, 0), "x"), Err(ConvertError::NoText("arguments"))));
}

#[test]
fn words_are_distinct_and_read_back() {
    fn check<W: Word + PartialEq + std::fmt::Debug>(count: usize) {
        assert_eq!(W::ALL.len(), count);
        for value in W::ALL {
            assert_eq!(parse::<W>(value.word()).unwrap(), *value);
        }
    }
    check::<SessionKind>(2);
    check::<Finish>(6);
    check::<Class>(3);
    check::<Verdict>(3);
    check::<AttemptStatus>(4);
    check::<CallStatus>(6);
    check::<Choice>(3);
    check::<UndoStatus>(4);
    check::<Limit>(5);
    check::<RunStatus>(5);
}
