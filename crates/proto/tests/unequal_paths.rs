//! A path that dies behind the mechanisms for unequal paths: chunks that move away leave no timer that could find it
//! out, and its share of the buffers stays unused.

mod common;

use common::{config, message, millis, secs};
use polypath_proto::config::{
    AssociationConfig, BufferSplit, NrSack, OldPathPays, Preset, RescheduleConditions,
    RescheduleSide,
};
use polypath_proto::{Duration, Event, PathStats, PathStatus};
use polypath_testkit::{Pair, PairConfig, PathModel, Side};

/// Bytes of each message.
const SIZE: u32 = 1400;

fn config_with(split: BufferSplit, side: RescheduleSide) -> AssociationConfig {
    let mut config = config(Preset::DreibholzAsymmetric);
    config.policies.buffer_split = split;
    config.policies.reschedule.side = side;
    // Else nothing that the receiver holds would take room in the send buffer.
    config.policies.nr_sack = NrSack::Off;
    config.path_max_retrans = 2;
    config.send_buffer_bytes = 100_000;
    config.receive_buffer_bytes = 100_000;
    config
}

/// Paths of 2 Mbit/s and 500 kbit/s that are confirmed.
fn unequal(config: AssociationConfig) -> Pair {
    let path = |bytes_per_second| PathModel {
        bytes_per_second: Some(bytes_per_second),
        ..PathModel::default()
    };
    let mut setup = PairConfig::new(2, config);
    setup.paths = vec![path(250_000), path(62_500)];
    let mut pair = Pair::connected(setup);
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    pair
}

/// Keeps the send buffer full for so long; returns the next number.
fn fill(pair: &mut Pair, mut number: u64, span: Duration) -> u64 {
    let end = pair.now + span;
    while pair.now < end {
        while pair.send(Side::Client, message(number, SIZE)).is_ok() {
            number += 1;
        }
        pair.run_for(millis(10));
    }
    number
}

fn stats(pair: &Pair) -> Vec<PathStats> {
    pair.slot(Side::Client).association.path_stats()
}

fn arrived(pair: &Pair) -> u64 {
    pair.slot(Side::Server).messages.len() as u64
}

#[test]
fn a_dead_path_is_found_out_behind_rescheduling_and_splitting() {
    for split in [BufferSplit::None, BufferSplit::Both] {
        for side in [RescheduleSide::None, RescheduleSide::Sender, RescheduleSide::Both] {
            let case = format!("{split:?}, {side:?}");
            let mut pair = unequal(config_with(split, side));
            let number = fill(&mut pair, 0, secs(3));
            assert!(stats(&pair).iter().all(|path| path.data_packets_sent > 50), "{case}");
            pair.paths[1].faults.loss = 1000;
            let number = fill(&mut pair, number, secs(20));
            let paths = stats(&pair);
            assert_eq!(paths[0].status, PathStatus::Active, "{case}");
            assert_eq!(paths[1].status, PathStatus::Inactive, "{case}");
            // Afterwards the whole buffer is the other path's: it is full again.
            let before = arrived(&pair);
            let number = fill(&mut pair, number, secs(5));
            let rate = (arrived(&pair) - before) * u64::from(SIZE) / 5;
            assert!(rate > 225_000, "{case}: {rate} bytes/s");
            pair.shutdown(Side::Client);
            let is_over = |pair: &Pair| pair.slot(Side::Client).association.is_closed();
            assert!(pair.run_until(secs(60), is_over), "{case}");
            assert!(matches!(
                pair.slot(Side::Client).events.last(),
                Some(Event::Ended(polypath_proto::AssociationEnd::ShutdownComplete))
            ));
            let server = pair.slot(Side::Server);
            let numbers = server.messages.iter().map(|message| u64::from(message.ppid));
            assert!(numbers.eq(0..number), "{case}: each once, in order");
        }
    }
}

/// Under INET's conditions and price, a path that recovers already when a chunk leaves it takes no new data for a round
/// trip, and does again afterwards.
#[test]
fn a_path_without_new_data_gets_some_again() {
    let mut config = config_with(BufferSplit::None, RescheduleSide::Sender);
    config.policies.reschedule.conditions = RescheduleConditions::Inet;
    config.policies.reschedule.old_path = OldPathPays::Half;
    config.policies.reschedule.threshold = 0.05;
    let mut pair = unequal(config);
    pair.paths[1].faults.loss = 50;
    let number = fill(&mut pair, 0, secs(20));
    let moved: u64 = stats(&pair).iter().map(|path| path.rescheduled_chunks).sum();
    assert!(moved > 20, "{moved} chunks moved");
    let before = stats(&pair)[1].data_packets_sent;
    let number = fill(&mut pair, number, secs(10));
    assert!(stats(&pair)[1].data_packets_sent > before + 50);
    assert!(pair.run_until(secs(60), |pair| arrived(pair) == number));
}
