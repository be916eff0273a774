//! What becomes of the choice of a path scheduler that the program brings.

use crate::PathId;
use crate::config::plug_in::PathView;

/// The path to take: what the scheduler chose, if it may send. While nothing is outstanding, some path that may.
pub(crate) fn settle(
    chosen: Option<PathId>,
    paths: &[PathView],
    outstanding: Outstanding,
) -> Option<PathId> {
    let is_ready = |id| paths.iter().any(|path| path.id == id && path.is_ready());
    let first = || paths.iter().find(|path| path.is_ready()).map(|path| path.id);
    match outstanding {
        Outstanding::Something => chosen.filter(|id| is_ready(*id)),
        Outstanding::Nothing => chosen.filter(|id| is_ready(*id)).or_else(first),
    }
}

/// Whether anything is outstanding, so that a SACK or a timer will come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outstanding {
    Something,
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::plug_in::Readiness;

    #[test]
    fn a_choice_holds_if_the_path_may_send() {
        use Outstanding::{Nothing, Something};
        let path = |id, readiness| PathView { readiness, ..PathView::new(PathId(id)) };
        let paths =
            [path(0, Readiness::Full), path(1, Readiness::Ready), path(2, Readiness::Ready)];
        for (chosen, outstanding, expected) in [
            (Some(2), Something, Some(2)),
            (Some(0), Something, None),
            (Some(7), Something, None),
            (None, Something, None),
            // Nothing would ever end the wait.
            (Some(2), Nothing, Some(2)),
            (Some(0), Nothing, Some(1)),
            (None, Nothing, Some(1)),
        ] {
            let found = settle(chosen.map(PathId), &paths, outstanding);
            assert_eq!(found, expected.map(PathId), "{chosen:?} {outstanding:?}");
        }
    }
}
