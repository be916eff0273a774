//! Round-trip times of several paths.

use crate::Duration;

/// Round-trip times of the paths of an association, as far as measured, and their longest timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PathTimes {
    pub(crate) shortest_rtt: Option<Duration>,
    pub(crate) longest_rtt: Option<Duration>,
    pub(crate) longest_rto: Duration,
}
