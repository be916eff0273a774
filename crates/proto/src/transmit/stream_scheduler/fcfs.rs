//! First come, first served (RFC 8260 section 3.1; RFC 6458 `SCTP_SS_FCFS`; the default of usrsctp and Linux).
//!
//! All messages wait in one queue, whatever their stream.

/// The queue.
pub(super) const LANE: u16 = 0;
