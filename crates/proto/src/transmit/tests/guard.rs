//! Which transfers the goodput guard watches, and what ends its choice of a path.

use std::boxed::Box;

use polypath_wire::{Payload, VirtualPayload};

use super::*;
use crate::config::{AssociationConfig, DataCopies, GoodputGuarding, PathOrder, Preset};
use crate::mechanism::goodput_guard::GoodputGuard;
use crate::transmit::partial_reliability::Reliability;
use crate::{OutgoingMessage, PathId, ProbeEvent};

/// Paths with windows of nine packets and 50 ms.
fn bench(paths: u8, tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::tuned(Preset::Recommended, paths, |config| {
        config.policies.data_copies = DataCopies::Off;
        tune(config);
    });
    (0..paths).for_each(|id| bench.shape(id, 9, 9, 50));
    bench
}

#[test]
fn only_what_has_a_choice_of_paths_and_more_to_send_is_guarded() {
    type Tune = fn(&mut AssociationConfig);
    let on: Tune = |config| config.policies.goodput_guard = GoodputGuarding::On;
    for (what, paths, tune, has_more, names_a_path, is_guarded) in [
        ("a transfer over two paths", 2, on, true, false, true),
        ("one path", 1, on, true, false, false),
        ("nothing more to send", 2, on, false, false, false),
        ("the next message names its path", 2, on, true, true, false),
        (
            "off",
            2,
            |config| config.policies.goodput_guard = GoodputGuarding::Off,
            true,
            false,
            false,
        ),
        (
            "a primary path",
            2,
            |config| config.policies.path_order = PathOrder::Primary,
            true,
            false,
            false,
        ),
    ] {
        let mut bench = bench(paths, tune);
        bench.place(&[0]);
        if has_more {
            bench.has_more();
        }
        if names_a_path {
            let payload = Payload::Virtual(VirtualPayload { message: 0, offset: 0, len: FULL });
            let message = OutgoingMessage::from_payload(0, payload);
            let message = OutgoingMessage { path: Some(PathId(0)), ..message };
            bench.send_message(message, Reliability::Full).1.unwrap();
        }
        bench.wait(50);
        bench.sack(&Answer::of(1));
        assert_eq!(bench.tx.guard.is_some(), is_guarded, "{what}");
    }
}

#[test]
fn paths_carry_data_again_when_the_one_that_was_kept_fails() {
    let mut bench = bench(3, |_| {});
    bench.tx.guard = Some(Box::new(GoodputGuard::keeping(PathId(1))));
    bench.place(&[0]);
    bench.has_more();
    bench.fail(1);
    bench.trace();
    bench.wait(50);
    bench.sack(&Answer::of(1));
    assert!(bench.trace().contains(&ProbeEvent::PathsReturn));
    assert_eq!(bench.tx.guard.as_ref().unwrap().kept(), None);
}
