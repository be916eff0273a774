//! Reports paths that are lost and come back.

use std::collections::BTreeMap;
use std::time::Duration;

use polypath::{Association, Event, EventKinds, PathChange, PathId, PathStats};
use tokio::time::{Instant, sleep_until};

use super::Verbosity;
use crate::interfaces;

/// How long a path must be silent before it is reported: a single timeout is not enough.
const GRACE: Duration = Duration::from_secs(1);
/// Longest polling interval.
const IDLE: Duration = Duration::from_secs(3600);

/// Passes a line to `tell` for each path of an association that is lost or comes back. Times count from `begin`. Returns when the
/// association ends.
pub(crate) async fn watch(
    association: Association,
    begin: Instant,
    verbosity: Verbosity,
    tell: impl Fn(&str),
) {
    let mut events = association.events_of(EventKinds::PATH);
    let mut board = Board::new();
    loop {
        let due = board.due().map_or_else(|| Instant::now() + IDLE, |due| begin + due);
        let news = tokio::select! {
            event = events.next() => match event {
                Some(Event::Path { path, change }) => board.note(begin.elapsed(), path, change),
                Some(_) => None,
                None => return,
            },
            () = sleep_until(due) => board.look(begin.elapsed()),
        };
        if let Some((path, news)) = news
            && (verbosity >= Verbosity::Verbose || news.is_important())
        {
            let paths = association.path_stats();
            let mtu =
                paths.iter().find(|other| other.path == path).map_or(0, |path| path.mtu_bytes);
            tell(&format!("{} {}", label(path, &paths), news.words(mtu)));
        }
    }
}

/// A reported change of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum News {
    /// Since when it does not answer.
    Lost(Duration),
    Back(Duration),
    /// It works for the first time.
    Works(Duration),
    NewMtu(Duration),
}

impl News {
    fn is_important(self) -> bool {
        matches!(self, Self::Lost(_) | Self::Back(_))
    }

    fn words(self, mtu: u32) -> String {
        let at = |time: Duration| format!("{:.0} s", time.as_secs_f64());
        match self {
            Self::Lost(time) => format!("lost at {}", at(time)),
            Self::Back(time) => format!("back at {}", at(time)),
            Self::Works(time) => format!("works since {}", at(time)),
            Self::NewMtu(time) => format!("has an MTU of {mtu} since {}", at(time)),
        }
    }
}

/// State of the paths.
#[derive(Debug)]
struct Board<P> {
    /// Silent paths: since when, and whether that was reported.
    silent: BTreeMap<P, (Duration, bool)>,
}

impl<P: Copy + Ord> Board<P> {
    fn new() -> Self {
        Self { silent: BTreeMap::new() }
    }

    fn note(&mut self, now: Duration, path: P, change: PathChange) -> Option<(P, News)> {
        match change {
            PathChange::PotentiallyFailed => {
                self.silent.entry(path).or_insert((now, false));
                None
            }
            PathChange::Unreachable => {
                let (since, was_said) = self.silent.entry(path).or_insert((now, false));
                let news = (!*was_said).then_some((path, News::Lost(*since)));
                *was_said = true;
                news
            }
            PathChange::Available => match self.silent.remove(&path) {
                Some((_, true)) => Some((path, News::Back(now))),
                _ => None,
            },
            PathChange::Confirmed => Some((path, News::Works(now))),
            PathChange::MtuChanged => Some((path, News::NewMtu(now))),
            _ => None,
        }
    }

    /// When the next path has been silent for long enough.
    fn due(&self) -> Option<Duration> {
        let unsaid = self.silent.values().filter(|(_, was_said)| !was_said);
        unsaid.map(|(since, _)| *since + GRACE).min()
    }

    /// A path that has been silent for long enough to report.
    fn look(&mut self, now: Duration) -> Option<(P, News)> {
        let due = |(_, silent): &(&P, &mut (Duration, bool))| !silent.1 && silent.0 + GRACE <= now;
        let (path, silent) = self.silent.iter_mut().find(due)?;
        silent.1 = true;
        Some((*path, News::Lost(silent.0)))
    }
}

/// Name of a path: its interface, and its addresses if other paths share the interface.
fn label(path: PathId, paths: &[PathStats]) -> String {
    let place = paths.iter().position(|other| other.path == path);
    let label = place.and_then(|place| labels(paths).into_iter().nth(place));
    label.unwrap_or_else(|| path.to_string())
}

/// Names of all paths of an association.
pub(crate) fn labels(paths: &[PathStats]) -> Vec<String> {
    let ways: Vec<_> = paths.iter().map(|path| [path.local, path.remote]).collect();
    interfaces::names(&ways, &interfaces::places().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_path_that_is_lost_and_comes_back_is_said_once_each() {
        let (mut board, path) = (Board::new(), 7);
        assert_eq!(board.note(at(12), path, PathChange::PotentiallyFailed), None);
        assert_eq!(board.due(), Some(at(13)));
        assert_eq!(board.look(at(13)), Some((path, News::Lost(at(12)))));
        assert_eq!((board.look(at(14)), board.due()), (None, None));
        assert_eq!(board.note(at(20), path, PathChange::Unreachable), None, "it was said");
        assert_eq!(
            board.note(at(27), path, PathChange::Available),
            Some((path, News::Back(at(27))))
        );
        assert_eq!(News::Lost(at(12)).words(0), "lost at 12 s");
        assert_eq!(News::Back(at(27)).words(0), "back at 27 s");
    }

    #[test]
    fn a_single_timeout_is_not_worth_a_line_and_a_failure_at_once_is() {
        let (mut board, path) = (Board::new(), 7);
        board.note(at(1), path, PathChange::PotentiallyFailed);
        assert_eq!(board.note(at(1), path, PathChange::Available), None);
        assert_eq!(board.due(), None);
        let lost = board.note(at(5), path, PathChange::Unreachable);
        assert_eq!(lost, Some((path, News::Lost(at(5)))));
        let news = board.note(at(6), path, PathChange::Confirmed).unwrap().1;
        assert!(!news.is_important());
    }
}
