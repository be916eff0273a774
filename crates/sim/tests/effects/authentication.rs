//! Extensions that the handshake agrees on: what authenticated chunks, stream reconfiguration, address reconfiguration and address join cost.

use polypath_sim::RunResult;

use crate::scenarios::UNEQUAL;
use crate::{Covered, effect, run};

/// Messages of many chunks, which fill their packets, and nothing lost but what the queues drop.
const QUIET: &[&str] = &[
    "run.duration=20 s",
    "traffic.0.message_size=100 kB",
    r#"network.disjoint.paths.0.bottleneck.loss={ forward = "0 %", backward = "0 %" }"#,
    r#"network.disjoint.paths.1.bottleneck.loss={ forward = "0 %", backward = "0 %" }"#,
];

type Effect = (&'static str, fn());

const fn covered(value: &'static str, against: &'static str, effect: Effect) -> Covered {
    Covered { key: "authenticated_chunks", value, against, scenario: UNEQUAL, set: QUIET, effect }
}

const COST: Effect = effect!(codes_take_their_part_of_packets_with_data);
const OFFER: Effect = effect!(an_offer_costs_nothing_but_a_longer_handshake);

const RECONFIGURATION: Effect = effect!(reconfiguration_that_is_not_used_costs_nothing);

const fn addresses(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(reconfiguration_that_is_not_used_costs_nothing);
    Covered {
        key: "address_reconfiguration",
        value,
        against,
        scenario: UNEQUAL,
        set: QUIET,
        effect,
    }
}

pub const COVERAGE: &[Covered] = &[
    covered("off", "all", COST),
    covered("offered", "off", OFFER),
    covered(r#"{ demanded = ["DATA"] }"#, "offered", COST),
    Covered {
        key: "stream_reconfiguration",
        value: "on",
        against: "off",
        scenario: UNEQUAL,
        set: QUIET,
        effect: RECONFIGURATION,
    },
    Covered {
        key: "stream_reconfiguration",
        value: "off",
        against: "on",
        scenario: UNEQUAL,
        set: QUIET,
        effect: RECONFIGURATION,
    },
    covered("all", r#"{ demanded = ["DATA"] }"#, COST),
    addresses("off", "authenticated"),
    addresses("authenticated", "unauthenticated"),
    addresses("unauthenticated", "off"),
];

fn with(value: &str) -> RunResult {
    let policy = format!("sctp.policies.authenticated_chunks={value}");
    run(UNEQUAL, &[QUIET, &[policy.as_str()]].concat())
}

#[test]
fn codes_take_their_part_of_packets_with_data() {
    let off = with("off").goodput_bit_s;
    for value in [r#"{ demanded = ["DATA"] }"#, "all"] {
        let part = with(value).goodput_bit_s / off;
        // 40 of 1500 bytes.
        assert!((0.955..0.99).contains(&part), "{value}: {part:.3}");
    }
}

#[test]
fn an_offer_costs_nothing_but_a_longer_handshake() {
    let (off, offered) = (with("off"), with("offered"));
    let part = offered.goodput_bit_s / off.goodput_bit_s;
    assert!((0.99..1.01).contains(&part), "{part:.4}");
}

#[test]
fn reconfiguration_that_is_not_used_costs_nothing() {
    let with = |policy: &str| {
        let policy = format!("sctp.policies.{policy}");
        run(UNEQUAL, &[QUIET, &[policy.as_str()]].concat()).goodput_bit_s
    };
    let off = with("stream_reconfiguration=off");
    for policy in [
        "stream_reconfiguration=on",
        "address_reconfiguration=authenticated",
        "address_reconfiguration=unauthenticated",
    ] {
        let part = with(policy) / off;
        assert!((0.99..1.01).contains(&part), "{policy}: {part:.4}");
    }
}

/// `address_join` is a setting beside the policies. Both sides exchange their secrets by longer HEARTBEATs, the first of which go out
/// at once; nothing else is different where all addresses are known.
#[test]
fn address_join_that_is_not_needed_costs_nothing() {
    let with = |value: &str| {
        let setting = format!("sctp.address_join={value}");
        run(UNEQUAL, &[QUIET, &[setting.as_str()]].concat())
    };
    let (off, on) = (with("off"), with("on"));
    assert_ne!(on.trace_hash, off.trace_hash);
    let part = on.goodput_bit_s / off.goodput_bit_s;
    assert!((0.97..1.03).contains(&part), "{part:.4}");
}
