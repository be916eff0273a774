//! New data under a path scheduler of the program's own.

use rand_core::Rng;
use smallvec::SmallVec;

use super::decide::Snapshot;
use super::send_path::SendPath;
use crate::PathId;
use crate::config::plug_in::{NewData, PathScheduler, PathView, Readiness};
use crate::mechanism::custom_scheduler;

impl Snapshot<'_> {
    /// The path that the scheduler chooses, and the length of the next chunk there.
    #[inline(never)]
    pub(super) fn scheduled(
        &self,
        scheduler: &dyn PathScheduler,
        rng: &mut dyn Rng,
    ) -> Option<(PathId, u32)> {
        let chunks: SmallVec<[(PathView, Option<u32>); 8]> =
            self.tx.paths.among(self.usable).map(|path| self.view_of(path)).collect();
        let chunk_bytes = chunks.iter().find_map(|(_, bytes)| *bytes)?;
        let paths: SmallVec<[PathView; 8]> = chunks.iter().map(|(view, _)| *view).collect();
        let data = NewData {
            now: self.now,
            chunk_bytes,
            waiting_bytes: self.tx.queue.waiting(),
            peer_window: self.tx.peer_window(),
            lot: rng.next_u32(),
        };
        let in_flight = self.tx.outstanding.in_flight_user_bytes();
        let chosen = scheduler.choose(&paths, &data);
        let path = custom_scheduler::settle(chosen, &paths, in_flight)?;
        chunks
            .iter()
            .find(|(view, _)| view.id == path)
            .and_then(|(_, bytes)| Some((path, (*bytes)?)))
    }

    /// A path and the length of the next chunk there, if it may send one.
    fn view_of(&self, path: &SendPath) -> (PathView, Option<u32>) {
        let may = path.cwnd_admits() && !self.keeps_off(path);
        let next = if may { self.next_chunk(path.id) } else { None };
        let view = PathView {
            readiness: match next {
                Some(_) => Readiness::Ready,
                None if !path.cwnd_admits() => Readiness::Full,
                None => Readiness::Held,
            },
            status: self.book[path.id].status(),
            srtt: path.rtt.srtt(),
            smallest_rtt: path.rtt.smallest(),
            cwnd: path.congestion.cwnd,
            ssthresh: path.congestion.ssthresh,
            flight: path.flight,
            mtu: path.mtu(),
            last_sent: path.last_data_sent,
            last_sent_rank: path.transmission_rank,
            ..PathView::new(path.id)
        };
        (view, next)
    }
}
