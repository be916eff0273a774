//! Congestion control that changes while data is under way, over two paths of 2 and 1 Mbyte/s with a round trip of 40 ms.

mod common;

use common::{config, message, millis, secs};
use polypath_proto::config::{AssociationConfig, AssociationOptions, CongestionAlgorithm, Preset};
use polypath_proto::congestion::{BuiltIn, CustomCongestion};
use polypath_proto::{Instant, PathStats};
use polypath_testkit::{Faults, Pair, PairConfig, PathModel, Side};

use CongestionAlgorithm::{Bbr, Cubic, Lia, Rfc9260};

/// Bytes per second of each path.
const RATES: [u64; 2] = [2_000_000, 1_000_000];

/// Bytes that fill each path for a round trip of 40 ms.
const FULL: [u64; 2] = [80_000, 40_000];

fn pair(algorithm: CongestionAlgorithm) -> Pair {
    let mut config = AssociationConfig::with_preset(Preset::Recommended);
    config.policies.congestion = algorithm;
    let paths = RATES.map(|rate| PathModel {
        delay: millis(20),
        bytes_per_second: Some(rate),
        ..PathModel::default()
    });
    let pair = PairConfig { paths: paths.to_vec(), ..PairConfig::new(2, config) };
    Pair::connected(pair)
}

fn change(pair: &mut Pair, congestion: CongestionAlgorithm) {
    let options = AssociationOptions { congestion: Some(congestion), ..Default::default() };
    let now = pair.now;
    pair.hosts[0].command(now, 0, |it, cx| it.set_options(cx, &options)).unwrap();
    assert_eq!(pair.slot(Side::Client).association.options().congestion, Some(congestion));
}

/// Keeps the client's buffer full for this long; user data that was acknowledged meanwhile.
fn bulk(pair: &mut Pair, until: Instant) -> u64 {
    let acked = |pair: &Pair| {
        let paths = pair.slot(Side::Client).association.path_stats();
        paths.iter().map(|it| it.data_bytes_acked).sum::<u64>()
    };
    let before = acked(pair);
    while pair.now < until {
        while pair.send(Side::Client, message(0, 1000)).is_ok() {}
        pair.run_for(millis(10));
        pair.read(Side::Server);
    }
    acked(pair) - before
}

fn paths(pair: &Pair) -> Vec<PathStats> {
    pair.slot(Side::Client).association.path_stats()
}

/// Every change of one into another, with loss and without, goes on with what the old one has found.
#[test]
fn each_takes_over_from_each_while_data_is_under_way() {
    for loss in [0, 10] {
        let mut pair = pair(Rfc9260);
        for path in &mut pair.paths {
            path.faults = Faults { loss, ..Faults::default() };
        }
        let end = pair.now + secs(5);
        bulk(&mut pair, end);
        let mut now = Rfc9260;
        for next in [Bbr, Cubic, Rfc9260, Lia, Bbr, Rfc9260, Cubic, Bbr] {
            let before = paths(&pair);
            change(&mut pair, next);
            for (index, (old, new)) in before.iter().zip(paths(&pair)).enumerate() {
                match (now, next) {
                    (_, Bbr) => {
                        assert_eq!((new.cwnd_bytes, new.ssthresh_bytes), (old.cwnd_bytes, u64::MAX))
                    }
                    (Bbr, _) => {
                        // What the path carries in a round trip and a quarter, and the queue of the first measurement.
                        let ssthresh = new.ssthresh_bytes;
                        assert!(new.cwnd_bytes <= old.cwnd_bytes.min(ssthresh));
                        let (least, most) = (FULL[index], FULL[index] * 2);
                        assert!((least..most).contains(&ssthresh), "{next:?}: {ssthresh}");
                    }
                    _ => assert_eq!(
                        (new.cwnd_bytes, new.ssthresh_bytes),
                        (old.cwnd_bytes, old.ssthresh_bytes)
                    ),
                }
            }
            let end = pair.now + secs(4);
            let acked = bulk(&mut pair, end);
            // Nine tenths of both paths without loss; with it, BBR and others differ.
            let least = if loss == 0 { 4 * 2_700_000 } else { 4 * 300_000 };
            assert!(acked > least, "{now:?} -> {next:?} with loss {loss}: {acked} bytes in 4 s");
            now = next;
        }
        pair.shutdown(Side::Client);
        pair.run_for(secs(100));
        pair.read(Side::Server);
        let received = pair.slot(Side::Server).association.stats();
        let sent = pair.slot(Side::Client).association.stats();
        assert_eq!(received.messages_received, sent.messages_sent);
    }
}

/// A path that has carried nothing begins with the window that the handshake would have given it.
#[test]
fn an_unused_path_begins_as_if_it_had_been_so_from_the_first() {
    for (from, to) in [(Rfc9260, Bbr), (Bbr, Rfc9260), (Cubic, Rfc9260), (Bbr, Cubic)] {
        let mut changed = pair(from);
        change(&mut changed, to);
        let window = |pair: &Pair| {
            paths(pair).iter().map(|it| (it.cwnd_bytes, it.ssthresh_bytes)).collect::<Vec<_>>()
        };
        assert_eq!(window(&changed), window(&pair(to)), "{from:?} -> {to:?}");
    }
}

/// BBR that has not found out yet what the path carries leaves slow start to its successor.
#[test]
fn slow_start_goes_on() {
    let mut pair = pair(Bbr);
    let end = pair.now + millis(90);
    bulk(&mut pair, end);
    let before = paths(&pair)[0].cwnd_bytes;
    change(&mut pair, Rfc9260);
    let after = &paths(&pair)[0];
    assert_eq!(after.cwnd_bytes, before);
    assert!(after.ssthresh_bytes > 10 * before);
}

#[test]
fn a_congestion_control_of_the_programs_own_stays() {
    let mut config = config(Preset::Rfc9260);
    config.custom_congestion =
        Some(CustomCongestion::new("own", |path| Box::new(BuiltIn::new(Cubic, path))));
    let mut pair = Pair::connected(PairConfig::new(1, config));
    let now = pair.now;
    let mut set = |congestion| {
        let options = AssociationOptions { congestion, ..Default::default() };
        pair.hosts[0].command(now, 0, |it, cx| it.set_options(cx, &options)).map_err(|it| it.key)
    };
    assert_eq!(set(Some(Bbr)), Err("policies.congestion"));
    assert_eq!(set(Some(Rfc9260)), Ok(()), "what it was");
}
