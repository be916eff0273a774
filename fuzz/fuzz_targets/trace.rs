//! Any text as the record of a link, or as a list of messages.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use polypath_netsim::impair::{AfterEnd, RateTrace};
use polypath_netsim::{Channel, ChannelConfig, PacketId, Streams, Ticket};
use polypath_units::{BitRate, ByteCount, Duration, Instant};
use polypath_workload::MessageTrace;

// The first byte says what the text is to be.
fuzz_target!(|text: &str| {
    let Some(first) = text.bytes().next().filter(u8::is_ascii) else { return };
    let text = &text[1..];
    let trace = match first % 4 {
        0 => RateTrace::from_csv(text, AfterEnd::Hold),
        1 => RateTrace::from_csv(text, AfterEnd::Repeat),
        2 => RateTrace::from_mahimahi(text, ByteCount::from_bytes(u64::from(first) * 12)),
        _ => return messages(text),
    };
    let Ok(trace) = trace else { return };
    assert!(trace.mean_loss().is_none_or(|loss| (0.0..=1.0).contains(&loss)));
    let late = Duration::from_millis(u64::from(first) * 77);
    for trace in [trace.begun_at(late), trace] {
        carry(trace);
    }
});

/// Packets over a link that follows the trace: each arrives once at most, not before it was sent, in order.
fn carry(trace: RateTrace) {
    let is_steady = !trace.has_delays();
    let mut config = ChannelConfig::new(BitRate::from_bits_per_second(1_000_000), Duration::ZERO);
    config.rate_trace = Some(Arc::new(trace));
    let mut channel = Channel::new(&config, "fuzz", &Streams::new(1));
    let (mut now, mut last) = (Instant::ZERO, None);
    for number in 0..64 {
        let bytes = [40, 1_500, 65_535][number as usize % 3];
        channel.offer(now, Ticket { packet: PacketId(number), bytes, order: 0 });
        let Some(next) = channel.next_departure() else { continue };
        assert!(next >= now, "{next:?} comes before {now:?}");
        if next == Instant::FAR_FUTURE {
            return;
        }
        now = next;
        while let Some(left) = channel.take_departure(now) {
            let PacketId(number) = left.ticket.packet;
            assert!(!is_steady || last.is_none_or(|last| last < number), "{last:?} {number}");
            last = Some(number);
        }
    }
}

fn messages(text: &str) {
    match MessageTrace::from_csv(text) {
        Ok(trace) => {
            assert!(trace.rows().windows(2).all(|pair| pair[0].after <= pair[1].after));
            assert!(!trace.rows().is_empty());
        }
        Err(error) => assert!(error.line >= 1 && error.line <= text.lines().count().max(1)),
    }
}
