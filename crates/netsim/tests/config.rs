//! Parameters of channels as they stand in files.
#![cfg(feature = "serde")]

use polypath_netsim::impair::{
    BitErrorConfig, Damaged, Distribution, GilbertElliottConfig, JitterConfig, JitterOrder, Normal,
    Outage, ReorderingConfig, Step, Within,
};
use polypath_netsim::queue_discipline::{
    AboveMax, CodelConfig, EcnMarking, FqCodelConfig, Limit, RedConfig,
};
use polypath_netsim::{ChannelConfig, QueueConfig};
use polypath_units::{BitRate, ByteCount, Duration, Fraction, Instant};

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

#[test]
fn every_parameter_is_read() {
    let text = r#"{
        "rate": "100 Mbit/s", "delay": "45 ms", "framing": "7 B", "queue": {"drop-tail": {"bytes": "150 kB"}},
        "uniform_loss": "1 %", "outages": [{"from": "5 s", "until": "8 s"}, {"from": "10 s"}],
        "gilbert_elliott": {"to_bad": "1 %", "to_good": "25 %"},
        "bit_errors": {"rate": "1e-9", "damaged": "delivered"},
        "jitter": {"extra": {"normal": {"mean": "3 ms", "deviation": "1 ms"}}, "order": "overtake"},
        "reordering": {"probability": "2 %", "extra_delay": "4 ms"}, "duplication": "3 %",
        "steps": [{"at": "10 s", "rate": "5 Mbit/s"}]
    }"#;
    let millis = Duration::from_millis;
    let expected = ChannelConfig {
        framing: ByteCount::from_bytes(7),
        queue: QueueConfig::DropTail(Limit::Bytes(ByteCount::from_bytes(150_000))),
        uniform_loss: Fraction::from_percent(1),
        outages: vec![
            Outage { from: at(5), until: Some(at(8)) },
            Outage { from: at(10), until: None },
        ],
        gilbert_elliott: Some(GilbertElliottConfig {
            to_bad: Fraction::from_percent(1),
            to_good: Fraction::from_percent(25),
            loss_good: Fraction::ZERO,
            loss_bad: Fraction::ONE,
        }),
        bit_errors: Some(BitErrorConfig {
            rate: Fraction::from_f64(1e-9).unwrap(),
            damaged: Damaged::Delivered,
            within: Within::Checksum,
        }),
        jitter: Some(JitterConfig {
            extra: Distribution::Normal(Normal { mean: millis(3), deviation: millis(1) }),
            order: JitterOrder::Overtake,
        }),
        reordering: Some(ReorderingConfig {
            probability: Fraction::from_percent(2),
            extra_delay: millis(4),
        }),
        duplication: Fraction::from_percent(3),
        steps: vec![Step {
            at: at(10),
            rate: Some(BitRate::from_mbit(5)),
            delay: None,
            uniform_loss: None,
            mtu: None,
        }],
        ..ChannelConfig::new(BitRate::from_mbit(100), Duration::from_millis(45))
    };
    let config: ChannelConfig = serde_json::from_str(text).unwrap();
    assert_eq!(config, expected);
    let written = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<ChannelConfig>(&written).unwrap(), expected);
}

#[test]
fn queues_are_read_with_their_parameters() {
    let queue = |text: &str| serde_json::from_str::<QueueConfig>(text).unwrap();
    for (text, expected) in [
        (r#"{"red": {}}"#, QueueConfig::Red(RedConfig::default())),
        (
            r#"{"red": {"min": {"bytes": "10 kB"}, "max": {"bytes": "30 kB"}, "weight": "2e-3",
                "above_max": "gentle", "ecn": "on"}}"#,
            QueueConfig::Red(RedConfig {
                min: Limit::Bytes(ByteCount::from_bytes(10_000)),
                max: Limit::Bytes(ByteCount::from_bytes(30_000)),
                above_max: AboveMax::Gentle,
                ecn: EcnMarking::On,
                ..RedConfig::default()
            }),
        ),
        (
            r#"{"codel": {"target": "2 ms"}}"#,
            QueueConfig::Codel(CodelConfig {
                target: Duration::from_millis(2),
                ..CodelConfig::default()
            }),
        ),
        (
            r#"{"fq-codel": {"flows": 16}}"#,
            QueueConfig::FqCodel(FqCodelConfig { flows: 16, ..FqCodelConfig::default() }),
        ),
    ] {
        assert_eq!(queue(text), expected);
        assert_eq!(queue(&serde_json::to_string(&expected).unwrap()), expected);
    }
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
    let queue = error(r#"{"rate": "1 Gbit/s", "delay": "0 s", "queue": {"blue": {}}}"#);
    assert!(
        queue.contains("unknown variant `blue`, expected one of `drop-tail`, `red`"),
        "{queue}"
    );
    let outage = error(r#"{"rate": "1 Gbit/s", "delay": "0 s", "outages": [{"from": 5}]}"#);
    assert!(outage.contains("expected a time as text, for example \"45 ms\""), "{outage}");
}
