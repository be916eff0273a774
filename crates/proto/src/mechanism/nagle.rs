//! Nagle's algorithm (RFC 896, RFC 1122 section 4.2.3.4), for messages: what does not fill a packet waits until everything that was
//! sent is acknowledged. The messages that come meanwhile share a packet.
//!
//! Silly-window avoidance, of which that RFC makes it a part, belongs to the peer's receive window
//! (`Transmitter::peer_window_admits`).

/// What waits to be sent for the first time, and what was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waiting {
    /// Messages that wait.
    pub(crate) messages: u64,
    /// Their bytes of user data.
    pub(crate) bytes: u64,
    /// A part of a message was sent.
    pub(crate) has_begun: bool,
    /// Chunks that were sent and are not acknowledged.
    pub(crate) unacknowledged: u32,
}

/// Whether it waits on. A packet carries one chunk with `full` bytes of user data, or several, each of which has a header of
/// `header` bytes.
pub(crate) fn waits(waiting: Waiting, full: u32, header: u32) -> bool {
    let headers = waiting.messages.saturating_sub(1).saturating_mul(header.into());
    let fills = waiting.bytes.saturating_add(headers) >= full.into();
    // The rest of a message that was cut would keep the whole of it waiting at the peer.
    waiting.unacknowledged > 0 && !fills && !waiting.has_begun
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: Waiting = Waiting { messages: 1, bytes: 100, has_begun: false, unacknowledged: 1 };

    #[test]
    fn little_waits_for_what_is_unacknowledged() {
        assert!(waits(FEW, 1000, 16));
        assert!(!waits(Waiting { unacknowledged: 0, ..FEW }, 1000, 16));
    }

    #[test]
    fn a_full_packet_waits_for_nothing() {
        for (messages, bytes, expected) in
            [(1, 999, true), (1, 1000, false), (2, 983, true), (2, 984, false), (10, 860, false)]
        {
            let waiting = Waiting { messages, bytes, ..FEW };
            assert_eq!(waits(waiting, 1000, 16), expected, "{messages} with {bytes} bytes");
        }
    }

    #[test]
    fn the_rest_of_a_message_does_not_wait() {
        assert!(!waits(Waiting { has_begun: true, ..FEW }, 1000, 16));
    }
}
