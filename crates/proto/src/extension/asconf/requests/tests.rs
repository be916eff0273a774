use polypath_wire::{Cause, Causes, Parameter, Parameters};
use std::vec;
use std::vec::Vec;

use super::*;
use crate::Duration;
use AddressChange::{Added, MadePrimary, Removed};

const PATH: PathId = PathId(0);

fn ip(host: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, host])
}

fn request(change: AddressChange, host: u8) -> AddressRequest {
    AddressRequest::new(change, ip(host))
}

fn by_source(change: AddressChange, host: u8) -> AddressRequest {
    AddressRequest { by_source: true, ..request(change, host) }
}

fn due(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn sent(requests: &mut ChangeRequests) -> (u32, usize) {
    let chunk = requests.send(PATH, due(1000), ip(1)).unwrap();
    assert_eq!(chunk.address(), Some(ip(1)));
    (chunk.serial, chunk.parameters.iter().count() - 1)
}

fn success() -> Parameters<'static> {
    Parameters::build([])
}

#[test]
fn one_chunk_at_a_time_with_all_that_waits() {
    let mut requests = ChangeRequests::new(u32::MAX);
    assert!(requests.send(PATH, due(0), ip(1)).is_none());
    for host in 0..10 {
        assert!(requests.push(request(Added, host)));
    }
    assert_eq!(sent(&mut requests), (u32::MAX, 8));
    assert!(!requests.is_ready() && requests.send(PATH, due(0), ip(1)).is_none());
    assert_eq!(requests.due(), Some(due(1000)));
    let again = requests.repeat(PathId(1), due(3000)).unwrap();
    assert_eq!(
        (again.serial, requests.path(), requests.due()),
        (u32::MAX, Some(PathId(1)), Some(due(3000)))
    );
    let ended = requests.on_ack(u32::MAX, &success());
    let AsconfAcked::Ended(PathId(1), ended) = ended else { panic!("{ended:?}") };
    assert!(ended.len() == 8 && ended.iter().all(|(_, outcome)| *outcome == ChangeOutcome::Done));
    assert_eq!(sent(&mut requests), (0, 2));
    assert_eq!(requests.on_ack(u32::MAX, &success()), AsconfAcked::Stale, "a duplicate");
}

#[test]
fn an_answer_to_what_was_not_sent_is_illegal() {
    for first in [0, 7, u32::MAX] {
        let mut requests = ChangeRequests::new(first);
        let serial = |ahead: u32| first.wrapping_add(ahead);
        for (ahead, expected) in [
            (0, AsconfAcked::Illegal),
            (1, AsconfAcked::Illegal),
            ((1 << 31) - 1, AsconfAcked::Illegal),
            (1 << 31, AsconfAcked::Stale),
            (u32::MAX, AsconfAcked::Stale),
        ] {
            assert_eq!(requests.on_ack(serial(ahead), &success()), expected, "{ahead}");
        }
        requests.push(request(Added, 2));
        sent(&mut requests);
        assert_eq!(requests.on_ack(serial(1), &success()), AsconfAcked::Illegal);
        assert!(matches!(requests.on_ack(serial(0), &success()), AsconfAcked::Ended(..)));
    }
}

#[test]
fn silence_means_success_before_a_failure_and_failure_behind_it() {
    let shortage = || Causes::build([Cause::ResourceShortage(&[])]);
    let refused =
        |correlation_id| Parameter::ErrorCauseIndication { correlation_id, causes: shortage() };
    let done = |correlation_id| Parameter::SuccessIndication { correlation_id };
    let (yes, no, unsaid) =
        (ChangeOutcome::Done, ChangeOutcome::Refused(Some(0xA1)), ChangeOutcome::Refused(None));
    for (answers, expected) in [
        (vec![], [yes, yes, yes]),
        (vec![done(2)], [yes, yes, yes]),
        (vec![refused(2)], [yes, no, unsaid]),
        (vec![refused(2), done(3)], [yes, no, yes]),
        (vec![done(3), refused(2)], [yes, no, yes]),
        (vec![refused(1)], [no, unsaid, unsaid]),
        (vec![refused(9)], [yes, yes, yes]),
    ] {
        let mut requests = ChangeRequests::new(1);
        (1..=3).for_each(|host| assert!(requests.push(request(Added, host))));
        sent(&mut requests);
        let acked = requests.on_ack(1, &Parameters::build(answers.clone()));
        let AsconfAcked::Ended(_, ended) = acked else { panic!("{answers:?}") };
        let outcomes: Vec<ChangeOutcome> = ended.iter().map(|(_, outcome)| *outcome).collect();
        assert_eq!(outcomes, expected, "{answers:?}");
    }
}

#[test]
fn what_waits_is_taken_back_by_its_opposite() {
    let mut requests = ChangeRequests::new(1);
    requests.push(request(Removed, 2));
    assert!(!requests.take_back(request(Removed, 2)) && !requests.take_back(request(Added, 3)));
    assert!(requests.is_deleting(ip(2)));
    assert!(requests.take_back(request(Added, 2)));
    assert!(!requests.is_ready() && !requests.is_deleting(ip(2)));
    requests.push(request(Removed, 2));
    sent(&mut requests);
    assert!(!requests.take_back(request(Added, 2)), "the peer may have done it");
    assert!(requests.is_deleting(ip(2)));
}

#[test]
fn a_chunk_comes_from_where_its_requests_allow() {
    for (list, len, only, never) in [
        (
            vec![request(Added, 2), request(Removed, 1), request(Removed, 3)],
            3,
            None,
            vec![ip(1), ip(3)],
        ),
        (vec![by_source(Added, 2), request(Removed, 1)], 2, Some(ip(2)), vec![ip(1)]),
        (vec![by_source(Added, 2), by_source(Removed, 2)], 2, Some(ip(2)), vec![]),
        (vec![by_source(Added, 2), by_source(Added, 3)], 1, Some(ip(2)), vec![]),
        (vec![request(Removed, 2), by_source(Added, 2)], 1, None, vec![ip(2)]),
        (vec![by_source(Added, 2), request(Removed, 2)], 1, Some(ip(2)), vec![]),
    ] {
        let mut requests = ChangeRequests::new(1);
        list.iter().for_each(|request| assert!(requests.push(*request)));
        let expected = Origin { only, never: never.into_iter().collect() };
        assert_eq!(requests.origin(), expected, "{list:?}");
        assert_eq!(sent(&mut requests).1, len, "{list:?}");
        assert_eq!(requests.origin(), expected, "{list:?}");
    }
}

#[test]
fn what_the_peer_does_not_know_is_not_asked_for_again() {
    let mut requests = ChangeRequests::new(1);
    requests.push(request(MadePrimary, 1));
    sent(&mut requests);
    let causes = Causes::build([Cause::UnrecognizedParameters(&[0xC0, 4, 0, 4])]);
    let answer = Parameter::ErrorCauseIndication { correlation_id: 1, causes };
    requests.on_ack(1, &Parameters::build([answer]));
    assert!(!requests.push(request(MadePrimary, 1)) && requests.push(request(Added, 2)));
    sent(&mut requests);
    requests.push(request(Removed, 2));
    let dropped = requests.on_unknown_chunk();
    assert_eq!(dropped[..], [request(Added, 2), request(Removed, 2)]);
    assert!(!requests.push(request(Added, 2)) && requests.due().is_none());
}
