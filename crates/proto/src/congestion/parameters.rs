//! Parameters of a path for its congestion control.

use super::path_fill;
use crate::config::plug_in::Parameters;

impl Parameters {
    /// Whether a window of `cwnd` admits no more than one packet, whatever it holds (RFC 9260 section 7.2.3).
    pub(crate) fn one_packet(&self, cwnd: u64) -> bool {
        cwnd <= self.largest_chunk
    }

    /// Whether `flight` uses up a window of `cwnd`, so that more could have been sent with a larger one. A path that waits until
    /// it can send several packets in a row counts as full.
    pub fn is_full(&self, cwnd: u64, flight: u64) -> bool {
        let gathered = path_fill::gathered(self.fill, flight, self.unit);
        flight.saturating_add(gathered) >= cwnd || (flight > 0 && self.one_packet(cwnd))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fills_a_window() {
        let p = Parameters::plain(1500, 6000);
        for (what, cwnd, flight, expected) in [
            ("less than the window", 9000, 8999, false),
            ("all of it", 9000, 9000, true),
            ("a window of one packet, and a small one in flight", 1500, 100, true),
            ("a window of one packet, and nothing in flight", 1500, 0, false),
            ("no window at all", 0, 0, true),
        ] {
            assert_eq!(p.is_full(cwnd, flight), expected, "{what}");
        }
    }
}
