//! Whether a path can carry data: the state machine of failure detection.
//!
//! RFC 9260 sections 5.4 and 8.2 (`natarajan` fig. 1); with potentially failed paths RFC 7829 section 3.2 (`natarajan`
//! fig. 3; ns-2 `Agent/SCTP/CMT` `useCmtPF_`; usrsctp `SCTP_ADDR_PF`).

use crate::PathStatus;

/// Reachability of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// The peer named the address; nothing proved yet that it is the peer's.
    Unconfirmed,
    /// Works.
    Active,
    /// Timeouts make it doubtful: it is probed, and carries data only while no path is active.
    PotentiallyFailed,
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
    /// The peer has deleted its address (RFC 5061).
    NoRemoteAddress,
    /// The peer has not acknowledged yet that the local address is ours (RFC 5061 section 5.3, rule F1).
    Unannounced,
}

/// Consecutive timeouts beyond which a path changes its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Thresholds {
    /// PFMR; `None`: the state does not exist.
    pub(crate) potentially_failed: Option<u32>,
    /// PMR (Path.Max.Retrans).
    pub(crate) failed: u32,
}

/// What happened on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signal {
    /// Data or a heartbeat was not answered in time; the number of consecutive timeouts.
    Timeout(u32),
    /// A heartbeat was answered.
    HeartbeatAck,
    /// Data was acknowledged that never took another path.
    DataAck,
    /// The system refuses the pair of addresses.
    Refused,
    /// This host has lost the local address.
    LocalAddressGone,
    /// The peer has deleted its address.
    RemoteAddressGone,
    /// No path is active, and this one is to carry data.
    Chosen,
}

/// What a signal changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transition {
    /// Nothing.
    None,
    /// The address was proved to be the peer's.
    Confirmed,
    /// It became doubtful.
    Suspected,
    /// It failed.
    Failed,
    /// It was doubtful and is active again.
    Cleared,
    /// It had failed and is active again.
    Restored,
}

impl Reach {
    /// Whether data may be sent on it while there is a choice.
    #[inline]
    pub(crate) fn is_active(self) -> bool {
        matches!(self, Self::Active)
    }

    /// Whether it is doubtful.
    #[inline]
    pub(crate) fn is_potentially_failed(self) -> bool {
        matches!(self, Self::PotentiallyFailed)
    }

    /// Whether the address was proved to be the peer's, from a local address that still is ours.
    pub(crate) fn is_confirmed(self) -> bool {
        !matches!(self, Self::Unconfirmed | Self::Inactive(Reason::NeverConfirmed))
            && !self.is_closed()
    }

    /// Whether one of its addresses is no longer part of the association.
    pub(crate) fn is_gone(self) -> bool {
        matches!(self, Self::Inactive(Reason::NoLocalAddress | Reason::NoRemoteAddress))
    }

    /// Whether one of its addresses is not part of the association: nothing is sent there.
    pub(crate) fn is_closed(self) -> bool {
        self.is_gone() || self == Self::Inactive(Reason::Unannounced)
    }

    pub(crate) fn status(self) -> PathStatus {
        match self {
            Self::Unconfirmed | Self::Inactive(Reason::Unannounced) => PathStatus::Unconfirmed,
            Self::Active => PathStatus::Active,
            Self::PotentiallyFailed => PathStatus::PotentiallyFailed,
            Self::Inactive(_) => PathStatus::Inactive,
        }
    }

    /// Takes a signal.
    pub(crate) fn on(&mut self, signal: Signal, thresholds: Thresholds) -> Transition {
        let (next, transition) = self.next(signal, thresholds);
        *self = next;
        transition
    }

    fn next(self, signal: Signal, thresholds: Thresholds) -> (Self, Transition) {
        use Reach::{Active, Inactive, PotentiallyFailed, Unconfirmed};
        use Transition::{Cleared, Confirmed, Failed, Restored, Suspected};
        let stays = (self, Transition::None);
        match (self, signal) {
            (Unconfirmed, Signal::Timeout(n)) if n > thresholds.failed => {
                (Inactive(Reason::NeverConfirmed), Failed)
            }
            (Active | PotentiallyFailed, Signal::Timeout(n)) if n > thresholds.failed => {
                (Inactive(Reason::Timeouts), Failed)
            }
            (Active, Signal::Timeout(n))
                if thresholds.potentially_failed.is_some_and(|threshold| n > threshold) =>
            {
                (PotentiallyFailed, Suspected)
            }
            (Unconfirmed, Signal::Refused) => (Inactive(Reason::NeverConfirmed), Failed),
            (Active | PotentiallyFailed, Signal::Refused) => (Inactive(Reason::Refused), Failed),
            // It does not matter then whether the local address returns.
            (Inactive(Reason::NoRemoteAddress), _) => stays,
            (Unconfirmed | Active | PotentiallyFailed, Signal::RemoteAddressGone) => {
                (Inactive(Reason::NoRemoteAddress), Failed)
            }
            (Inactive(_), Signal::RemoteAddressGone) => {
                (Inactive(Reason::NoRemoteAddress), Transition::None)
            }
            (Unconfirmed | Active | PotentiallyFailed, Signal::LocalAddressGone) => {
                (Inactive(Reason::NoLocalAddress), Failed)
            }
            // That it does not work is known.
            (Inactive(_), Signal::LocalAddressGone) => {
                (Inactive(Reason::NoLocalAddress), Transition::None)
            }
            // Only a heartbeat proves an address.
            (Unconfirmed | Inactive(Reason::NeverConfirmed), Signal::HeartbeatAck) => {
                (Active, Confirmed)
            }
            (PotentiallyFailed, Signal::HeartbeatAck | Signal::DataAck | Signal::Chosen) => {
                (Active, Cleared)
            }
            (
                Inactive(Reason::Timeouts | Reason::Refused),
                Signal::HeartbeatAck | Signal::DataAck,
            ) => (Active, Restored),
            _ => stays,
        }
    }
}

#[cfg(test)]
mod tests;
