//! A path scheduler that the program brings: what it is shown, and what becomes of its choice.

use alloc::boxed::Box;
use std::vec::Vec;

use super::*;
use crate::config::DataCopies;
use crate::config::plug_in::{CustomScheduler, NewData, PathScheduler, PathView, Readiness};
use crate::transmit::decide::What;
use crate::{Duration, PathId};

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
