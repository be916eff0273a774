//! Hosts whose clock is coarser than the network is fast: round trips of no time at all, and many inputs at one instant.
//! Whatever the preset, what is sent at one instant has an end, and every message arrives exactly once and in order.

use polypath_proto::config::{AssociationConfig, BufferSize, Preset};
use polypath_proto::{Duration, Event, OutgoingMessage, SendError};
use polypath_testkit::{Faults, Pair, PairConfig, PathModel, Side};

const MESSAGES: u32 = 150;

fn content(number: u32) -> Vec<u8> {
    number.to_be_bytes().into_iter().cycle().take(1200).collect()
}

/// Sends all messages from the client, as its buffer has room, over a network that loses some packets.
fn transfer(preset: Preset, tick_ms: u64, delay: Duration, paths: usize, buffer: u32) {
    let what = format!("{preset:?}, ticks of {tick_ms} ms, {delay:?}, {paths} paths, {buffer} B");
    let mut config = AssociationConfig::with_preset(preset);
    config.policies.send_buffer = BufferSize::Bytes;
    config.policies.receive_buffer = BufferSize::Bytes;
    (config.send_buffer_bytes, config.receive_buffer_bytes) = (buffer.into(), buffer);
    let faults = Faults { loss: 60, ..Faults::default() };
    let model = PathModel { delay, ..PathModel::default() };
    let mut pair = Pair::connected(PairConfig {
        paths: vec![model; paths],
        tick: Duration::from_millis(tick_ms),
        seed: u64::from(buffer) + tick_ms,
        ..PairConfig::new(paths, config)
    });
    pair.paths.fill(model.with_faults(faults));
    let mut sent = 0;
    while sent < MESSAGES {
        match pair.send(Side::Client, OutgoingMessage::new(0, content(sent))) {
            Ok(()) => sent += 1,
            Err(SendError::WouldBlock) => {
                let end = pair.now + Duration::from_secs(120);
                assert!(pair.step(end), "{what}: stuck after {sent} messages");
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
    let all = |pair: &Pair| pair.slot(Side::Server).messages.len() >= MESSAGES as usize;
    assert!(pair.run_until(Duration::from_secs(600), all), "{what}: not delivered");
    pair.shutdown(Side::Client);
    let ended = |pair: &Pair| pair.hosts.iter().all(|host| host.slots[0].association.is_closed());
    assert!(pair.run_until(Duration::from_secs(600), ended), "{what}: not ended");
    let got = &pair.slot(Side::Server).messages;
    assert_eq!(got.len(), MESSAGES as usize, "{what}");
    for (message, number) in got.iter().zip(0..) {
        assert_eq!(message.clone().into_bytes(), content(number), "{what}");
    }
    let failed = |event: &Event| matches!(event, Event::SendFailed { .. });
    assert!(!pair.slot(Side::Client).events.iter().any(failed), "{what}");
}

#[test]
fn a_flush_ends_whatever_the_clock() {
    for preset in Preset::ALL {
        for tick_ms in [0, 1, 15, 100] {
            for (paths, buffer) in [(2, 16 << 10), (2, 64 << 10), (4, 16 << 10), (4, 256 << 10)] {
                transfer(*preset, tick_ms, Duration::from_micros(400), paths, buffer);
            }
        }
    }
}

#[test]
fn a_flush_ends_on_a_network_that_takes_no_time() {
    for preset in Preset::ALL {
        transfer(*preset, 0, Duration::ZERO, 2, 16 << 10);
        transfer(*preset, 15, Duration::ZERO, 4, 64 << 10);
    }
}
