use polypath_units::{Duration, Frequency};

use super::*;
use crate::distribution::{Distribution, Drawn, Uniform};
use crate::random::stream;
use crate::{DEFAULT_QUEUE, NetPerfMeter, RequestResponse, SteadyRate};

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn of(spec: FlowSpec) -> Generator {
    Generator::new(spec, Carrier::default(), stream(1)).unwrap()
}

fn all(generator: &mut Generator, now: Instant, limit: usize) -> Vec<u32> {
    let next = || {
        let message = generator.peek(now)?;
        generator.taken(message);
        Some(message.bytes)
    };
    std::iter::from_fn(next).take(limit).collect()
}

#[test]
fn a_file_is_cut_into_messages() {
    let size = |n| ByteCount::from_bytes(n);
    for (file, message, cut) in [
        (3_000, 1_000, vec![1_000, 1_000, 1_000]),
        (2_500, 1_000, vec![1_000, 1_000, 500]),
        (1, 1_000, vec![1]),
    ] {
        let spec = FlowSpec::new(Source::File(size(file)), size(message));
        let mut generator = of(spec);
        assert_eq!(all(&mut generator, at(0), 100), cut);
        assert!(generator.is_finished(at(0)));
        assert_eq!((generator.messages(), generator.bytes()), (cut.len() as u64, size(file)));
    }
}

#[test]
fn a_refused_message_stays_the_next() {
    let spec = FlowSpec::new(Source::Saturated, ByteCount::from_bytes(1_452));
    let mut generator = of(spec);
    let first = generator.peek(at(0));
    assert_eq!(generator.peek(at(9)).map(|m| m.number), first.map(|m| m.number));
    generator.taken(first.unwrap());
    assert_eq!(generator.peek(at(9)).map(|m| m.number), Some(1));
}

#[test]
fn a_saturated_source_lasts_from_start_to_stop() {
    let mut spec = FlowSpec::new(Source::Saturated, ByteCount::from_bytes(1_452));
    spec.start = SECOND;
    spec.stop = Some(SECOND * 3);
    let mut generator = of(spec);
    let messages = [0, 1, 2, 3, 4].map(|seconds| all(&mut generator, at(seconds), 10).len());
    assert_eq!(messages, [0, 10, 10, 0, 0]);
    assert_eq!([0, 2, 3].map(|seconds| generator.is_finished(at(seconds))), [false, false, true]);
}

#[test]
fn a_flow_that_was_stopped_before_it_began_carried_nothing() {
    let stopped = |source| FlowSpec {
        stop: Some(SECOND * 3),
        ..FlowSpec::new(source, ByteCount::from_bytes(1_000))
    };
    for source in [Source::Saturated, Source::File(ByteCount::from_bytes(2_000))] {
        let generator = of(stopped(source));
        assert!(generator.is_finished(at(3)) && !generator.is_exhausted(at(3)));
    }
    let mut part = of(stopped(Source::File(ByteCount::from_bytes(2_000))));
    assert_eq!(all(&mut part, at(0), 1).len(), 1);
    assert!(part.is_finished(at(3)) && !part.is_exhausted(at(3)));
    assert_eq!(all(&mut part, at(0), 1).len(), 1);
    assert!(part.is_exhausted(at(0)));
    let mut endless = of(stopped(Source::Saturated));
    all(&mut endless, at(0), 1);
    assert_eq!([2, 3].map(|seconds| endless.is_exhausted(at(seconds))), [false, true]);
}

#[test]
fn senseless_flows_are_refused() {
    let some = ByteCount::from_bytes(10);
    let error =
        |spec: FlowSpec| Generator::new(spec, Carrier::default(), stream(1)).unwrap_err().key;
    let constant =
        |bits| Source::Constant(SteadyRate { rate: BitRate::from_bits_per_second(bits) });
    let sized = |source, size| FlowSpec { message_size: size, ..FlowSpec::new(source, some) };
    let varying = |from: u64, to: u64| {
        let [from, to] = [from, to].map(ByteCount::from_bytes);
        Some(Distribution::Drawn(Drawn::Uniform(Uniform { from, to })))
    };
    let cases = [
        (FlowSpec::new(Source::Saturated, ByteCount::ZERO), "message_size"),
        (FlowSpec::new(Source::File(ByteCount::ZERO), some), "source"),
        (FlowSpec::new(Source::Saturated, ByteCount::from_bytes(1 << 32)), "message_size"),
        (
            FlowSpec {
                start: SECOND,
                stop: Some(SECOND),
                ..FlowSpec::new(Source::Saturated, some)
            },
            "stop",
        ),
        (sized(constant(0), Some(some.into())), "source.constant.rate"),
        (sized(constant(1), None), "message_size"),
        (sized(constant(1), varying(2, 1)), "message_size.uniform.from"),
        (sized(Source::File(some), varying(1, 2)), "message_size"),
        (FlowSpec::new(Source::Netperfmeter(NetPerfMeter::default()), some), "message_size"),
    ];
    for (spec, key) in cases {
        assert_eq!(error(spec.clone()), key, "{spec:?}");
    }
}

#[cfg(feature = "serde")]
#[test]
fn reads_from_files() {
    let text = r#"{"source": {"file": "8 MiB"}, "message_size": "1452 B", "delivery": "unordered", "start": "1 s"}"#;
    let spec: FlowSpec = serde_json::from_str(text).unwrap();
    assert_eq!(spec.source, Source::File(ByteCount::from_mib(8)));
    assert_eq!((spec.delivery, spec.start, spec.stop), (Delivery::Unordered, SECOND, None));
    let minimal: FlowSpec =
        serde_json::from_str(r#"{"source": "saturated", "message_size": "1 kB"}"#).unwrap();
    assert_eq!(minimal, FlowSpec::new(Source::Saturated, ByteCount::from_bytes(1_000)));
    assert_eq!(minimal.queue, DEFAULT_QUEUE);
    assert!(
        serde_json::from_str::<FlowSpec>(r#"{"source": "saturated", "size": "1 kB"}"#).is_err()
    );
}

fn constant(bytes: u64) -> FlowSpec {
    let rate = SteadyRate { rate: BitRate::from_bits_per_second(8_000) };
    FlowSpec::new(Source::Constant(rate), ByteCount::from_bytes(bytes))
}

#[test]
fn a_clock_goes_on_while_the_transport_is_busy() {
    // A message each second, and room for three.
    let spec = FlowSpec { queue: 3, start: SECOND, ..constant(1_000) };
    let mut generator = of(spec);
    assert_eq!(generator.peek(at(0)), None);
    assert_eq!(generator.next_turn(at(0)), Some(at(1)));
    let first = generator.peek(at(1)).unwrap();
    assert_eq!((first.number, first.offered), (0, at(1)));
    assert_eq!(generator.next_turn(at(1)), Some(at(2)));
    assert_eq!(generator.peek(at(9)), Some(first));
    assert_eq!((generator.offered(), generator.dropped()), (9, 6));
    assert_eq!(all(&mut generator, at(9), 10), [1_000; 3]);
    assert_eq!((generator.messages(), generator.offered()), (3, 9));
    assert!(!generator.is_finished(at(9)) && !generator.has_end());
}

#[test]
fn what_waits_is_sent_after_the_stop() {
    let mut generator = of(FlowSpec { stop: Some(SECOND * 3), ..constant(1_000) });
    assert!(generator.peek(at(5)).is_some() && !generator.is_finished(at(5)));
    assert_eq!(all(&mut generator, at(5), 10).len(), 3);
    assert!(generator.is_finished(at(5)) && generator.is_exhausted(at(5)));
    assert_eq!(generator.next_turn(at(5)), None);
}

#[test]
fn lengths_stay_within_what_the_transport_takes() {
    let [from, to] = [1, 10_000].map(ByteCount::from_bytes);
    let size = Some(Distribution::Drawn(Drawn::Uniform(Uniform { from, to })));
    let carrier = Carrier { shortest: 500, longest: 2_000, ..Carrier::default() };
    for source in [Source::Saturated, constant(1).source] {
        let spec = FlowSpec { message_size: size.clone(), ..FlowSpec::new(source, from) };
        let mut generator = Generator::new(spec, carrier, stream(1)).unwrap();
        let sizes = all(&mut generator, at(10_000), 500);
        assert!(sizes.len() == 500 && sizes.iter().all(|size| (500..=2_000).contains(size)));
        assert!(sizes.contains(&2_000) && sizes.contains(&500));
    }
    // What a frame leaves over is a message too, but the end of a file is as short as it is.
    let frames = NetPerfMeter {
        frame_rate: Frequency::ZERO.into(),
        frame_size: ByteCount::from_bytes(1_453).into(),
        ..NetPerfMeter::default()
    };
    let spec = FlowSpec {
        message_size: None,
        ..FlowSpec::new(Source::Netperfmeter(frames), ByteCount::ZERO)
    };
    let mut generator = Generator::new(spec, carrier, stream(1)).unwrap();
    assert_eq!(all(&mut generator, at(5), 4), [1_452, 500, 1_452, 500]);
    let spec =
        FlowSpec::new(Source::File(ByteCount::from_bytes(1_001)), ByteCount::from_bytes(600));
    let mut generator = Generator::new(spec, carrier, stream(1)).unwrap();
    assert_eq!(all(&mut generator, at(0), 4), [600, 401]);
}

#[test]
fn a_client_waits_for_its_responses() {
    let size = ByteCount::from_bytes(100);
    let plan = RequestResponse {
        response: size.into(),
        think: SECOND.into(),
        service: (SECOND * 2).into(),
        concurrent: 2,
        requests: Some(3),
    };
    let mut server = of(FlowSpec {
        message_size: None,
        ..FlowSpec::new(Source::Responses(plan.responses()), size)
    });
    let mut client =
        of(FlowSpec { start: SECOND, ..FlowSpec::new(Source::RequestResponse(plan), size) });
    assert_eq!((all(&mut client, at(0), 9).len(), all(&mut client, at(1), 9).len()), (0, 2));
    assert!(!client.is_finished(at(100)) && server.is_finished(at(100)));

    server.trigger(at(2), at(1));
    assert_eq!((server.peek(at(3)), server.next_turn(at(3))), (None, Some(at(4))));
    let response = server.peek(at(4)).unwrap();
    assert_eq!((response.offered, response.since), (at(4), Some(at(1))));
    server.taken(response);

    client.trigger(at(5), at(4));
    assert_eq!((client.peek(at(5)), client.next_turn(at(5))), (None, Some(at(6))));
    assert_eq!(all(&mut client, at(6), 9).len(), 1);
    // The third was the last: two responses are open still.
    client.trigger(at(7), at(6));
    assert!(client.peek(at(99)).is_none() && !client.is_finished(at(99)));
    client.trigger(at(8), at(6));
    assert!(client.is_finished(at(99)) && client.is_exhausted(at(99)));
}

#[test]
fn a_stop_ends_the_requests() {
    let size = ByteCount::from_bytes(100);
    let plan = RequestResponse {
        response: size.into(),
        think: SECOND.into(),
        service: Duration::ZERO.into(),
        concurrent: 1,
        requests: None,
    };
    let spec =
        FlowSpec { stop: Some(SECOND * 4), ..FlowSpec::new(Source::RequestResponse(plan), size) };
    let mut client = of(spec);
    assert_eq!(all(&mut client, at(0), 9).len(), 1);
    assert!(!client.is_finished(at(9)));
    client.trigger(at(3), at(2));
    assert!(client.peek(at(9)).is_none() && client.is_finished(at(4)));
}

#[test]
fn frames_are_cut_into_messages_with_marks_drawn_for_each() {
    let meter = NetPerfMeter {
        frame_size: ByteCount::from_bytes(3_000).into(),
        unordered: Fraction::from_percent(30),
        unreliable: Fraction::from_percent(10),
        ..NetPerfMeter::default()
    };
    let spec = FlowSpec {
        message_size: None,
        start: SECOND,
        stop: Some(SECOND * 501),
        ..FlowSpec::new(Source::Netperfmeter(meter), ByteCount::ZERO)
    };
    let mut generator = of(FlowSpec { queue: u32::MAX, ..spec });
    // Frames come until the stop of the meter itself, which is set for associations that begin with the run.
    let mut messages = Vec::new();
    while let Some(message) = generator.peek(at(1_000)) {
        generator.taken(message);
        messages.push(message);
    }
    assert_eq!(messages.len(), 300 * 3);
    assert_eq!(messages[..3].iter().map(|m| m.bytes).collect::<Vec<_>>(), [1_452, 1_452, 96]);
    let share = |of: &dyn Fn(&Message) -> bool| {
        messages.iter().filter(|message| of(message)).count() as f64 / messages.len() as f64
    };
    // Four standard deviations.
    assert!((share(&|m| m.delivery == Delivery::Unordered) - 0.3).abs() < 0.062);
    assert!((share(&|m| m.effort == Effort::SentOnce) - 0.1).abs() < 0.04);
}

#[test]
fn frames_without_end_take_no_time() {
    let frames = NetPerfMeter {
        frame_rate: Frequency::from_hertz(1).into(),
        frame_size: ByteCount::from_bytes(u64::MAX).into(),
        ..NetPerfMeter::default()
    };
    let spec = FlowSpec {
        message_size: None,
        ..FlowSpec::new(Source::Netperfmeter(frames), ByteCount::ZERO)
    };
    let mut generator = of(spec);
    assert_eq!(generator.peek(at(0)).map(|message| message.bytes), Some(1_452));
    assert_eq!(generator.dropped(), u64::MAX.div_ceil(1_452) - u64::from(DEFAULT_QUEUE));
}
