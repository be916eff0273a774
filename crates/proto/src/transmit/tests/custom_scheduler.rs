//! A path scheduler that the program brings: what it is shown, and what becomes of its choice.

use alloc::boxed::Box;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::vec::Vec;

use super::*;
use crate::config::DataCopies;
use crate::config::plug_in::{CustomScheduler, NewData, PathScheduler, PathView, Readiness};
use crate::paths::reach::Reach;
use crate::transmit::decide::What;
use crate::{Duration, PathId, PathStatus};

/// Takes the path with the highest id that is ready, and fails unless the readiness of all is this.
#[derive(Debug)]
struct Highest(Vec<Readiness>);

impl PathScheduler for Highest {
    fn choose(&self, paths: &[PathView], data: &NewData) -> Option<PathId> {
        let readiness: Vec<_> = paths.iter().map(|path| path.readiness).collect();
        assert_eq!(readiness, self.0);
        assert_eq!(data.chunk_bytes, FULL);
        paths.iter().filter(|path| path.is_ready()).map(|path| path.id).max()
    }
}

fn bench(readiness: &[Readiness]) -> Bench {
    let readiness = readiness.to_vec();
    let mut bench = Bench::tuned(preset("cmt"), 3, |config| {
        config.policies.data_copies = DataCopies::Off;
        let make = move || -> Box<dyn PathScheduler> { Box::new(Highest(readiness.clone())) };
        config.custom_scheduler = Some(CustomScheduler::new("highest", make));
    });
    (0..3).for_each(|id| bench.shape(id, 9, 9, 50));
    bench
}

#[test]
fn it_sees_why_a_path_may_not_send() {
    use Readiness::{Full, Held, Ready};
    let mut all = bench(&[Ready, Ready, Ready]);
    all.send(1);
    assert_eq!(all.choice(), Some((2, What::New(FULL))));
    let mut some = bench(&[Ready, Held, Full]);
    some.send(1);
    let now = some.now;
    some.path(1).new_data_ban.begin(now, Duration::from_millis(1));
    let full = some.path(2);
    full.flight = full.congestion.cwnd;
    assert_eq!(some.choice(), Some((0, What::New(FULL))));
}

#[test]
fn it_is_not_asked_where_no_path_may_send() {
    let mut bench = bench(&[]);
    bench.send(1);
    for id in 0..3 {
        let path = bench.path(id);
        path.flight = path.congestion.cwnd;
    }
    assert_eq!(bench.choice(), None);
}

/// Takes the first path, and passes on what it was shown.
#[derive(Debug)]
struct Watcher(Sender<Vec<PathView>>);

impl PathScheduler for Watcher {
    fn choose(&self, paths: &[PathView], _: &NewData) -> Option<PathId> {
        self.0.send(paths.to_vec()).unwrap();
        paths.first().map(|path| path.id)
    }
}

#[test]
fn it_sees_what_is_known_of_each_path() {
    let (sender, shown): (_, Receiver<Vec<PathView>>) = channel();
    let mut bench = Bench::tuned(preset("cmt"), 2, |config| {
        config.policies.data_copies = DataCopies::Off;
        let make = move || -> Box<dyn PathScheduler> { Box::new(Watcher(sender.clone())) };
        config.custom_scheduler = Some(CustomScheduler::new("watcher", make));
    });
    let doubtful = Reach::PotentiallyFailed;
    bench.book.ids().for_each(|path| bench.book.set_reach(path, doubtful));
    let Bench { tx, config, .. } = &mut bench;
    tx.paths[PathId(0)].resize(1400, 20, config);
    bench.shape(0, 9, 7, 50);
    let now = bench.now;
    bench.path(0).rtt.on_data_sample(now, Duration::from_millis(90), 1468);
    bench.send(1);
    bench.flush();
    shown.try_iter().for_each(drop);
    bench.wait(5);
    bench.send(1);
    bench.choice();
    let views = shown.try_iter().next().unwrap();
    let expected = PathView {
        readiness: Readiness::Ready,
        status: PathStatus::PotentiallyFailed,
        // RTO.Alpha is an eighth: 50 + 40 / 8.
        srtt: Some(Duration::from_millis(55)),
        smallest_rtt: Some(Duration::from_millis(50)),
        cwnd: 9 * CHUNK,
        ssthresh: 7 * CHUNK,
        flight: CHUNK,
        mtu: 1400,
        last_sent: Some(now),
        last_sent_rank: 1,
        ..PathView::new(PathId(0))
    };
    assert_eq!(views, [expected], "the only one that may carry data");
}
