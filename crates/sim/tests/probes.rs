//! Probes: what is observed, and that observing changes nothing.

mod common;

use polypath_sim::{Form, RunResult, Simulation};

fn run(scenario: &str, seed: u64, set: &[&str]) -> RunResult {
    let scenario = common::read(scenario, set);
    Simulation::with(&scenario, seed, Form::Structured).unwrap().run().unwrap()
}

const FILE: &str = "traffic.file.source.file=512 KiB";

#[test]
fn sampled_series_agree_with_the_counters_at_the_end() {
    let result = run("two-paths-loss", 1, &[FILE, "record.series=10 ms"]);
    let series = result.series.expect("a series that was asked for");
    for (path, at_end) in series.paths.iter().zip(&result.paths) {
        let lengths = [
            path.goodput_bit_s.len(),
            path.sent_bit_s.len(),
            path.ssthresh_bytes.len(),
            path.rto_s.len(),
            path.state.len(),
        ];
        assert_eq!(lengths, [series.time_s.len(); 5]);
        assert_eq!(path.rto_s.last(), Some(&Some(at_end.rto_s)));
        assert_eq!(path.state.last(), Some(&Some(3)));
        let sent: f64 = path.sent_bit_s.iter().sum::<f64>() * 0.01 / 8.0;
        let arrived: f64 = path.goodput_bit_s.iter().sum::<f64>() * 0.01 / 8.0;
        let lost = at_end.data_chunks_sent as f64 * 1452.0 - arrived;
        assert!(sent >= arrived && sent <= arrived + lost + 1.0, "{sent} {arrived}");
    }
    let [a, b] = [&series.hosts[0], &series.hosts[1]];
    assert!(a.send_buffer_bytes.iter().flatten().any(|bytes| *bytes > 0));
    assert!(b.receive_buffer_bytes.iter().flatten().any(|bytes| *bytes > 0));
    assert!(
        a.peer_window_bytes.iter().flatten().min() < a.peer_window_bytes.iter().flatten().max()
    );
}
