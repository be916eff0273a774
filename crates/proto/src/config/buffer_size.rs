//! Sizes of buffers: `dreibholz-asymmetric` section IV-A.

use polypath_units::{BitRate, ByteCount};

use super::{AssociationConfig, BufferSize};
use crate::Duration;

/// Initial size of a self-sizing buffer: enough for the first round trips of slow start.
const FIRST_BYTES: u64 = 64 << 10;
/// Packets that it holds, where they are larger than usual: an initial congestion window (RFC 6928). A buffer of fewer than three would
/// have one packet on its way at a time, and each would wait for the delayed SACK of the one before.
const FIRST_PACKETS: u64 = 10;

/// Bounds of a buffer in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BufferBounds {
    /// Initial size.
    pub(crate) first: u64,
    /// Size to which it may grow.
    pub(crate) most: u64,
}

impl BufferSize {
    /// The papers' minimum buffer (B_min, `dreibholz-asymmetric` section IV-A) for paths of which the slowest has these
    /// times and which carry `bandwidth` together; `None` for sizes without a formula.
    ///
    /// To cover fast retransmissions it holds 2 max(RTT) sum(bandwidth), to cover timeouts
    /// (3 max(RTT) + max(RTO)) sum(bandwidth).
    pub fn least(
        self,
        max_rtt: Duration,
        max_rto: Duration,
        bandwidth: BitRate,
    ) -> Option<ByteCount> {
        match self {
            Self::Bytes | Self::Infinite => None,
            Self::AutoFast => Some(bandwidth.bytes_in(max_rtt * 2)),
            Self::AutoTimeout => Some(bandwidth.bytes_in(max_rtt * 3 + max_rto)),
        }
    }

    fn bounds(self, configured: u64, infinite: u64, mtu_bytes: u16) -> BufferBounds {
        match self {
            Self::Bytes => BufferBounds { first: configured, most: configured },
            Self::Infinite => BufferBounds { first: infinite, most: infinite },
            Self::AutoFast | Self::AutoTimeout => {
                let first = FIRST_BYTES.max(FIRST_PACKETS * u64::from(mtu_bytes));
                BufferBounds { first: configured.min(first), most: configured }
            }
        }
    }
}

impl AssociationConfig {
    pub(crate) fn send_buffer(&self) -> BufferBounds {
        self.policies.send_buffer.bounds(self.send_buffer_bytes, u64::MAX, self.mtu_bytes)
    }

    /// The size of the receive buffer fits the 32 bits of an advertised window.
    pub(crate) fn receive_buffer(&self) -> BufferBounds {
        let (configured, infinite) = (self.receive_buffer_bytes.into(), u32::MAX.into());
        self.policies.receive_buffer.bounds(configured, infinite, self.mtu_bytes)
    }

    /// The window that the handshake advertises.
    pub(crate) fn first_window(&self) -> u32 {
        u32::try_from(self.receive_buffer().first).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;

    #[test]
    fn the_papers_example() {
        // 100/100 Mbit/s, RTO 1 s, RTT 110 ms: about 32 MiB.
        let least = |size: BufferSize| {
            let (rtt, rto) = (Duration::from_millis(110), Duration::from_secs(1));
            size.least(rtt, rto, BitRate::from_mbit(200)).map(ByteCount::as_bytes)
        };
        assert_eq!(least(BufferSize::AutoTimeout), Some(33_250_000));
        assert_eq!(least(BufferSize::AutoFast), Some(5_500_000));
        assert_eq!((least(BufferSize::Bytes), least(BufferSize::Infinite)), (None, None));
    }

    #[test]
    fn bounds() {
        let mut config = AssociationConfig { receive_buffer_bytes: 1 << 20, ..Default::default() };
        let mut first = |size, bytes| {
            config.policies.receive_buffer = size;
            config.receive_buffer_bytes = bytes;
            config.first_window()
        };
        assert_eq!(first(BufferSize::Bytes, 1 << 20), 1 << 20);
        assert_eq!(first(BufferSize::AutoFast, 1 << 20), 64 << 10);
        assert_eq!(first(BufferSize::AutoTimeout, 9000), 9000);
        assert_eq!(first(BufferSize::Infinite, 9000), u32::MAX);
        assert_eq!(config.send_buffer().most, config.send_buffer_bytes);
    }

    #[test]
    fn a_buffer_begins_with_several_packets_of_any_size() {
        for (mtu_bytes, first) in
            [(576, 64 << 10), (1500, 64 << 10), (9000, 90_000), (65_000, 650_000)]
        {
            let config = AssociationConfig {
                mtu_bytes,
                receive_buffer_bytes: 1 << 20,
                ..AssociationConfig::with_preset(Preset::Recommended)
            };
            assert_eq!(config.first_window(), first, "packets of {mtu_bytes} bytes");
        }
    }
}
