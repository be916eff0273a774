//! Space of chunks in the send buffer.

use core::ops::{AddAssign, SubAssign};

/// Space that chunks occupy in the send buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct BufferBytes {
    /// Bytes of user data.
    pub(crate) user_bytes: u64,
    /// Bytes counted against the limit of the buffer, which counts more than the user data of tiny messages.
    pub(crate) cost: u64,
}

impl AddAssign for BufferBytes {
    fn add_assign(&mut self, other: Self) {
        self.user_bytes += other.user_bytes;
        self.cost += other.cost;
    }
}

impl SubAssign for BufferBytes {
    fn sub_assign(&mut self, other: Self) {
        self.user_bytes -= other.user_bytes;
        self.cost -= other.cost;
    }
}
