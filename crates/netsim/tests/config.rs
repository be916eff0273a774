//! Parameters of channels as they stand in files.
#![cfg(feature = "serde")]

use polypath_netsim::impair::Outage;
use polypath_netsim::queue_discipline::Limit;
use polypath_netsim::{ChannelConfig, QueueConfig};
use polypath_units::{BitRate, ByteCount, Duration, Fraction, Instant};

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

#[test]
fn every_parameter_is_read() {
    let text = r#"{
        "rate": "100 Mbit/s", "delay": "45 ms", "framing": "7 B", "queue": {"drop-tail": {"bytes": "150 kB"}},
        "uniform_loss": "1 %", "outages": [{"from": "5 s", "until": "8 s"}, {"from": "10 s"}]
    }"#;
    let expected = ChannelConfig {
        framing: ByteCount::from_bytes(7),
        queue: QueueConfig::DropTail(Limit::Bytes(ByteCount::from_bytes(150_000))),
        uniform_loss: Fraction::from_percent(1),
        outages: vec![
            Outage { from: at(5), until: Some(at(8)) },
            Outage { from: at(10), until: None },
        ],
        ..ChannelConfig::new(BitRate::from_mbit(100), Duration::from_millis(45))
    };
    let config: ChannelConfig = serde_json::from_str(text).unwrap();
    assert_eq!(config, expected);
    let written = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<ChannelConfig>(&written).unwrap(), expected);
}

#[test]
fn rate_and_delay_are_enough() {
    let config: ChannelConfig =
        serde_json::from_str(r#"{"rate": "1 Gbit/s", "delay": "0 s"}"#).unwrap();
    assert_eq!(config, ChannelConfig::new(BitRate::from_gbit(1), Duration::ZERO));
    assert_eq!(config.queue, QueueConfig::DropTail(Limit::Packets(100)));
}

#[test]
fn what_is_wrong_is_named() {
    let error = |text: &str| serde_json::from_str::<ChannelConfig>(text).unwrap_err().to_string();
    assert!(error(r#"{"rate": "1 Gbit/s"}"#).contains("missing field `delay`"));
    assert!(
        error(r#"{"rate": "1 Gbit/s", "delay": "0 s", "los": "1 %"}"#)
            .contains("unknown field `los`")
    );
    let queue = error(r#"{"rate": "1 Gbit/s", "delay": "0 s", "queue": {"red": {}}}"#);
    assert!(queue.contains("unknown variant `red`, expected `drop-tail`"), "{queue}");
    let outage = error(r#"{"rate": "1 Gbit/s", "delay": "0 s", "outages": [{"from": 5}]}"#);
    assert!(outage.contains("expected a time as text, for example \"45 ms\""), "{outage}");
}
