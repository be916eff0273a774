use std::collections::BTreeMap;

use super::*;
use crate::{PacketId, Ticket};

fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

fn waiting(number: u32, bytes: u32) -> Waiting {
    let ticket = Ticket { packet: PacketId(number), bytes, order: 0 };
    Waiting { ticket, since: ms(0), ect: false }
}

fn queue(config: &FqCodelConfig) -> FqCodel {
    FqCodel::new(config, "test", &Streams::new(1))
}

/// Numbers of packets in the order in which they leave at time zero.
fn drain(queue: &mut FqCodel) -> Vec<u32> {
    let mut acts = VecDeque::new();
    let all = std::iter::from_fn(|| queue.dequeue(ms(0), &mut acts));
    all.map(|waiting| waiting.ticket.packet.0).collect()
}

/// Offers packets, each with its flow; a flow's number times 100 is that of its first packet.
fn offer(queue: &mut FqCodel, flow: u32, count: u32, bytes: u32) -> VecDeque<QueueAct> {
    let mut acts = VecDeque::new();
    for number in 0..count {
        queue.enqueue(waiting(100 * flow + number, bytes), flow.into(), &mut acts);
    }
    acts
}

#[test]
fn flows_take_turns_packet_by_packet() {
    let mut queue = queue(&FqCodelConfig::default());
    offer(&mut queue, 1, 4, 1_514);
    offer(&mut queue, 2, 3, 1_514);
    assert_eq!(drain(&mut queue), [100, 200, 101, 201, 102, 202, 103]);
    assert_eq!(queue.level(), QueueLevel::default());
}

#[test]
fn turns_are_by_bytes() {
    let mut queue = queue(&FqCodelConfig::default());
    // Three packets of 500 bytes leave 14 of the quantum, so that a fourth goes too; the debt of 486 is carried on, and
    // 1,028 are for three. 1,500 bytes leave 14 as well: two packets go in the first turn, one in the next.
    offer(&mut queue, 1, 8, 500);
    offer(&mut queue, 2, 3, 1_500);
    assert_eq!(drain(&mut queue), [100, 101, 102, 103, 200, 201, 104, 105, 106, 202, 107]);
}

#[test]
fn equal_shares_of_bytes_whatever_the_lengths() {
    let config = FqCodelConfig { limit: 100_000, ..FqCodelConfig::default() };
    let mut queue = queue(&config);
    let mut acts = VecDeque::new();
    for number in 0..20_000 {
        queue.enqueue(waiting(number, 1_500), 7, &mut acts);
        queue.enqueue(waiting(number, 60), 8, &mut acts);
        queue.enqueue(waiting(number, 700), 9, &mut acts);
    }
    let mut sent = BTreeMap::<u32, u64>::new();
    for _ in 0..20_000 {
        let bytes = queue.dequeue(ms(0), &mut acts).unwrap().ticket.bytes;
        *sent.entry(bytes).or_default() += u64::from(bytes);
    }
    let (least, most) = (sent.values().min().unwrap(), sent.values().max().unwrap());
    assert!(most - least < 2 * 1_514, "{sent:?}");
}

#[test]
fn a_flow_that_begins_goes_first() {
    let mut queue = queue(&FqCodelConfig::default());
    let mut acts = VecDeque::new();
    offer(&mut queue, 1, 6, 1_000);
    let mut next = |queue: &mut FqCodel| queue.dequeue(ms(0), &mut acts).unwrap().ticket.packet.0;
    // Credits after these: 514 and -486.
    assert_eq!([next(&mut queue), next(&mut queue)], [100, 101]);
    offer(&mut queue, 2, 1, 100);
    // The first goes to the old ones with 1,028, and 28 are left.
    assert_eq!([next(&mut queue), next(&mut queue)], [200, 102]);
    offer(&mut queue, 2, 1, 100);
    // The second is not new again: it stands behind the first among the old ones, until it has had a turn.
    assert_eq!([next(&mut queue), next(&mut queue)], [103, 200]);
    assert_eq!([next(&mut queue), next(&mut queue)], [104, 105]);
    assert_eq!(queue.dequeue(ms(0), &mut VecDeque::new()), None);
    offer(&mut queue, 1, 2, 1_000);
    offer(&mut queue, 2, 1, 100);
    assert_eq!(queue.flows.iter().filter(|flow| flow.place == Place::New).count(), 2);
}

#[test]
fn too_much_goes_from_the_head_of_the_longest() {
    let config = FqCodelConfig { limit: 10, ..FqCodelConfig::default() };
    let mut queue = queue(&config);
    assert_eq!(offer(&mut queue, 1, 3, 100), []);
    // The eighth of these is one too many: half of the eight goes.
    let acts = offer(&mut queue, 2, 8, 1_000);
    let dropped: Vec<u32> = acts
        .iter()
        .map(|act| match act {
            QueueAct::Dropped(ticket, DropCause::QueueFull) => ticket.packet.0,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(dropped, [200, 201, 202, 203]);
    assert_eq!(queue.level(), QueueLevel { packets: 7, bytes: 4_300 });
    assert_eq!(drain(&mut queue).len(), 7);
    let batched = FqCodelConfig { limit: 300, ..FqCodelConfig::default() };
    let mut queue = FqCodel::new(&batched, "test", &Streams::new(1));
    assert_eq!(offer(&mut queue, 1, 301, 1_000).len(), 64);
}

#[test]
fn each_queue_is_under_the_law_by_itself() {
    let config = FqCodelConfig { limit: 100_000, ..FqCodelConfig::default() };
    let mut queue = queue(&config);
    let mut acts = VecDeque::new();
    (0..9_000).for_each(|number| queue.enqueue(waiting(number, 1_500), 1, &mut acts));
    let mut drops = Vec::new();
    for at in 0..300 {
        // A sparse flow whose packets never wait.
        if at % 10 == 0 {
            let fresh = Waiting { since: ms(at), ..waiting(10_000, 100) };
            queue.enqueue(fresh, 2, &mut acts);
        }
        while queue.dequeue(ms(at), &mut acts).unwrap().ticket.packet.0 == 10_000 {}
        for act in acts.drain(..) {
            let QueueAct::Dropped(ticket, DropCause::EarlyDrop) = act else { panic!("{act:?}") };
            assert_ne!(ticket.packet.0, 10_000);
            drops.push(at);
        }
    }
    assert_eq!(drops, [105, 205, 276]);
}

#[test]
fn places_in_the_pool_are_used_again() {
    let mut queue = queue(&FqCodelConfig::default());
    for round in 0..100 {
        offer(&mut queue, round, 5, 1_000);
        offer(&mut queue, round + 1, 5, 1_000);
        assert_eq!(drain(&mut queue).len(), 10);
    }
    assert_eq!(queue.pool.nodes.len(), 10);
}

#[test]
fn hashes_spread_flows_and_depend_on_the_seed() {
    let config = FqCodelConfig { flows: 16, ..FqCodelConfig::default() };
    let places = |seed| {
        let queue = FqCodel::new(&config, "test", &Streams::new(seed));
        (0..16_000).map(|flow| queue.index(flow)).collect::<Vec<u32>>()
    };
    let (one, again, other) = (places(1), places(1), places(2));
    assert_eq!(one, again);
    assert_ne!(one, other);
    for place in 0..16 {
        let hits = one.iter().filter(|found| **found == place).count();
        // Four standard deviations of 1000 are 122.
        assert!(hits.abs_diff(1_000) < 122, "{place}: {hits}");
    }
}

#[test]
fn everything_can_be_taken_out() {
    let mut queue = queue(&FqCodelConfig::default());
    offer(&mut queue, 1, 3, 100);
    offer(&mut queue, 2, 3, 100);
    assert_eq!(std::iter::from_fn(|| queue.remove()).count(), 6);
    assert_eq!(queue.level(), QueueLevel::default());
    offer(&mut queue, 2, 1, 100);
    assert_eq!(drain(&mut queue), [200]);
}

#[test]
fn senseless_parameters_are_named() {
    let plain = FqCodelConfig::default();
    let key = |config: FqCodelConfig| config.problem().map(|(key, _)| key);
    assert_eq!(key(plain), None);
    assert_eq!(key(FqCodelConfig { limit: 0, ..plain }), Some("limit"));
    assert_eq!(key(FqCodelConfig { flows: 0, ..plain }), Some("flows"));
    assert_eq!(key(FqCodelConfig { quantum: ByteCount::from_bytes(9), ..plain }), Some("quantum"));
    assert_eq!(key(FqCodelConfig { drop_batch: 0, ..plain }), Some("drop_batch"));
    assert_eq!(key(FqCodelConfig { target: Duration::ZERO, ..plain }), Some("target"));
}
