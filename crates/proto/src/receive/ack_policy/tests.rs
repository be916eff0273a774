use super::*;

const PATH: PathId = PathId(0);
const RFC9260: DelayedAck = DelayedAck {
    packets: 2,
    delay: Duration::from_millis(200),
    on_gap: GapAck::Immediate,
    first_data: FirstData::Immediate,
    count: DacCount::Off,
    scope: AckScope::Association,
    volume: AckVolume::Any,
};
const DAC: DelayedAck =
    DelayedAck { on_gap: GapAck::Delayed, count: DacCount::SackFlags, ..RFC9260 };

const NEW: PacketSummary = PacketSummary {
    new_chunks: 1,
    duplicate_chunks: 0,
    refused_chunks: 0,
    new_bytes: 0,
    immediate: false,
    gaps: false,
    leaves_gaps: false,
};

/// A policy that has sent its first SACK.
fn started(policy: DelayedAck) -> AckPolicy {
    let mut acks = AckPolicy::new(policy);
    acks.on_packet(Instant::ZERO, PATH, None, NEW, || 0);
    acks.on_sack();
    acks
}

#[test]
fn what_makes_a_sack_due_at_once() {
    let duplicates = PacketSummary { new_chunks: 0, duplicate_chunks: 1, ..NEW };
    let refused = PacketSummary { new_chunks: 0, refused_chunks: 1, ..NEW };
    let while_open = DelayedAck { on_gap: GapAck::WhileOpen, ..RFC9260 };
    let open = PacketSummary { gaps: true, leaves_gaps: true, ..NEW };
    for (policy, packet, due) in [
        (while_open, open, true),
        (while_open, PacketSummary { leaves_gaps: false, ..open }, false),
        (RFC9260, NEW, false),
        (RFC9260, PacketSummary { new_chunks: 5, ..NEW }, false),
        (RFC9260, PacketSummary { duplicate_chunks: 1, ..NEW }, false),
        (RFC9260, PacketSummary { immediate: true, ..NEW }, true),
        (RFC9260, PacketSummary { gaps: true, ..NEW }, true),
        (RFC9260, PacketSummary { refused_chunks: 1, ..NEW }, true),
        (RFC9260, duplicates, true),
        (RFC9260, refused, true),
        (DAC, PacketSummary { gaps: true, ..NEW }, false),
        (DAC, PacketSummary { immediate: true, ..NEW }, true),
        (DAC, PacketSummary { gaps: true, ..duplicates }, true),
        (DAC, PacketSummary { gaps: true, ..refused }, true),
    ] {
        let mut acks = started(policy);
        acks.on_packet(Instant::ZERO, PATH, None, packet, || 0);
        assert_eq!(acks.is_due(), due, "{policy:?} {packet:?}");
        assert!(acks.is_pending());
    }
}

#[test]
fn a_packet_without_data_changes_nothing() {
    let mut acks = AckPolicy::new(DAC);
    acks.on_packet(
        Instant::ZERO,
        PATH,
        None,
        PacketSummary { new_chunks: 0, gaps: true, ..NEW },
        || 0,
    );
    assert!(!acks.is_pending());
    acks.on_packet(Instant::ZERO, PATH, None, NEW, || 0);
    assert!(acks.is_due(), "this one is the first");
}

#[test]
fn the_delay_runs_from_the_first_packet_and_is_limited() {
    let policy = DelayedAck { packets: 9, delay: Duration::from_secs(3), ..DAC };
    let mut acks = AckPolicy::new(policy);
    acks.on_packet(Instant::ZERO, PATH, None, NEW, || 0);
    acks.on_sack();
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    acks.on_packet(at(100), PATH, None, NEW, || 0);
    acks.on_packet(at(300), PATH, None, NEW, || 0);
    assert_eq!(acks.deadline(), Some(at(600)));
    acks.on_timeout(at(599));
    assert!(!acks.is_due());
    acks.on_timeout(at(600));
    assert!(acks.is_due());
    assert_eq!(acks.deadline(), None);
    // A late timer after the SACK has no effect.
    acks.on_sack();
    acks.on_timeout(at(700));
    assert!(!acks.is_pending());
}

#[test]
fn without_delay_every_packet_is_answered() {
    for policy in [
        DelayedAck { packets: 1, ..RFC9260 },
        DelayedAck { packets: 0, ..RFC9260 },
        DelayedAck { delay: Duration::ZERO, ..RFC9260 },
    ] {
        let mut acks = AckPolicy::new(policy);
        for _ in 0..3 {
            acks.on_packet(Instant::ZERO, PATH, None, NEW, || 0);
            assert!(acks.is_due());
            acks.on_sack();
        }
    }
}

#[test]
fn the_artefact_counts_nothing_without_delay() {
    let count = |policy| {
        let mut acks = started(policy);
        acks.on_packet(Instant::ZERO, PATH, None, NEW, || 0);
        acks.request();
        acks.on_sack() >> 6
    };
    let artefact = DelayedAck { count: DacCount::CountZeroWhenNotDelayed, ..DAC };
    assert_eq!(count(artefact), 1);
    for policy in [artefact, DAC] {
        let expected = u8::from(policy.count == DacCount::SackFlags);
        assert_eq!(count(DelayedAck { packets: 1, ..policy }), expected);
        assert_eq!(count(DelayedAck { delay: Duration::ZERO, ..policy }), expected);
    }
}

#[test]
fn only_packets_with_new_data_are_counted() {
    let mut acks = started(DAC);
    acks.on_packet(Instant::ZERO, PATH, None, NEW, || 0);
    acks.on_packet(
        Instant::ZERO,
        PATH,
        None,
        PacketSummary { new_chunks: 0, duplicate_chunks: 1, ..NEW },
        || 0,
    );
    acks.request();
    assert_eq!(acks.on_sack(), 0x40);
    acks.request();
    assert_eq!(acks.on_sack(), 0);
    for _ in 0..300 {
        acks.on_packet(Instant::ZERO, PATH, None, NEW, || 0);
    }
    assert_eq!(acks.on_sack(), 0xc0);
}

#[test]
fn each_path_answers_for_its_own_packets() {
    let mut acks = started(DelayedAck { scope: AckScope::Path, ..DAC });
    let (slow, quick) = (PathId(1), PathId(2));
    acks.on_packet(Instant::ZERO, slow, None, NEW, || 0);
    acks.on_packet(Instant::ZERO, quick, None, NEW, || 0);
    assert!(!acks.is_due(), "one packet of each");
    acks.on_packet(Instant::ZERO, quick, None, NEW, || 0);
    assert!(acks.is_due());
    assert_eq!(acks.on_sack(), 0xc0, "it answers three packets all the same");
    // The SACK covered the slow path's packet, but its next one is the second on that path.
    acks.on_packet(Instant::ZERO, slow, None, NEW, || 0);
    assert!(acks.is_due());
}

/// Two packets make a SACK due, but one of 242 bytes waits for the data of five, or for quiet; never longer than the delay.
#[test]
fn a_large_sack_waits_but_only_while_something_is_missing() {
    const VOLUME: DelayedAck =
        DelayedAck { scope: AckScope::Path, volume: AckVolume::PartOfData, ..DAC };
    let data = PacketSummary { new_bytes: 1452, ..NEW };
    let gaps = PacketSummary { gaps: true, ..data };
    let at = |us| Instant::ZERO + Duration::from_micros(us);
    let after = |policy, packets: &[PacketSummary]| {
        let mut acks = started(policy);
        for (n, packet) in (1..).zip(packets) {
            acks.on_packet(at(n * 100), PATH, None, *packet, || 242);
        }
        acks
    };
    let immediate = PacketSummary { immediate: true, ..gaps };
    assert!(after(VOLUME, &[data, data]).is_due(), "nothing is missing");
    assert!(after(DAC, &[gaps, gaps]).is_due(), "another policy");
    assert!(after(VOLUME, &[gaps, immediate]).is_due(), "the peer asks for it");
    assert!(!after(VOLUME, &[gaps; 4]).is_due());
    assert!(after(VOLUME, &[gaps; 5]).is_due(), "enough data");
    let mut acks = after(VOLUME, &[gaps; 3]);
    assert_eq!(acks.deadline(), Some(at(700)), "four times the time between packets");
    acks.on_timeout(at(700));
    assert!(acks.is_due());
    acks.on_sack();
    acks.on_packet(at(800), PATH, None, gaps, || 242);
    assert_eq!(acks.deadline(), Some(at(200_800)), "a single packet");
    let short = DelayedAck { delay: Duration::from_micros(300), ..VOLUME };
    assert_eq!(after(short, &[gaps, gaps]).deadline(), Some(at(400)), "the delay");
}

/// RFC 6458 section 8.1.19 with an address: 40 ms and three packets on one path, 200 ms and two on the others.
#[test]
fn a_path_with_a_delay_of_its_own_is_answered_by_it() {
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    let (own, other) = (PathId(1), PathId(0));
    let delay = Some(PathDelay { delay: Duration::from_millis(40), packets: 3 });
    let mut acks = started(DAC);
    acks.on_packet(at(0), own, delay, NEW, || 0);
    assert_eq!(acks.deadline(), Some(at(40)));
    acks.on_packet(at(1), own, delay, NEW, || 0);
    assert!(!acks.is_due(), "two of three");
    acks.on_packet(at(2), own, delay, NEW, || 0);
    assert!(acks.is_due(), "three");
    acks.on_sack();
    // Whichever packet comes first, the SACK leaves when the less patient path wants it.
    acks.on_packet(at(100), other, None, NEW, || 0);
    assert_eq!(acks.deadline(), Some(at(300)));
    acks.on_packet(at(110), own, delay, NEW, || 0);
    assert_eq!(acks.deadline(), Some(at(150)));
    acks.on_packet(at(120), own, delay, NEW, || 0);
    assert!(acks.is_due(), "the third packet of the association");
    acks.on_sack();
    // No delay on that path, or one packet, answers each of its packets.
    for it in [
        PathDelay { delay: Duration::ZERO, packets: 9 },
        PathDelay { delay: Duration::from_millis(40), packets: 1 },
    ] {
        acks.on_packet(at(200), own, Some(it), NEW, || 0);
        assert!(acks.is_due(), "{it:?}");
        acks.on_sack();
    }
}

/// A large SACK does not wait for data where the path has a delay of its own, nor put such a path off.
#[test]
fn the_volume_of_sacks_does_not_lengthen_a_delay_of_its_own() {
    const VOLUME: DelayedAck =
        DelayedAck { scope: AckScope::Path, volume: AckVolume::PartOfData, ..DAC };
    let at = |us| Instant::ZERO + Duration::from_micros(us);
    let (own, other) = (PathId(1), PathId(0));
    let delay = Some(PathDelay { delay: Duration::from_micros(300), packets: 2 });
    let gaps = PacketSummary { gaps: true, new_bytes: 1452, ..NEW };
    let mut acks = started(VOLUME);
    acks.on_packet(at(0), own, delay, gaps, || 242);
    for n in 1..=2 {
        acks.on_packet(at(n * 100), other, None, gaps, || 242);
        assert_eq!(acks.deadline(), Some(at(300)));
    }
    acks.on_packet(at(250), own, delay, gaps, || 242);
    assert!(acks.is_due(), "two packets");
}
