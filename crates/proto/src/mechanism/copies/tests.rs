use super::*;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A SACK over the path; the peer sends data, too.
fn sack(ms: u64, least: Duration) -> SackHere {
    SackHere { now: at(ms), least, carried: true, reports_others: false }
}

/// When the copy was sent that a SACK answers, and its size.
fn which(answer: Option<AnsweredCopy>) -> Option<(Instant, u32)> {
    answer.map(|copy| (copy.sent_at, copy.bytes))
}

#[test]
fn one_copy_at_a_time_measures_a_path() {
    let mut copies = Copies::default();
    let rto = Duration::from_millis(300);
    assert!(copies.may_measure(at(0), rto, None));
    copies.on_sent(at(0), Tsn(7), 1000, LEAST_RATE, CopyAnswer::FirstAck);
    assert!(!copies.may_measure(at(300), rto, None));
    let none = Duration::ZERO;
    assert_eq!(copies.on_sack(sack(9, none), |_| false, |tsn| tsn == Tsn(6)), None);
    let answer = copies.on_sack(sack(9, none), |_| false, |tsn| tsn == Tsn(7));
    assert_eq!(which(answer), Some((at(0), 1000)));
    assert_eq!(copies.on_sack(sack(9, none), |_| true, |_| true), None, "once");
    assert!(copies.may_measure(at(300), rto, None));
}

#[test]
fn a_peer_that_answers_elsewhere_is_not_asked_for_ever() {
    let mut copies = Copies::default();
    let rto = Duration::from_millis(300);
    for n in 0..4 {
        assert!(copies.may_measure(at(1000 * n), rto, None), "{n}");
        copies.on_sent(at(1000 * n), Tsn(n as u32), 1000, LEAST_RATE, CopyAnswer::FirstAck);
    }
    assert!(copies.is_given_up() && !copies.may_measure(at(9000), rto, None));
    copies.on_sack(sack(9000, Duration::ZERO), |_| true, |_| false);
    assert!(!copies.is_given_up());
}

#[test]
fn an_answer_over_another_path_ends_the_wait() {
    let rtt = Duration::from_millis(10);
    for (at_ms, covers, given_up) in [
        (4, true, false),
        (5, true, false),
        (40, true, false),
        (41, false, false),
        (41, true, true),
    ] {
        let mut copies = Copies::default();
        copies.on_sent(at(0), Tsn(7), 1000, LEAST_RATE, CopyAnswer::FirstAck);
        let arrived = copies.on_other_sack(at(at_ms), rtt, |_| covers);
        assert_eq!(arrived, covers && at_ms >= 5, "{at_ms} {covers}");
        assert_eq!(copies.is_given_up(), given_up, "{at_ms} {covers}");
    }
}

#[test]
fn the_answer_to_the_first_transmission_measures_nothing() {
    let least = Duration::from_millis(10);
    for (what, at_ms, elsewhere, duplicate, covers, answers) in [
        ("acknowledged by this SACK first", 10, false, false, true, true),
        ("sooner than the path can", 9, false, false, true, false),
        ("acknowledged before over another path", 10, true, false, true, false),
        ("reported as a duplicate", 10, true, true, true, true),
        ("not acknowledged", 10, false, false, false, false),
    ] {
        let mut copies = Copies::default();
        copies.on_sent(at(0), Tsn(7), 1000, LEAST_RATE, CopyAnswer::FirstAck);
        if elsewhere {
            copies.on_other_sack(at(5), least, |_| true);
        }
        let answer = copies.on_sack(sack(at_ms, least), |_| duplicate, |_| covers);
        assert_eq!(answer.map(|copy| copy.sent_at), answers.then_some(at(0)), "{what}");
    }
}

/// A peer that sends no data answers over the path on which something came, if only what it had already.
#[test]
fn what_comes_over_the_path_answers_the_only_copy() {
    let least = Duration::from_millis(10);
    for (what, answer, carried, at_ms, answers) in [
        ("the only copy", CopyAnswer::OverThePath, false, 20, true),
        ("another was on its way", CopyAnswer::FirstAck, false, 20, false),
        ("so was the first transmission, on a silent path", CopyAnswer::Nothing, false, 20, false),
        ("data of the peer may have brought the SACK", CopyAnswer::OverThePath, true, 20, false),
        ("sooner than the path can", CopyAnswer::OverThePath, false, 10, false),
    ] {
        let mut copies = Copies::default();
        copies.on_sent(at(1), Tsn(7), 1000, LEAST_RATE, answer);
        copies.on_acked_elsewhere(at(5), |_| true);
        let answer =
            copies.on_sack(SackHere { carried, ..sack(at_ms, least) }, |_| false, |_| true);
        assert_eq!(answer.map(|copy| copy.sent_at), answers.then_some(at(1)), "{what}");
    }
}

/// A thin path brings one copy after the other, and the answer to the first comes when the next ones were sent.
#[test]
fn the_answer_to_an_earlier_copy_measures_that_one() {
    let (none, all): (&[u32], &[u32]) = (&[], &[1, 2]);
    // Chunks 1 and 2 are copied at 0 and 20 ms; all SACKs come over the path at 40 ms.
    for (what, acked_at, duplicates, covers, sent_at) in [
        ("the earlier one is reported", Some(5), &[1][..], all, Some(0)),
        ("the latest is reported", Some(5), &[2], all, Some(20)),
        ("both are", Some(5), all, all, Some(20)),
        ("the latest, which nothing acknowledged before", Some(5), none, &[1, 2], Some(20)),
        ("the earlier one just before: this may be its answer", Some(31), none, all, None),
        ("the earlier one so long ago that its SACK would be here", Some(30), none, all, Some(20)),
        ("either may have been the first", None, none, all, None),
        ("only the earlier one, which is not awaited", None, none, &[1], None),
    ] {
        let mut copies = Copies::default();
        copies.on_sent(at(0), Tsn(1), 1000, LEAST_RATE, CopyAnswer::OverThePath);
        copies.on_sent(at(20), Tsn(2), 1000, LEAST_RATE, CopyAnswer::OverThePath);
        if let Some(acked_at) = acked_at {
            copies.on_acked_elsewhere(at(acked_at), |tsn| tsn == Tsn(1));
        }
        let is_in = |tsns: &[u32], tsn: Tsn| tsns.contains(&tsn.0);
        let answer = copies.on_sack(
            SackHere { carried: false, ..sack(40, Duration::from_millis(10)) },
            |tsn| is_in(duplicates, tsn),
            |tsn| is_in(covers, tsn),
        );
        assert_eq!(answer.map(|copy| copy.sent_at), sent_at.map(at), "{what}");
    }
}

/// The queue of a thin path is full of copies, of which the earliest are not remembered. What answers one of these is the first to acknowledge
/// what came over another path meanwhile.
#[test]
fn a_report_of_a_forgotten_copy_answers_no_other() {
    for (earlier, reports_others, answers) in
        [(false, false, true), (false, true, false), (true, false, true), (true, true, false)]
    {
        let mut copies = Copies::default();
        copies.on_sent(at(0), Tsn(1), 1000, LEAST_RATE, CopyAnswer::FirstAck);
        if earlier {
            copies.on_sent(at(20), Tsn(2), 1000, LEAST_RATE, CopyAnswer::FirstAck);
        }
        let here = SackHere { reports_others, ..sack(40, Duration::from_millis(10)) };
        let answer = copies.on_sack(here, |_| false, |tsn| tsn == Tsn(1));
        assert_eq!(which(answer), answers.then_some((at(0), 1000)), "{earlier} {reports_others}");
    }
}

/// A chunk left the path and was copied there later: what is a duplicate first is what was sent first.
#[test]
fn of_two_transmissions_of_one_chunk_the_first_is_answered_first() {
    let mut copies = Copies::default();
    copies.on_left(Tsn(1), at(0), 1000, CopyAnswer::FirstAck);
    copies.on_sent(at(60), Tsn(1), 1000, LEAST_RATE, CopyAnswer::FirstAck);
    let mut duplicate =
        |ms| copies.on_sack(sack(ms, Duration::from_millis(10)), |tsn| tsn == Tsn(1), |_| true);
    assert_eq!(which(duplicate(100)), Some((at(0), 1000)));
    assert_eq!(which(duplicate(160)), Some((at(60), 1000)));
    assert_eq!(duplicate(170), None);
}

#[test]
fn a_copy_that_was_answered_elsewhere_is_soon_followed_by_another() {
    let (rto, rtt) = (Duration::from_millis(350), Some(Duration::from_millis(100)));
    for (elsewhere, at_ms, may) in
        [(false, 350, false), (false, 351, true), (true, 150, false), (true, 151, true)]
    {
        let mut copies = Copies::default();
        copies.on_sent(at(0), Tsn(7), 1000, LEAST_RATE, CopyAnswer::OverThePath);
        if elsewhere {
            copies.on_acked_elsewhere(at(0), |_| true);
        }
        assert_eq!(copies.may_measure(at(at_ms), rto, rtt), may, "{elsewhere} {at_ms}");
    }
}

#[test]
fn copies_take_what_data_leaves_of_a_window_and_no_more_than_the_path_carries() {
    let ms = Duration::from_millis;
    for (cwnd, srtt, passes_on, rate, backlog) in [
        (4404, None, None, 20_000, u64::MAX),
        (4404, Some(400), None, 20_000, u64::MAX),
        (4404, Some(10), None, 340_400, u64::MAX),
        (100_000, Some(10), None, 9_900_000, u64::MAX),
        (100_000, Some(10), Some(1_000_000), 1_000_000, 20_000),
        (4404, Some(400), Some(5000), 5000, 100),
    ] {
        let room = CopyRoom::of(cwnd, 1000, srtt.map(ms), passes_on);
        let free = cwnd.max(BURST) - 1000;
        assert_eq!(room, CopyRoom { rate, free, backlog }, "{cwnd} {srtt:?} {passes_on:?}");
    }
}

fn room(rate: u64, free: u64) -> CopyRoom {
    CopyRoom { rate, free, backlog: u64::MAX }
}

#[test]
fn the_budget_is_that_of_a_thin_flow() {
    let mut copies = Copies::default();
    let sent = |copies: &mut Copies, ms: u64| {
        let may = copies.may_repeat(at(ms), 200, &room(LEAST_RATE, 8000));
        if may {
            copies.on_sent(at(ms), Tsn(0), 200, LEAST_RATE, CopyAnswer::FirstAck);
        }
        usize::from(may)
    };
    // 64 kbit/s in packets of 20 ms: 200 bytes each.
    let voice: usize = (0..500).map(|n| sent(&mut copies, 20 * n)).sum();
    assert_eq!(voice, 500);
    for (bytes, rate, may) in
        [(8000, 20_000, true), (8001, 20_000, false), (8000, 900_000, true), (8001, 900_000, false)]
    {
        let copies = Copies::default();
        assert_eq!(copies.may_repeat(at(0), bytes, &room(rate, 0)), may, "{bytes} {rate}");
    }
    // A message of 200 bytes each millisecond gets a tenth.
    let bulk: usize = (0..1000).map(|n| sent(&mut copies, 20_000 + n)).sum();
    assert_eq!(bulk, 139);
}

/// 1,000 bytes were copied at 0 ms; at 100 kB/s they leave within 10 ms.
#[test]
fn copies_fit_beside_what_is_in_flight() {
    for (what, after_ms, rate, free, may) in [
        ("as much as the window has free", 0, 100_000, 2000, true),
        ("and no more", 0, 100_000, 1999, false),
        ("half has left", 5, 100_000, 1500, true),
        ("and no more", 5, 100_000, 1499, false),
        ("all has left: one copy is no burst", 10, 100_000, 0, true),
        ("at the rate that is known now", 1, 1_000_000, 0, true),
    ] {
        let mut copies = Copies::default();
        copies.on_sent(at(0), Tsn(0), 1000, LEAST_RATE, CopyAnswer::FirstAck);
        assert_eq!(copies.may_repeat(at(after_ms), 1000, &room(rate, free)), may, "{what}");
    }
    for (backlog, may) in [(1000, true), (999, false)] {
        let mut copies = Copies::default();
        copies.on_sent(at(0), Tsn(0), 1000, LEAST_RATE, CopyAnswer::FirstAck);
        let room = CopyRoom { backlog, ..room(100_000, 8000) };
        assert_eq!(copies.may_repeat(at(0), 1000, &room), may, "behind 1,000 bytes");
    }
}

#[test]
fn a_copy_that_comes_too_late_is_none() {
    let ms = Duration::from_millis;
    for (rtt, its_rtt, useful) in
        [(40, 200, true), (40, 201, false), (1, 20, true), (1, 21, false), (300, 10, true)]
    {
        assert_eq!(is_useful(ms(rtt), ms(its_rtt)), useful, "{rtt} {its_rtt}");
    }
}

/// The chunk was copied here before, longer ago than is remembered: a report of that arrives soon after the next copy.
#[test]
fn a_report_that_comes_too_soon_is_not_of_the_latest_copy() {
    let least = Duration::from_millis(10);
    for (asked_at, others, expected) in
        [(9, 0, None), (10, 0, Some(0)), (9, 2, None), (10, 2, Some(0))]
    {
        let mut copies = Copies::default();
        copies.on_sent(at(0), Tsn(1), 1000, u64::MAX, CopyAnswer::Nothing);
        for other in 0..others {
            copies.on_sent(at(1), Tsn(7 + other), 1000, u64::MAX, CopyAnswer::Nothing);
        }
        let reported = |tsn: Tsn| tsn == Tsn(1);
        let answer = copies.on_sack(sack(asked_at, least), reported, |_| false);
        assert_eq!(which(answer), expected.map(|ms| (at(ms), 1000)), "{asked_at} {others}");
    }
}

/// Chunks 1 and 2 went over another path after they had left this one at 0 ms; 3 was copied to it at 8 ms.
#[test]
fn what_is_left_behind_is_a_copy() {
    let least = Duration::from_millis(10);
    for (what, covered, reported, copy_too, expected) in [
        ("the first of two", &[1][..], None, false, Some(0)),
        ("both at once: the later one", &[1, 2], None, false, None),
        ("the second, as a duplicate", &[1, 2], Some(2), false, Some(0)),
        ("beside a copy that left later", &[1], None, true, Some(0)),
        ("which may be what arrived", &[1, 3], None, true, None),
        ("nothing", &[], None, true, None),
    ] {
        let mut copies = Copies::default();
        let rto = Duration::from_millis(300);
        for tsn in [1, 2] {
            copies.on_left(Tsn(tsn), at(0), 1000, CopyAnswer::FirstAck);
        }
        assert!(!copies.may_measure(at(300), rto, None), "its answer is awaited: {what}");
        assert!(!copies.is_given_up(), "{what}");
        if copy_too {
            copies.on_sent(at(8), Tsn(3), 1000, u64::MAX, CopyAnswer::FirstAck);
        }
        let is_reported = |tsn: Tsn| Some(tsn.0) == reported;
        let covers = |tsn: Tsn| covered.contains(&tsn.0);
        let answer = copies.on_sack(sack(20, least), is_reported, covers);
        assert_eq!(which(answer), expected.map(|ms| (at(ms), 1000)), "{what}");
    }
}

#[test]
fn what_left_before_a_copy_is_not_the_latest() {
    let mut copies = Copies::default();
    copies.on_sent(at(8), Tsn(3), 1000, u64::MAX, CopyAnswer::FirstAck);
    copies.on_left(Tsn(1), at(0), 1000, CopyAnswer::FirstAck);
    assert_eq!(copies.awaits(), Some(Tsn(3)));
    copies.on_left(Tsn(4), at(9), 1000, CopyAnswer::FirstAck);
    assert_eq!(copies.awaits(), Some(Tsn(4)));
    assert_eq!(copies.sent_at(Tsn(1)), Some(at(0)));
}

/// Data left at 10 ms, and copies at 20 and 30 ms.
#[test]
fn a_copy_is_no_data_of_the_path() {
    let mut copies = Copies::default();
    let mut last_sent = Some(at(10));
    for ms in [20, 30] {
        let last_data = copies.last_data(last_sent);
        assert_eq!(last_data, Some(at(10)), "{ms}");
        copies.on_data_before(last_data);
        copies.on_sent(at(ms), Tsn(1), 1000, LEAST_RATE, CopyAnswer::FirstAck);
        last_sent = Some(at(ms));
    }
    assert_eq!(copies.last_data(last_sent), Some(at(10)));
    assert_eq!(copies.last_data(Some(at(40))), Some(at(40)), "data left after them");
    let none = Copies::default();
    assert_eq!(none.last_data(None), None);
    assert_eq!(none.last_data(Some(Instant::ZERO)), Some(Instant::ZERO), "nothing was copied");
}

/// Chunk 1 left at 10 ms, chunk 2 at 20 ms; chunk 3 was copied at 5 ms.
#[test]
fn what_left_before_measured_data_is_forgotten() {
    for (measured_at, remain, awaited) in
        [(9, &[1, 2, 3][..], 2), (10, &[2, 3], 2), (20, &[3], 3), (90, &[3], 3)]
    {
        let mut copies = Copies::default();
        copies.on_sent(at(5), Tsn(3), 1000, LEAST_RATE, CopyAnswer::FirstAck);
        copies.on_left(Tsn(1), at(10), 1000, CopyAnswer::Left);
        copies.on_left(Tsn(2), at(20), 1000, CopyAnswer::Left);
        copies.on_measured(at(measured_at));
        let found: alloc::vec::Vec<u32> =
            (1..=3).filter(|tsn| copies.sent_at(Tsn(*tsn)).is_some()).collect();
        assert_eq!(found, remain, "data of {measured_at} ms was measured");
        assert_eq!(copies.awaits(), Some(Tsn(awaited)), "the latest");
    }
}

/// One copy each 10 ms: the latest and three before it are remembered.
#[test]
fn copies_are_many_while_a_forgotten_one_may_be_on_its_way() {
    let mut copies = Copies::default();
    let longest = |ms| Duration::from_millis(ms);
    for n in 0..4 {
        assert!(!copies.are_many(at(30), longest(1000)), "{n} copies");
        copies.on_sent(at(10 * n), Tsn(n as u32), 1000, LEAST_RATE, CopyAnswer::Nothing);
    }
    assert!(copies.are_many(at(30), longest(31)));
    assert!(!copies.are_many(at(30), longest(30)), "the first has arrived");
}

/// Three copies of 1,000 bytes were sent together. A SACK that answers one leaves open when those before it arrived.
#[test]
fn an_answer_tells_whether_another_copy_was_left_out() {
    for (what, reports, expected) in [
        ("each in turn", &[1, 2, 3][..], &[true, true, true][..]),
        ("the first is lost", &[2, 3], &[false, true]),
        ("only the last is known", &[3], &[false]),
    ] {
        let mut copies = Copies::default();
        for tsn in 1..=3 {
            copies.on_sent(at(0), Tsn(tsn), 1000, LEAST_RATE, CopyAnswer::FirstAck);
        }
        let answers = reports.iter().map(|&reported: &u32| {
            let here = sack(40, Duration::from_millis(10));
            copies.on_sack(here, |tsn| tsn.0 == reported, |_| true).map(|copy| copy.is_next)
        });
        let expected: std::vec::Vec<_> = expected.iter().copied().map(Some).collect();
        assert_eq!(answers.collect::<std::vec::Vec<_>>(), expected, "{what}");
    }
}
