use bytes::Bytes;
use polypath_units::Duration;
use polypath_workload::Source;

use super::*;
use crate::scenario::{Flow, FlowEnds};

const SIZE: u64 = 100;

fn receivers(delivery: Delivery, streams: u16) -> Vec<Receiver> {
    let flow = |file| Flow {
        name: "f".into(),
        pair: None,
        from: None,
        to: None,
        ends: FlowEnds::default(),
        start: Duration::ZERO,
        stop: None,
        source: Source::File(ByteCount::from_bytes(file)),
        message_size: ByteCount::from_bytes(SIZE),
        delivery,
        streams,
        first_stream: 0,
        reliability: None,
        stream_values: Vec::new(),
    };
    let flows = [flow(SIZE), flow(10 * SIZE + 5)];
    flows
        .iter()
        .enumerate()
        .map(|(index, flow)| Receiver::new(MessagePlan::new(index, flow), 100, Gaps::Violation))
        .collect()
}

/// Message `number` of flow 1.
fn message(receivers: &[Receiver], number: u64) -> ReceivedMessage {
    let plan = &receivers[1].plan;
    let len = plan.len(number) as u32;
    let whole = Payload::Virtual(VirtualPayload { message: plan.identity(number), offset: 0, len });
    ReceivedMessage {
        stream: plan.stream(number),
        ppid: 0,
        delivery: polypath_proto::Delivery::Ordered,
        ssn: 0,
        fragments: [whole.slice(0, 60), whole.slice(60, 40)]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect(),
    }
}

/// The same with real bytes.
fn encoded(mut message: ReceivedMessage) -> ReceivedMessage {
    for fragment in &mut message.fragments {
        let mut bytes = vec![0; fragment.len()];
        fragment.copy_to(&mut bytes);
        *fragment = Payload::Shared(Bytes::from(bytes));
    }
    message
}

fn run(receivers: &mut [Receiver], numbers: &[u64]) -> Violations {
    for number in numbers {
        for message in [message(receivers, *number), encoded(message(receivers, *number))] {
            assert_eq!(recognise(&message, receivers), Some((1, *number)));
        }
        let message = message(receivers, *number);
        receivers[1].take(Instant::ZERO, *number, &message);
    }
    receivers[1].violations()
}

#[test]
fn a_complete_flow_has_no_violations() {
    for delivery in [Delivery::Ordered, Delivery::Unordered] {
        let mut receivers = receivers(delivery, 3);
        assert!(run(&mut receivers, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).is_empty());
        let meter = receivers[1].meter();
        assert_eq!((meter.messages(), meter.total().as_bytes()), (11, 1_005));
    }
}

#[test]
fn streams_are_independent_of_each_other() {
    assert!(run(&mut receivers(Delivery::Ordered, 3), &[2, 0, 5, 8, 3, 1]).is_empty());
}

#[test]
fn overtaking_and_repetition_are_found() {
    let violations = run(&mut receivers(Delivery::Ordered, 1), &[0, 2, 2, 3]);
    assert_eq!(violations, Violations { out_of_order: 1, duplicated: 1, ..Violations::default() });
    let violations = run(&mut receivers(Delivery::Unordered, 1), &[5, 0, 2, 5, 1]);
    assert_eq!(violations, Violations { duplicated: 1, ..Violations::default() });
}

#[test]
fn damage_is_found_in_both_forms() {
    let mut receivers = receivers(Delivery::Unordered, 1);
    let good = message(&receivers, 0);
    receivers[1].take(Instant::ZERO, 0, &encoded(good.clone()));
    assert!(receivers[1].violations().is_empty());

    let mut wrong_stream = good.clone();
    wrong_stream.stream = 1;
    let mut short = good.clone();
    short.fragments.pop();
    let mut swapped = good.clone();
    swapped.fragments.swap(0, 1);
    let mut beyond = good.clone();
    beyond.fragments.push(Payload::Shared(Bytes::from_static(b"x")));
    let cases = [wrong_stream, short, swapped, beyond];
    for case in &cases {
        receivers[1].take(Instant::ZERO, 0, case);
        receivers[1].take(Instant::ZERO, 0, &encoded(case.clone()));
    }
    receivers[1].take(Instant::ZERO, 1, &good);
    assert_eq!(receivers[1].violations().damaged, 2 * cases.len() as u64 + 1);
    assert_eq!(receivers[1].meter().messages(), 1);
}

#[test]
fn strangers_are_not_recognised() {
    let receivers = receivers(Delivery::Unordered, 1);
    for bytes in ["short", "a longer text that follows no pattern"] {
        let mut stranger = message(&receivers, 10);
        stranger.fragments =
            [Payload::Shared(Bytes::from_static(bytes.as_bytes()))].into_iter().collect();
        assert_eq!(recognise(&stranger, &receivers), None);
    }
}
