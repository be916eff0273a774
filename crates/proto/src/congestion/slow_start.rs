//! Slow start: how much of what a SACK acknowledges the window may grow by (RFC 9260 section 7.2.1).

use super::burst;
use crate::config::SlowStart;

impl SlowStart {
    /// Bytes by which a SACK for `acked_bytes` lets a window grow.
    pub(crate) fn allowance(self, acked_bytes: u64, unit: u64) -> u64 {
        let most = match self {
            Self::PerSack => unit,
            Self::PerSecondPacket => {
                let sacks = 1 + burst::extra_bursts(acked_bytes, unit);
                unit.saturating_mul(sacks)
            }
        };
        acked_bytes.min(most)
    }
}
