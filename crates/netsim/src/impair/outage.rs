//! Times in which a channel is down.

use polypath_units::Instant;

/// A time in which a channel is down; what happens to its packets is told at [`Channel`](crate::Channel).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Outage {
    /// First instant at which it is down, before anything else that happens at that instant.
    pub from: Instant,
    /// First instant at which it is up again, for all that happens then; `None` when it stays down.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub until: Option<Instant>,
}

/// A list of outages that makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OutageError {
    /// An outage without length.
    #[error("the outage from {from} ends at {until}: it has to end later than it starts")]
    EndsBeforeStart {
        /// Its start.
        from: Instant,
        /// Its end.
        until: Instant,
    },
    /// Two outages overlap or are out of order.
    #[error(
        "the outage from {from} starts before the one listed ahead of it has ended ({}): \
        list outages in order of time, without overlap",
        until_text(*.earlier_until)
    )]
    NotInOrder {
        /// Start of the later one in the list.
        from: Instant,
        /// End of the one before it.
        earlier_until: Option<Instant>,
    },
}

fn until_text(until: Option<Instant>) -> String {
    until.map_or_else(|| "it never ends".to_owned(), |until| format!("at {until}"))
}

/// The turns of a channel, down and up alternating.
#[derive(Debug, Default)]
pub(crate) struct OutageSchedule {
    /// Down, up, down, … at strictly increasing times.
    turns: Vec<Instant>,
    done: usize,
}

/// What a channel turns to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    Down,
    Up,
}

impl OutageSchedule {
    pub fn new(outages: &[Outage]) -> Result<Self, OutageError> {
        let mut turns = Vec::with_capacity(outages.len() * 2);
        let mut earlier: Option<Outage> = None;
        for &outage in outages {
            if let Some(until) = outage.until
                && until <= outage.from
            {
                return Err(OutageError::EndsBeforeStart { from: outage.from, until });
            }
            if let Some(Outage { until, .. }) = earlier
                && until.is_none_or(|until| until >= outage.from)
            {
                return Err(OutageError::NotInOrder { from: outage.from, earlier_until: until });
            }
            turns.push(outage.from);
            turns.extend(outage.until);
            earlier = Some(outage);
        }
        Ok(Self { turns, done: 0 })
    }

    /// When the next turn is due.
    pub fn next(&self) -> Option<Instant> {
        self.turns.get(self.done).copied()
    }

    /// Does the next turn.
    pub fn turn(&mut self) -> Turn {
        let turn = if self.done.is_multiple_of(2) { Turn::Down } else { Turn::Up };
        self.done += 1;
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outage(from: u64, until: Option<u64>) -> Outage {
        Outage { from: Instant::from_nanos(from), until: until.map(Instant::from_nanos) }
    }

    #[test]
    fn turns_alternate() {
        let mut schedule = OutageSchedule::new(&[outage(5, Some(7)), outage(9, None)]).unwrap();
        let turns: Vec<_> =
            std::iter::from_fn(|| schedule.next().map(|at| (at.as_nanos(), schedule.turn())))
                .collect();
        assert_eq!(turns, [(5, Turn::Down), (7, Turn::Up), (9, Turn::Down)]);
    }

    #[test]
    fn senseless_lists_are_refused() {
        let error = |outages: &[Outage]| OutageSchedule::new(outages).unwrap_err().to_string();
        assert_eq!(
            error(&[outage(5, Some(5))]),
            "the outage from 5 ns ends at 5 ns: it has to end later than it starts"
        );
        assert_eq!(
            error(&[outage(5, Some(9)), outage(8, None)]),
            "the outage from 8 ns starts before the one listed ahead of it has ended (at 9 ns): \
             list outages in order of time, without overlap"
        );
        assert!(error(&[outage(5, None), outage(8, None)]).contains("it never ends"));
        // Two that touch would be one; saying so twice is more likely a slip.
        assert!(OutageSchedule::new(&[outage(5, Some(8)), outage(8, Some(9))]).is_err());
    }
}
