//! How soon a chunk can be acknowledged at the earliest: what comes sooner answers another transmission of it (RFC 8985 section 6.2,
//! step 2).
//!
//! That is the shortest time that any chunk took. But a smaller one than that may take less, because links send it in less time: of
//! two transmissions of the last chunk of a message, the second would pass for the first. No chunk is smaller than control chunks, so what these took
//! at least bounds it then.

use crate::Duration;

/// What one path has shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SoonestAnswer {
    shortest: Option<Shortest>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shortest {
    /// From a transmission to its acknowledgement, over any path.
    time: Duration,
    /// Of the chunk that took it.
    bytes: u32,
}

impl SoonestAnswer {
    /// A chunk of so many bytes that was sent once was acknowledged after this time.
    #[inline]
    pub(crate) fn on_answered(&mut self, time: Duration, bytes: u32) {
        if self.shortest.is_none_or(|shortest| time < shortest.time) {
            self.shortest = Some(Shortest { time, bytes });
        }
    }

    /// The shortest time so far, of a chunk of whatever size.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        self.shortest.map(|shortest| shortest.time)
    }

    /// The least time for a chunk of so many bytes, where control chunks took at least `control`.
    pub(crate) fn least(&self, bytes: u32, control: Option<Duration>) -> Option<Duration> {
        let shortest = self.shortest?;
        match bytes < shortest.bytes {
            true => control.map(|control| control.min(shortest.time)),
            false => Some(shortest.time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn smaller_chunks_may_take_less() {
        let mut soonest = SoonestAnswer::default();
        assert_eq!((soonest.least(1000, Some(ms(30))), soonest.shortest()), (None, None));
        for (time, bytes) in [(50, 300), (42, 1000), (45, 400)] {
            soonest.on_answered(ms(time), bytes);
        }
        assert_eq!(soonest.shortest(), Some(ms(42)));
        for (what, bytes, control, least) in [
            ("as large", 1000, Some(30), Some(42)),
            ("larger", 1400, Some(30), Some(42)),
            ("smaller: what control chunks took", 999, Some(30), Some(30)),
            ("these met a queue", 999, Some(60), Some(42)),
            ("smaller, and no control chunk was answered", 999, None, None),
        ] {
            assert_eq!(soonest.least(bytes, control.map(ms)), least.map(ms), "{what}");
        }
    }
}
