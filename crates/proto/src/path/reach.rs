//! Whether a path can carry data (RFC 9260 sections 5.4 and 8.2).

use crate::PathStatus;

/// Reachability of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// The peer named the address; nothing proved yet that it is the peer's.
    Unconfirmed,
    /// Works.
    Active,
    /// Does not work.
    Inactive(Reason),
}

/// Why a path is inactive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// Too many consecutive timeouts (RFC 9260 section 8.2).
    Timeouts,
    /// Never confirmed: heartbeats stayed unanswered.
    NeverConfirmed,
    /// The system refuses to send from this local to this remote address.
    Refused,
    /// This host has lost the local address.
    NoLocalAddress,
}

/// What an error counter that rose means for the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transition {
    None,
    Failed,
}

impl Reach {
    /// Whether data may be sent.
    pub(crate) fn is_active(self) -> bool {
        self == Self::Active
    }

    /// Whether the address was proved to be the peer's, from a local address that still is ours.
    pub(crate) fn is_confirmed(self) -> bool {
        !matches!(
            self,
            Self::Unconfirmed | Self::Inactive(Reason::NeverConfirmed | Reason::NoLocalAddress)
        )
    }

    pub(crate) fn status(self) -> PathStatus {
        match self {
            Self::Unconfirmed => PathStatus::Unconfirmed,
            Self::Active => PathStatus::Active,
            Self::Inactive(_) => PathStatus::Inactive,
        }
    }

    /// The path's error counter rose to `errors`, with Path.Max.Retrans `limit`.
    pub(crate) fn on_error(&mut self, errors: u32, limit: u32) -> Transition {
        if errors <= limit {
            return Transition::None;
        }
        let failed = match self {
            Self::Active => Self::Inactive(Reason::Timeouts),
            Self::Unconfirmed => Self::Inactive(Reason::NeverConfirmed),
            Self::Inactive(_) => return Transition::None,
        };
        *self = failed;
        Transition::Failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fails_when_errors_exceed_the_limit() {
        for (limit, errors, before, after) in [
            (5, 5, Reach::Active, Reach::Active),
            (5, 6, Reach::Active, Reach::Inactive(Reason::Timeouts)),
            (0, 1, Reach::Active, Reach::Inactive(Reason::Timeouts)),
            (2, 3, Reach::Unconfirmed, Reach::Inactive(Reason::NeverConfirmed)),
            (2, 9, Reach::Inactive(Reason::Timeouts), Reach::Inactive(Reason::Timeouts)),
        ] {
            let mut reach = before;
            let transition = reach.on_error(errors, limit);
            assert_eq!(reach, after);
            assert_eq!(transition == Transition::Failed, before != after);
        }
    }
}
