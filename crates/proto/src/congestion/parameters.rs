//! Questions about a path that its congestion control asks.

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
