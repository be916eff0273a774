//! When a message is abandoned: timed reliability (RFC 3758 section 4.1), limited retransmissions and priority (RFC 7496
//! section 3; usrsctp and Linux `SCTP_PR_SCTP_TTL`, `_RTX` and `_PRIO`; RFC 6458 `sctp_prinfo`).
//!
//! A message has one of these rules from the moment it is handed over. Time is looked at whenever packets are about to be
//! sent; chunks are looked at when they are lost. [`forward`] is how the peer learns of it.

pub(crate) mod forward;
pub(crate) mod index;

use crate::config::PartialReliability;
use crate::{AbandonedMessages, Instant};

/// How long the sender tries to deliver a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Reliability {
    /// As long as the association lives.
    #[default]
    Full,
    /// Until then.
    Until(Instant),
    /// As long as no chunk is retransmitted more often.
    Retransmissions(u16),
    /// Until something with a lower number needs its room.
    Priority(u32),
}

impl Reliability {
    /// The rule for a message that is handed over now.
    pub(crate) fn of(policy: PartialReliability, now: Instant) -> Self {
        match policy {
            PartialReliability::None => Self::Full,
            PartialReliability::Timed(lifetime) => Self::Until(now + lifetime),
            PartialReliability::LimitedRetransmissions(limit) => Self::Retransmissions(limit),
            PartialReliability::Priority(priority) => Self::Priority(priority),
        }
    }

    /// Whether a message without lost chunks is abandoned at `now`.
    pub(crate) fn has_expired(self, now: Instant) -> bool {
        matches!(self, Self::Until(end) if end <= now)
    }

    /// Whether a message is abandoned at `now` of which a chunk is lost that was retransmitted this often.
    pub(crate) fn ends_with_loss(self, now: Instant, retransmissions: u16) -> bool {
        match self {
            Self::Retransmissions(limit) => retransmissions >= limit,
            _ => self.has_expired(now),
        }
    }

    /// Whether a message with this rule makes room for another one with that rule (RFC 7496 section 3.2): reliable ones
    /// and those with other rules count as more important than any priority.
    pub(crate) fn makes_space_for(self, other: Self) -> bool {
        match (self, other) {
            (Self::Priority(own), Self::Priority(other)) => own > other,
            (Self::Priority(_), _) => true,
            _ => false,
        }
    }

    /// The count that an abandoned message belongs to.
    pub(crate) fn count(self, counts: &mut AbandonedMessages, transmitted: bool) {
        let of_rule = match self {
            Self::Full => return,
            Self::Until(_) => &mut counts.timed,
            Self::Retransmissions(_) => &mut counts.limited_retransmissions,
            Self::Priority(_) => &mut counts.priority,
        };
        match transmitted {
            true => of_rule.sent += 1,
            false => of_rule.unsent += 1,
        }
    }
}

/// Whether the peer understands FORWARD-TSN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Support {
    /// The handshake is not done.
    #[default]
    Unknown,
    /// It does.
    Yes,
    /// It does not: every message is reliable.
    No,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    #[test]
    fn rules() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let timed = Reliability::of(PartialReliability::Timed(Duration::from_millis(50)), at(100));
        let limited = Reliability::of(PartialReliability::LimitedRetransmissions(2), at(100));
        let priority = Reliability::of(PartialReliability::Priority(3), at(100));
        // (rule, time, retransmissions, abandoned without loss, after a loss)
        for (rule, ms, retransmissions, unlost, lost) in [
            (Reliability::Full, 1 << 40, u16::MAX, false, false),
            (timed, 149, 9, false, false),
            (timed, 150, 0, true, true),
            (limited, 1 << 40, 1, false, false),
            (limited, 100, 2, false, true),
            (limited, 100, 3, false, true),
            (priority, 1 << 40, u16::MAX, false, false),
        ] {
            let case = (rule, ms, retransmissions);
            assert_eq!(rule.has_expired(at(ms)), unlost, "{case:?}");
            assert_eq!(rule.ends_with_loss(at(ms), retransmissions), lost, "{case:?}");
        }
    }

    #[test]
    fn only_lower_priorities_make_room() {
        let [high, low] = [1, 2].map(Reliability::Priority);
        let other = Reliability::Retransmissions(0);
        for (own, new, expected) in [
            (low, high, true),
            (high, low, false),
            (low, low, false),
            (low, Reliability::Full, true),
            (high, other, true),
            (other, high, false),
            (Reliability::Full, high, false),
        ] {
            assert_eq!(own.makes_space_for(new), expected, "{own:?} for {new:?}");
        }
    }
}
