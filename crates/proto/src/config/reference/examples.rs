//! Values with parameters, each with an example.

use super::entry::{PolicyExample, example};

/// `reneging`
pub(super) const RENEGING: &[PolicyExample] = &[
    example("never", "Never.", "\"never\""),
    example(
        "under-pressure",
        "The highest TSNs, when a lower TSN needs the space.",
        "\"under-pressure\"",
    ),
    example(
        "simulated",
        "The highest TSNs, with this probability per packet with data; for testing senders.",
        "{ simulated = \"5 %\" }",
    ),
];

/// `authenticated_chunks`
pub(super) const AUTHENTICATED_CHUNKS: &[PolicyExample] = &[
    example("off", "Authentication is not offered.", "\"off\""),
    example(
        "offered",
        "Authentication is offered, and nothing is demanded of the peer.",
        "\"offered\"",
    ),
    example(
        "demanded",
        "Chunks of these types are discarded unless they are authenticated. A peer without authentication is refused.",
        "{ demanded = [\"DATA\", \"ABORT\"] }",
    ),
    example(
        "all",
        "All chunks but INIT, INIT ACK and SHUTDOWN COMPLETE are discarded unless they are authenticated. A peer \
         without authentication is refused.",
        "\"all\"",
    ),
];

/// `burst`
pub(super) const BURST: &[PolicyExample] = &[
    example(
        "max-burst",
        "The usable window is at most the flight size plus n units.",
        "{ max-burst = 4 }",
    ),
    example(
        "max-burst-after-loss",
        "As `max-burst`, but only from the first retransmission of the association (ns-2).",
        "{ max-burst-after-loss = 4 }",
    ),
    example(
        "max-burst-once",
        "n packets per path and SACK. Applies once a fast retransmission has been cumulatively acknowledged, until it \
         has limited one burst (ns-2.35).",
        "{ max-burst-once = 4 }",
    ),
    example(
        "max-burst-from-retransmission",
        "As `max-burst-once`, but permanently from the first cumulative acknowledgement of a retransmitted chunk (ns-2.35's CMT).",
        "{ max-burst-from-retransmission = 4 }",
    ),
    example(
        "use-it-or-lose-it",
        "The congestion window is reduced to the flight size plus n units.",
        "{ use-it-or-lose-it = 4 }",
    ),
    example(
        "congestion-window-limiting",
        "As `use-it-or-lose-it`, and the slow-start threshold keeps the old window.",
        "{ congestion-window-limiting = 4 }",
    ),
    example("off", "No limit.", "\"off\""),
];

/// `path_groups`
pub(super) const PATH_GROUPS: &[PolicyExample] = &[
    example("all", "All paths of the association are one group.", "\"all\""),
    example("separate", "Each path is a group of its own.", "\"separate\""),
    example(
        "listed",
        "The group of each path, in the order of path ids; a path beyond the list is a group of its own.",
        "{ listed = [0, 0, 1] }",
    ),
];

/// `window.initial_cwnd`
pub(super) const WINDOW_INITIAL_CWND: &[PolicyExample] = &[
    example(
        "rfc9260",
        "min(4 PMDCS, max(2 PMDCS, 4404 bytes)), with 4344 bytes over IPv6.",
        "\"rfc9260\"",
    ),
    example("bytes", "This many bytes.", "{ bytes = 4380 }"),
    example("mtu", "This many units of windows.", "{ mtu = 10 }"),
];

/// `window.initial_ssthresh`
pub(super) const WINDOW_INITIAL_SSTHRESH: &[PolicyExample] = &[
    example(
        "peer-window",
        "The receive window that the peer announced in the handshake.",
        "\"peer-window\"",
    ),
    example("bytes", "This many bytes.", "{ bytes = 65536 }"),
    example("unlimited", "Without limit.", "\"unlimited\""),
];

/// `partial_reliability`
pub(super) const PARTIAL_RELIABILITY: &[PolicyExample] = &[
    example("none", "Fully reliable.", "\"none\""),
    example("timed", "The message is abandoned after this time.", "{ timed = \"100 ms\" }"),
    example(
        "limited-retransmissions",
        "The message is abandoned when it would need more retransmissions than this.",
        "{ limited-retransmissions = 0 }",
    ),
    example(
        "priority",
        "The message is abandoned when one of higher priority (a lower number) needs its buffer space.",
        "{ priority = 1 }",
    ),
];
