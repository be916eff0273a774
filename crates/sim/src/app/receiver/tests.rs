use bytes::Bytes;
use polypath_units::Duration;
use polypath_workload::{Effort, FlowSpec, Message, Source};

use super::*;
use crate::scenario::Flow;

const SIZE: u64 = 100;
const MESSAGES: u64 = 11;

/// Receivers of two flows, and what was sent of the second.
struct Setting {
    receivers: Vec<Receiver>,
    ledger: FlowLedger,
}

fn flow(source: Source, delivery: Delivery, streams: u16) -> (Flow, FlowSpec) {
    let flow = Flow { delivery, streams, ..Flow::new("f", source) };
    let size = Some(ByteCount::from_bytes(SIZE).into());
    let spec = FlowSpec { message_size: size, ..flow.spec(Duration::ZERO) };
    (flow, spec)
}

fn len(number: u64) -> u32 {
    if number == MESSAGES - 1 { 5 } else { SIZE as u32 }
}

fn setting(delivery: Delivery, streams: u16) -> Setting {
    let of = |bytes| flow(Source::File(ByteCount::from_bytes(bytes)), delivery, streams);
    let flows = [of(SIZE), of((MESSAGES - 1) * SIZE + 5)].into_iter().enumerate();
    let plan =
        |(index, (flow, spec)): (usize, (Flow, FlowSpec))| MessagePlan::new(index, &flow, spec);
    let receivers: Vec<Receiver> =
        flows.map(|flow| Receiver::new(plan(flow), Gaps::Violation)).collect();
    let mut ledger = FlowLedger::new(100, Instant::ZERO, Instant::FAR_FUTURE);
    for number in 0..MESSAGES {
        let message = Message {
            number,
            bytes: len(number),
            delivery,
            effort: Effort::AsFlow,
            stream: None,
            offered: Instant::ZERO,
            since: None,
        };
        ledger.sent(&message, receivers[1].plan.stream(&message));
    }
    Setting { receivers, ledger }
}

/// Message `number` of flow 1.
fn message(setting: &Setting, number: u64) -> ReceivedMessage {
    let plan = &setting.receivers[1].plan;
    let message = plan.identity(number);
    let whole = Payload::Virtual(VirtualPayload { message, offset: 0, len: len(number) });
    let stream = match setting.ledger.find(number) {
        Arrived::First(sent) => sent.stream,
        _ => 0,
    };
    ReceivedMessage {
        stream,
        ppid: 0,
        delivery: polypath_proto::Delivery::Ordered,
        ssn: 0,
        tsn: polypath_proto::Tsn(0),
        piece: polypath_proto::Piece::Whole,
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

fn take(setting: &mut Setting, number: u64, message: &ReceivedMessage) {
    setting.receivers[1].take(Instant::ZERO, number, message, &mut setting.ledger);
}

fn run(setting: &mut Setting, numbers: &[u64]) -> Violations {
    for number in numbers {
        for message in [message(setting, *number), encoded(message(setting, *number))] {
            assert_eq!(recognise(&message, &setting.receivers), Some((1, *number)));
        }
        let message = message(setting, *number);
        take(setting, *number, &message);
    }
    setting.receivers[1].violations()
}

#[test]
fn a_complete_flow_has_no_violations() {
    for delivery in [Delivery::Ordered, Delivery::Unordered] {
        let mut setting = setting(delivery, 3);
        assert!(run(&mut setting, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).is_empty());
        let meter = setting.receivers[1].meter();
        assert_eq!((meter.messages(), meter.total().as_bytes()), (11, 1_005));
    }
}

#[test]
fn streams_are_independent_of_each_other() {
    assert!(run(&mut setting(Delivery::Ordered, 3), &[2, 0, 5, 8, 3, 1]).is_empty());
}

#[test]
fn overtaking_and_repetition_are_found() {
    let violations = run(&mut setting(Delivery::Ordered, 1), &[0, 2, 2, 3]);
    assert_eq!(violations, Violations { out_of_order: 1, duplicated: 1, ..Violations::default() });
    // 2 leaves 1 out, and 1 comes after 2.
    let violations = run(&mut setting(Delivery::Ordered, 1), &[0, 2, 1, 3]);
    assert_eq!(violations, Violations { out_of_order: 2, ..Violations::default() });
    let violations = run(&mut setting(Delivery::Unordered, 1), &[5, 0, 2, 5, 1]);
    assert_eq!(violations, Violations { duplicated: 1, ..Violations::default() });
}

#[test]
fn what_was_given_up_leaves_no_gap_but_order_remains() {
    let mut setting = setting(Delivery::Ordered, 1);
    setting.receivers[1].gaps = Gaps::Abandoned;
    assert!(run(&mut setting, &[0, 2, 5]).is_empty());
    let violations = run(&mut setting, &[4, 6]);
    assert_eq!(violations, Violations { out_of_order: 1, ..Violations::default() });
}

#[test]
fn damage_is_found_in_both_forms() {
    let mut setting = setting(Delivery::Unordered, 1);
    let good = message(&setting, 0);
    take(&mut setting, 0, &encoded(good.clone()));
    assert!(setting.receivers[1].violations().is_empty());

    let good = message(&setting, 1);
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
        take(&mut setting, 1, case);
        take(&mut setting, 1, &encoded(case.clone()));
    }
    take(&mut setting, 2, &good);
    assert_eq!(setting.receivers[1].violations().damaged, 2 * cases.len() as u64 + 1);
    assert_eq!(setting.receivers[1].meter().messages(), 1);
}

#[test]
fn strangers_are_not_recognised() {
    let setting = setting(Delivery::Unordered, 1);
    for bytes in ["short", "a longer text that follows no pattern"] {
        let mut stranger = message(&setting, 10);
        stranger.fragments =
            [Payload::Shared(Bytes::from_static(bytes.as_bytes()))].into_iter().collect();
        assert_eq!(recognise(&stranger, &setting.receivers), None);
    }
}
