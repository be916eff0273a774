//! Associations that have nothing to do for a long time, and then something again.

use polypath_proto::config::{AssociationConfig, NrSack, Preset};
use polypath_proto::{Duration, OutgoingMessage};
use polypath_testkit::{Faults, Pair, PairConfig, PathModel, Side};

/// Messages of both sides arrive before and after pauses in which memory is given back, with losses and NR-SACKs too.
#[test]
fn what_was_idle_for_long_goes_on_as_before() {
    for (nr_sack, loss) in [(NrSack::Off, 0), (NrSack::Off, 50), (NrSack::Deliverable, 50)] {
        let mut config = AssociationConfig::with_preset(Preset::Cmt);
        config.policies.nr_sack = nr_sack;
        let faults = Faults { loss, ..Faults::default() };
        let mut setup = PairConfig::new(2, config);
        setup.paths = vec![PathModel { faults, ..PathModel::default() }; 2];
        let mut pair = Pair::connected(setup);
        for round in 1..=3 {
            for side in [Side::Client, Side::Server] {
                for stream in 0..4 {
                    let message = OutgoingMessage::new(stream, vec![stream as u8; 30_000]);
                    pair.send(side, message).unwrap();
                }
            }
            assert!(pair.run_until(Duration::from_secs(60), |pair| {
                [Side::Client, Side::Server].iter().all(|side| {
                    let slot = pair.slot(*side);
                    slot.messages.len() == 4 * round
                        && slot.association.stats().send_buffer_bytes == 0
                })
            }));
            // More than two heartbeats on each path.
            pair.run_for(Duration::from_secs(90));
        }
        for side in [Side::Client, Side::Server] {
            assert!(pair.slot(side).association.is_established());
            for message in &pair.slot(side).messages {
                assert_eq!(message.len(), 30_000);
            }
        }
    }
}
