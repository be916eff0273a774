//! Round trips of paths that carry messages in turn.

mod common;

use common::{message, millis, secs};
use polypath_proto::config::{AssociationConfig, DataCopies, Preset, RttSample, SackPath};
use polypath_proto::{Duration, OutgoingMessage, PathId};
use polypath_testkit::{Pair, PairConfig, PathModel, Side};

/// Smoothed round-trip times in ms of paths with delays of 10 and 60 ms after 100 messages that took them in turn.
fn round_trips(sack_path: SackPath, rtt_sample: RttSample) -> Vec<u64> {
    let mut config = AssociationConfig::with_preset(Preset::Recommended);
    config.policies.sack_path = sack_path;
    config.policies.data_copies = DataCopies::Off;
    config.policies.rtt_sample = rtt_sample;
    let mut setup = PairConfig::new(2, config);
    for (path, delay) in setup.paths.iter_mut().zip([10, 60]) {
        *path = PathModel { delay: millis(delay), ..PathModel::default() };
    }
    let mut pair = Pair::connected(setup);
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    for number in 0..100 {
        let path = Some(PathId((number % 2) as u8));
        let message = OutgoingMessage { path, ..message(number, 1400) };
        pair.send(Side::Client, message).unwrap();
        pair.run_for(millis(5));
    }
    pair.run_for(secs(2));
    assert_eq!(pair.slot(Side::Server).messages.len(), 100);
    let stats = pair.slot(Side::Client).association.path_stats();
    stats.iter().map(|path| path.srtt.map_or(0, Duration::as_millis)).collect()
}

#[test]
fn each_path_is_measured_by_itself() {
    let recommended = AssociationConfig::with_preset(Preset::Recommended).policies;
    assert_eq!(round_trips(recommended.sack_path, recommended.rtt_sample), [20, 120]);
    let classic = round_trips(SackPath::Primary, RttSample::Classic);
    assert_eq!(classic, [20, 70], "the way back is another path's");
}
