//! A path scheduler: earliest completion first (ECF; Lim, Nahum, Towsley, Gibbens, CoNEXT 2017).

use polypath::PathId;
use polypath::scheduling::{NewData, PathScheduler, PathView};

/// Waits for the fastest path where what waits arrives earlier that way than over a slower one that is free.
#[derive(Debug)]
pub struct EarliestFirst;

impl PathScheduler for EarliestFirst {
    fn choose(&self, paths: &[PathView], data: &NewData) -> Option<PathId> {
        // A path that is not measured yet comes first: `None` is less than any time.
        let free = paths.iter().filter(|path| path.is_ready()).min_by_key(|path| path.srtt)?;
        let fastest = paths.iter().min_by_key(|path| path.srtt)?;
        let (Some(slow), Some(fast)) = (free.srtt, fastest.srtt) else { return Some(free.id) };
        // Round trips that the fastest path needs for everything that waits, the one for room included.
        let rounds = 1 + data.waiting_bytes.div_ceil(fastest.cwnd.max(1));
        (fast * rounds >= slow).then_some(free.id)
    }
}
