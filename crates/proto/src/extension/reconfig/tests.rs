use std::vec;
use std::vec::Vec;

use polypath_wire::Parameter;

use super::*;
use crate::{Duration, Instant, PathId, Tsn};

const RTO: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(3);

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn reset(streams: &[u16]) -> OwnRequest {
    OwnRequest::ResetOutgoing { streams: StreamList::new(streams), answers: None }
}

fn send(requests: &mut Requests) -> Vec<u32> {
    let sent = requests.send(at(0), RTO, PathId(0), Tsn(9), 50);
    let sent = sent.expect("a request");
    (&sent)
        .into_iter()
        .map(|parameter| match parameter {
            Parameter::OutgoingSsnReset { request_sequence, .. }
            | Parameter::IncomingSsnReset { request_sequence, .. }
            | Parameter::AddOutgoingStreams { request_sequence, .. }
            | Parameter::AddIncomingStreams { request_sequence, .. } => request_sequence,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn codes_are_those_of_the_registry() {
    for code in 0..=6 {
        assert_eq!(Outcome::of_code(code).code(), code);
    }
    assert_eq!(Outcome::of_code(7), Outcome::Denied);
}

#[test]
fn an_empty_list_means_all_streams() {
    let (all, some) = (StreamList::new(&[]), StreamList::new(&[7, 3, 3]));
    assert_eq!(some.listed(), [3, 7]);
    assert!(all.contains(9) && some.contains(3) && !some.contains(4));
    assert!(all.covers(&some) && all.covers(&all) && some.covers(&StreamList::new(&[7])));
    assert!(!some.covers(&all) && !some.covers(&StreamList::new(&[3, 4])));
    assert!(some.exist(8) && !some.exist(7) && all.exist(1));
}

#[test]
fn one_request_is_in_flight_at_a_time() {
    let mut requests = Requests::new(u32::MAX);
    assert!(requests.push(reset(&[1])) && requests.push(OwnRequest::AddOutgoing(2)));
    assert!(requests.holds(1) && !requests.holds(2));
    assert_eq!(send(&mut requests), [u32::MAX]);
    assert_eq!(requests.next(), None);
    assert_eq!(requests.on_response(at(0), 7, Outcome::Performed), Reaction::None);
    assert!(requests.holds(1));
    let ended = requests.on_response(at(0), u32::MAX, Outcome::Performed);
    assert_eq!(ended, Reaction::Ended(reset(&[1]), Outcome::Performed));
    assert!(!requests.holds(1));
    assert_eq!(send(&mut requests), [0], "numbers wrap");
    for _ in 0..100 {
        requests.push(OwnRequest::AddIncoming(1));
    }
    assert!(!requests.push(OwnRequest::AddIncoming(1)), "they are bounded");
}

#[test]
fn a_request_is_repeated_with_back_off() {
    let mut requests = Requests::new(1);
    requests.push(OwnRequest::AddOutgoing(2));
    send(&mut requests);
    assert_eq!(requests.due(), Some(at(1)));
    let (again, failed) = requests.expire(at(1), PathId(1), LONGEST).unwrap();
    assert_eq!((failed, requests.due()), (Some(PathId(0)), Some(at(3))));
    let sequence = |list: &polypath_wire::Parameters<'_>| match list.into_iter().next() {
        Some(Parameter::AddOutgoingStreams { request_sequence, .. }) => request_sequence,
        other => panic!("{other:?}"),
    };
    assert_eq!(sequence(&again), 1, "with the same number");
    requests.expire(at(3), PathId(0), LONGEST).unwrap();
    assert_eq!(requests.due(), Some(at(6)), "bounded");
    // A peer that is about it is no error of the path.
    assert_eq!(requests.on_response(at(4), 1, Outcome::InProgress), Reaction::Wait);
    assert_eq!(requests.due(), Some(at(7)));
    assert_eq!(requests.expire(at(7), PathId(0), LONGEST).unwrap().1, None);
    let ended = requests.on_response(at(8), 1, Outcome::Busy);
    assert_eq!(ended, Reaction::Ended(OwnRequest::AddOutgoing(2), Outcome::Busy));
    assert_eq!(requests.due(), None);
}

#[test]
fn what_was_sent_on_the_streams_is_acknowledged_first() {
    let mut requests = Requests::new(1);
    requests.push(reset(&[1]));
    assert!(!requests.is_past(Tsn(5), Tsn(8)));
    assert!(!requests.is_past(Tsn(7), Tsn(20)), "TSNs of other streams do not matter");
    assert!(requests.is_past(Tsn(8), Tsn(20)));
    send(&mut requests);
    requests.on_response(at(0), 1, Outcome::Performed);
    requests.push(reset(&[1]));
    assert!(!requests.is_past(Tsn(8), Tsn(20)), "the next one begins anew");
}

#[test]
fn a_request_of_the_peer_may_answer_one_of_ours() {
    let mut requests = Requests::new(1);
    requests.push(OwnRequest::ResetIncoming(StreamList::new(&[])));
    send(&mut requests);
    requests.on_followed(2);
    assert!(requests.due().is_some());
    requests.on_followed(1);
    assert!(requests.due().is_none());
}

#[test]
fn old_requests_get_the_answer_of_before() {
    let mut answers = Answers::new(u32::MAX);
    assert_eq!(answers.turn(u32::MAX), Turn::Next);
    answers.keep(Outcome::Performed);
    assert_eq!(answers.turn(u32::MAX), Turn::Again(Outcome::Performed));
    assert_eq!((answers.turn(0), answers.turn(1)), (Turn::Next, Turn::Wrong));
    answers.keep(Outcome::InProgress);
    answers.replace(0, Outcome::Denied);
    assert_eq!(answers.turn(0), Turn::Again(Outcome::Denied));
    answers.keep(Outcome::Performed);
    assert_eq!(answers.turn(u32::MAX), Turn::Wrong, "too old");
    assert_eq!(answers.last_sequence(), 1);
}

#[test]
fn a_deferred_reset_waits_for_its_data() {
    let mut answers = Answers::new(1);
    let streams = StreamList::new(&[]);
    answers.defer(Deferred { sequence: 1, last_tsn: Tsn(0), streams });
    assert_eq!(answers.take_due(Tsn(u32::MAX)), None);
    assert!(answers.is_deferring());
    assert!(answers.take_due(Tsn(0)).is_some());
    assert!(!answers.is_deferring());
    assert_eq!(vec![answers.take_due(Tsn(0))], [None]);
}

#[test]
fn resets_that_wait_become_one_request() {
    let mut requests = Requests::new(1);
    requests.push(reset(&[1]));
    // What was sent before the barrier counts; a stream that joins moves it.
    assert!(!requests.is_past(Tsn(5), Tsn(8)));
    for stream in 2..=100 {
        assert!(requests.push(reset(&[stream])), "{stream}");
    }
    assert!(!requests.is_past(Tsn(8), Tsn(20)) && requests.is_past(Tsn(20), Tsn(20)));
    assert!((1..=100).all(|stream| requests.holds(stream)));
    send(&mut requests);
    // Those that come later wait for their own turn, and another kind of request keeps its place.
    requests.push(reset(&[7]));
    requests.push(OwnRequest::AddOutgoing(2));
    requests.push(reset(&[8]));
    requests.push(reset(&[]));
    let streams: Vec<_> = (1..=100).collect();
    let ended = requests.on_response(at(0), 1, Outcome::Performed);
    assert_eq!(ended, Reaction::Ended(reset(&streams), Outcome::Performed));
    let mut order = vec![];
    while let Some(next) = requests.next().cloned() {
        let [sequence] = send(&mut requests)[..] else { panic!() };
        requests.on_response(at(0), sequence, Outcome::Performed);
        order.push(next);
    }
    let expected = [reset(&[7]), OwnRequest::AddOutgoing(2), reset(&[8]), reset(&[])];
    assert_eq!(order, expected);
    // A request is no longer than a packet.
    requests.push(reset(&(0..256).collect::<Vec<_>>()));
    requests.push(reset(&[300]));
    assert_eq!(send(&mut requests).len(), 1);
    assert_eq!(requests.next(), None, "it is in flight");
    requests.on_response(at(0), 6, Outcome::Performed);
    assert_eq!(requests.next(), Some(&reset(&[300])));
}
