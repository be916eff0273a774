//! What becomes of the choice of a path scheduler that the program brings.

use crate::PathId;
use crate::config::plug_in::PathView;

/// The path to use: the scheduler's choice, if it may send. With nothing in flight, neither a SACK nor a timer would
/// end a wait: then the first path that may send replaces it. `in_flight` is in bytes of user data, on all paths.
pub(crate) fn settle(chosen: Option<PathId>, paths: &[PathView], in_flight: u64) -> Option<PathId> {
    let is_ready = |id| paths.iter().any(|path| path.id == id && path.is_ready());
    let first = || paths.iter().find(|path| path.is_ready()).map(|path| path.id);
    let chosen = chosen.filter(|id| is_ready(*id));
    if in_flight == 0 { chosen.or_else(first) } else { chosen }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::plug_in::Readiness;

    #[test]
    fn a_choice_holds_if_the_path_may_send() {
        let path = |id, readiness| PathView { readiness, ..PathView::new(PathId(id)) };
        let paths =
            [path(0, Readiness::Full), path(1, Readiness::Ready), path(2, Readiness::Ready)];
        for (chosen, in_flight, expected) in [
            (Some(2), 1, Some(2)),
            (Some(0), 1, None),
            (Some(7), 1, None),
            (None, 1, None),
            // Nothing would ever end the wait.
            (Some(2), 0, Some(2)),
            (Some(0), 0, Some(1)),
            (None, 0, Some(1)),
        ] {
            let found = settle(chosen.map(PathId), &paths, in_flight);
            assert_eq!(found, expected.map(PathId), "{chosen:?} {in_flight}");
        }
    }
}
