//! Every arrow of both state machines, and that there are no others.

use std::vec::Vec;

use super::Reason::{NeverConfirmed, NoLocalAddress, Refused, Timeouts};
use super::Signal::{Chosen, DataAck, HeartbeatAck, LocalAddressGone, Timeout};
use super::Transition::{Cleared, Confirmed, Failed, Restored, Suspected};
use super::*;

const STATES: [Reach; 7] = [
    Reach::Unconfirmed,
    Reach::Active,
    Reach::PotentiallyFailed,
    Reach::Inactive(Timeouts),
    Reach::Inactive(NeverConfirmed),
    Reach::Inactive(Refused),
    Reach::Inactive(NoLocalAddress),
];

type Arrow = (Reach, Signal, Reach, Transition);

/// Goes through all states and signals: `arrows` happen, nothing else does.
fn has_exactly(thresholds: Thresholds, states: &[Reach], signals: &[Signal], arrows: &[Arrow]) {
    for &state in states {
        for &signal in signals {
            let mut reach = state;
            let transition = reach.on(signal, thresholds);
            let arrow = arrows.iter().find(|arrow| arrow.0 == state && arrow.1 == signal);
            let expected = arrow.map_or((state, Transition::None), |arrow| (arrow.2, arrow.3));
            assert_eq!((reach, transition), expected, "{state:?} on {signal:?}, {thresholds:?}");
        }
    }
    for arrow in arrows {
        assert!(states.contains(&arrow.0) && signals.contains(&arrow.1), "{arrow:?} was not tried");
    }
}

/// What both machines share.
const SHARED: [Arrow; 15] = [
    (Reach::Unconfirmed, Timeout(6), Reach::Inactive(NeverConfirmed), Failed),
    (Reach::Unconfirmed, Signal::Refused, Reach::Inactive(NeverConfirmed), Failed),
    (Reach::Unconfirmed, HeartbeatAck, Reach::Active, Confirmed),
    (Reach::Inactive(NeverConfirmed), HeartbeatAck, Reach::Active, Confirmed),
    (Reach::Active, Timeout(6), Reach::Inactive(Timeouts), Failed),
    (Reach::Active, Signal::Refused, Reach::Inactive(Refused), Failed),
    (Reach::Inactive(Timeouts), HeartbeatAck, Reach::Active, Restored),
    (Reach::Inactive(Timeouts), DataAck, Reach::Active, Restored),
    (Reach::Inactive(Refused), HeartbeatAck, Reach::Active, Restored),
    (Reach::Inactive(Refused), DataAck, Reach::Active, Restored),
    (Reach::Unconfirmed, LocalAddressGone, GONE, Failed),
    (Reach::Active, LocalAddressGone, GONE, Failed),
    (Reach::Inactive(Timeouts), LocalAddressGone, GONE, Transition::None),
    (Reach::Inactive(NeverConfirmed), LocalAddressGone, GONE, Transition::None),
    (Reach::Inactive(Refused), LocalAddressGone, GONE, Transition::None),
];

const GONE: Reach = Reach::Inactive(NoLocalAddress);

const SIGNALS: [Signal; 9] = [
    Timeout(1),
    Timeout(2),
    Timeout(5),
    Timeout(6),
    HeartbeatAck,
    DataAck,
    Signal::Refused,
    LocalAddressGone,
    Chosen,
];

#[test]
fn natarajan_figure_1() {
    let thresholds = Thresholds { potentially_failed: None, failed: 5 };
    let states: Vec<_> = STATES.into_iter().filter(|s| !s.is_potentially_failed()).collect();
    has_exactly(thresholds, &states, &SIGNALS, &SHARED);
}

#[test]
fn natarajan_figure_3() {
    let mut arrows = SHARED.to_vec();
    let suspect = Reach::PotentiallyFailed;
    arrows.extend([
        (Reach::Active, Timeout(1), suspect, Suspected),
        (Reach::Active, Timeout(2), suspect, Suspected),
        (Reach::Active, Timeout(5), suspect, Suspected),
        (suspect, HeartbeatAck, Reach::Active, Cleared),
        (suspect, DataAck, Reach::Active, Cleared),
        (suspect, Chosen, Reach::Active, Cleared),
        // The first timeout and PMR further ones.
        (suspect, Timeout(6), Reach::Inactive(Timeouts), Failed),
        (suspect, Signal::Refused, Reach::Inactive(Refused), Failed),
        (suspect, LocalAddressGone, GONE, Failed),
    ]);
    let thresholds = Thresholds { potentially_failed: Some(0), failed: 5 };
    has_exactly(thresholds, &STATES, &SIGNALS, &arrows);
}

#[test]
fn thresholds() {
    for (potentially_failed, failed, errors, after) in [
        (None, 5, 5, Reach::Active),
        (None, 5, 6, Reach::Inactive(Timeouts)),
        (None, 0, 1, Reach::Inactive(Timeouts)),
        (Some(0), 1, 1, Reach::PotentiallyFailed),
        (Some(2), 5, 2, Reach::Active),
        (Some(2), 5, 3, Reach::PotentiallyFailed),
        // With PFMR at PMR or above there is no such state (RFC 7829 section 3.2 rule 1), as with PMR 0.
        (Some(0), 0, 1, Reach::Inactive(Timeouts)),
        (Some(5), 5, 5, Reach::Active),
        (Some(5), 5, 6, Reach::Inactive(Timeouts)),
        (Some(9), 5, 6, Reach::Inactive(Timeouts)),
    ] {
        let mut reach = Reach::Active;
        reach.on(Timeout(errors), Thresholds { potentially_failed, failed });
        assert_eq!(reach, after, "PFMR {potentially_failed:?}, PMR {failed}, {errors} timeouts");
    }
}
