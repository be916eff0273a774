use super::*;

const FRAMING: ByteCount = ByteCount::ZERO;
const MTU: ByteCount = ByteCount::from_bytes(1_500);

fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

fn us(n: u64) -> Instant {
    Instant::from_nanos(1_000 * n)
}

fn mahimahi(text: &str) -> RateTrace {
    RateTrace::from_mahimahi(text, MTU).unwrap()
}

/// Ends of transmissions of packets that start at these times or when the one before them has been sent.
fn ends(trace: &RateTrace, packets: &[(u64, u32)]) -> Vec<u64> {
    let mut cursor = Cursor::default();
    let mut free = Instant::ZERO;
    let mut all = Vec::new();
    for (at, bytes) in packets {
        free = trace.end(ms(*at).max(free), *bytes, FRAMING, &mut cursor).unwrap();
        all.push(free.as_nanos() / 1_000);
    }
    all
}

#[test]
fn an_opportunity_carries_a_packet() {
    let trace = mahimahi("2\n2\n5\n# a remark\n\n10\n");
    // Two at 2 ms, and the cycle of 10 ms begins anew.
    assert_eq!(
        ends(&trace, &[(0, 1_500); 9]),
        [2_000, 2_000, 5_000, 10_000, 12_000, 12_000, 15_000, 20_000, 22_000]
    );
    // One that comes too late takes the next; one that comes in time takes its own, at the end of a cycle too.
    assert_eq!(ends(&trace, &[(3, 1_500), (5, 1_500), (10, 1_500)]), [5_000, 10_000, 12_000]);
    assert_eq!(ends(&trace, &[(10, 1_500), (20, 1_500), (23, 1_500)]), [10_000, 20_000, 25_000]);
    assert_eq!(ends(&trace, &[(1_000_003, 1_500)]), [1_000_005_000]);
}

#[test]
fn short_packets_share_and_long_ones_need_several() {
    let trace = mahimahi("1\n2\n3\n4\n");
    assert_eq!(
        ends(&trace, &[(0, 500), (0, 500), (0, 500), (0, 500)]),
        [1_000, 1_000, 1_000, 2_000]
    );
    // 1,000 of the first and 500 of the second.
    assert_eq!(ends(&trace, &[(0, 500), (0, 1_500), (0, 1_000)]), [1_000, 2_000, 2_000]);
    assert_eq!(ends(&trace, &[(0, 4_000)]), [3_000]);
    // What an opportunity does not carry in its time is lost.
    assert_eq!(ends(&trace, &[(0, 500), (2, 1_500)]), [1_000, 2_000]);
}

#[test]
fn the_mean_of_opportunities_is_their_number() {
    // Four of 1,500 bytes in 10 ms: 4.8 Mbit/s.
    let trace = mahimahi("2\n2\n5\n10\n");
    assert_eq!(ends(&trace, &[(0, 6_000_000), (0, 600_000)]), [10_000_000, 11_000_000]);
}

#[test]
fn senseless_lists_of_times_are_refused() {
    let error = |text: &str| RateTrace::from_mahimahi(text, MTU).unwrap_err().to_string();
    assert_eq!(error("1\n2 ms\n"), "line 2: `2 ms` is no time in whole ms");
    assert_eq!(error("1\n\n-1\n"), "line 3: `-1` is no time in whole ms");
    assert_eq!(error("5\n4\n"), "line 2: 4 ms comes after 5 ms");
    assert_eq!(error("0\n0\n"), "line 2: there is no time after zero");
    assert_eq!(error(""), "line 1: there is no time after zero");
    let none = RateTrace::from_mahimahi("1\n", ByteCount::ZERO).unwrap_err().to_string();
    assert!(none.contains("cannot carry 0 B"), "{none}");
}

const TABLE: &str = "\
# Recorded by nobody.
time [s], rate [Mbit/s], delay [ms], loss [%]
0, 8, 20, 1
0.010, 4, , 2.5

0.020, 0, 35.5,
0.030, 16, 20, 0
";

fn csv(after_end: AfterEnd) -> RateTrace {
    RateTrace::from_csv(TABLE, after_end).unwrap()
}

#[test]
fn bits_pass_at_the_rates_of_their_time() {
    for after_end in [AfterEnd::Hold, AfterEnd::Repeat] {
        let trace = csv(after_end);
        let end = |at: u64, bytes: u32| {
            let end = trace.end(us(at), bytes, FRAMING, &mut Cursor::default()).unwrap();
            end.as_nanos() / 1_000
        };
        // A byte per us, then half of one, none for 10 ms, then two.
        assert_eq!(end(0, 1_000), 1_000);
        assert_eq!(end(9_000, 1_000), 10_000);
        assert_eq!(end(9_500, 1_000), 11_000);
        assert_eq!(end(19_000, 1_000), 30_250);
        assert_eq!(end(25_000, 1_000), 30_500);
        assert_eq!(end(0, 15_002), 30_001);
    }
    let trace = csv(AfterEnd::Hold);
    let framed = trace.end(ms(50), 1_000, ByteCount::from_bytes(600), &mut Cursor::default());
    assert_eq!(framed, Some(us(50_800)));
}

#[test]
fn cycles_follow_each_other() {
    // The last row holds for 10 ms as well: cycles of 40 ms, in which 10,000 + 5,000 + 0 + 20,000 bytes pass.
    let trace = csv(AfterEnd::Repeat);
    let end = |at: u64, bytes: u32| trace.end(ms(at), bytes, FRAMING, &mut Cursor::default());
    assert_eq!(end(39, 3_000), Some(ms(41)));
    assert_eq!(end(0, 35_000), Some(ms(40)));
    assert_eq!(end(0, 35_001), Some(us(40_001)));
    assert_eq!(end(80, 35_000 * 1_000 + 10_000), Some(ms(80 + 40_000 + 10)));
    // A thousand cycles: 7 Mbit/s.
    assert_eq!(end(0, 35_000_000), Some(ms(40_000)));
    assert_eq!(trace.delay_at(ms(40_000 + 25)), Some(Duration::from_micros(35_500)));
    assert_eq!(trace.loss_at(ms(40_000 + 12)), Some(Fraction::from_f64(0.025).unwrap()));
    // (1 + 2.5 + 2.5 + 0) / 4 per cent.
    assert!((trace.mean_loss().unwrap() - 0.015).abs() < 1e-12);
}

#[test]
fn the_last_row_holds() {
    let trace = csv(AfterEnd::Hold);
    let end = |at: u64, bytes: u32| trace.end(ms(at), bytes, FRAMING, &mut Cursor::default());
    assert_eq!(end(1_000, 2_000), Some(ms(1_001)));
    assert_eq!(trace.delay_at(ms(29)), Some(Duration::from_micros(35_500)));
    assert_eq!(trace.delay_at(ms(1_000)), Some(Duration::from_millis(20)));
    let dead = RateTrace::from_csv("time [s],rate [bit/s]\n0,8000\n1,0\n", AfterEnd::Hold).unwrap();
    let end = |at: u64| dead.end(ms(at), 1_000, FRAMING, &mut Cursor::default());
    assert_eq!((end(0), end(1)), (Some(ms(1_000)), Some(Instant::FAR_FUTURE)));
    assert_eq!((dead.delay_at(ms(1)), dead.loss_at(ms(1)), dead.mean_loss()), (None, None, None));
}

#[test]
fn nothing_takes_no_time_and_too_much_takes_for_ever() {
    for after_end in [AfterEnd::Hold, AfterEnd::Repeat] {
        let trace = csv(after_end);
        let end = |bytes, framing| {
            trace.end(ms(0), bytes, ByteCount::from_bytes(framing), &mut Cursor::default())
        };
        assert_eq!(end(0, 0), Some(ms(0)));
        assert_eq!(end(u32::MAX, u64::MAX), Some(Instant::FAR_FUTURE));
    }
    // One bit in three hundred years.
    let slow = "time [s],rate [bit/s]\n0,0\n4e6,1\n4000000.000000001,0\n9e6,0\n";
    let slow = RateTrace::from_csv(slow, AfterEnd::Repeat).unwrap();
    let framing = ByteCount::MAX;
    let end = slow.end(ms(0), u32::MAX, framing, &mut Cursor::default());
    assert_eq!(end, Some(Instant::FAR_FUTURE));
}

#[test]
fn a_table_may_have_no_rates() {
    let trace = RateTrace::from_csv("time [ms],loss [1]\n0,0.5\n5,1\n", AfterEnd::Hold).unwrap();
    assert_eq!(trace.end(ms(0), 1_000, FRAMING, &mut Cursor::default()), None);
    assert_eq!(trace.loss_at(ms(7)), Some(Fraction::ONE));
    assert!(trace.has_losses() && !trace.has_delays());
}

#[test]
fn senseless_tables_are_refused_with_their_line() {
    for (text, message) in [
        ("", "line 1: there is no header"),
        (
            "time,rate [Mbit/s]\n0,1\n",
            "line 1: `time` has no unit: write, for example, `rate [Mbit/s]`",
        ),
        (
            "time [s],speed [Mbit/s]\n",
            "line 1: `speed` is no column; columns: `time`, `rate`, `delay`, `loss`",
        ),
        ("rate [Mbit/s]\n1\n", "line 1: there is no column `time [s]`"),
        ("time [s]\n0\n", "line 1: there is nothing but times: a trace has rate, delay or loss"),
        ("time [s],loss [%],loss [%]\n", "line 1: there are 2 columns `loss`"),
        ("time [s],loss [%]\n", "line 1: there are no rows"),
        ("time [s],loss [%]\n0,1\n1\n", "line 3: 1 cells, but 2 columns"),
        ("time [s],loss [%]\n0,1\n1,-2\n", "line 3: `-2` is no number from zero on"),
        ("time [s],loss [%]\n0,101\n", "line 2: a loss is above 100 %"),
        ("time [s],loss [%]\n1,1\n", "line 2: the first row is at 1 s: it must be at time zero"),
        ("time [s],loss [%]\n0,1\n0,2\n", "line 3: 0 s comes after 0 s"),
        ("time [s],loss [%]\n,1\n", "line 2: there is no time"),
        ("time [s],loss [%],delay [ms]\n0,1,\n1,1,2\n", "line 3: the first row has no delay"),
        (
            "time [s],rate [kbit/s]\n0,0\n",
            "line 2: all rates are zero: to keep a link down, give it an outage",
        ),
        ("time [s],rate [bit/s]\n0,1e30\n", "line 2: 1e30 is too large"),
    ] {
        let error = RateTrace::from_csv(text, AfterEnd::Hold).unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
    }
    let unit = RateTrace::from_csv("time [s],rate [mph]\n", AfterEnd::Hold).unwrap_err();
    assert!(unit.message.contains("`1 mph`") || unit.message.contains("mph"), "{unit}");
}

/// Whatever a trace says from its second cycle on, the one that begins later says earlier by as much.
#[test]
fn a_trace_can_begin_anywhere_in_its_cycle() {
    let table = RateTrace::from_csv(
        "time [s],rate [Mbit/s],delay [ms],loss [%]\n0,8,10,0\n0.010,0,,\n0.020,4,30,50\n0.030,16,,\n",
        AfterEnd::Repeat,
    )
    .unwrap();
    for trace in [table, mahimahi("0\n2\n2\n5\n40\n")] {
        let period = 40;
        for offset in [0, 1, 2, 10, 15, 20, 39, 40, 55] {
            let later = trace.begun_at(Duration::from_millis(offset));
            assert_eq!(later.mean_loss(), trace.mean_loss());
            // Not at zero, where a cycle of opportunities has no end of one before it.
            for at in (1..200).map(|half| us(500 * half + 1)) {
                let there = at + Duration::from_millis(period + offset % period);
                assert_eq!(later.delay_at(at), trace.delay_at(there));
                assert_eq!(later.loss_at(at), trace.loss_at(there));
                for bytes in [100, 1_500, 9_000, 9_000_000] {
                    let end = |trace: &RateTrace, at| {
                        trace.end(at, bytes, FRAMING, &mut Cursor::default()).unwrap()
                    };
                    assert_eq!(
                        end(&later, at).since(at),
                        end(&trace, there).since(there),
                        "{offset} {at}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_trace_without_cycles_begins_at_its_begin() {
    let trace = RateTrace::from_csv("time [s],rate [Mbit/s]\n0,8\n1,4\n", AfterEnd::Hold).unwrap();
    assert_eq!((trace.period(), trace.begun_at(Duration::from_secs(1))), (None, trace.clone()));
}
