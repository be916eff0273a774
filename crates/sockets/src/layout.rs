//! Reading and writing of C structures: numbers in the order of this machine, at fixed places.

/// Reads numbers from the bytes of a structure.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// So many bytes from an offset; `None` beyond the end.
    pub fn bytes<const N: usize>(self, offset: usize) -> Option<[u8; N]> {
        self.0.get(offset..offset.checked_add(N)?)?.try_into().ok()
    }

    /// All that follows an offset.
    pub fn rest(self, offset: usize) -> &'a [u8] {
        self.0.get(offset..).unwrap_or_default()
    }

    /// A byte.
    pub fn u8(self, offset: usize) -> Option<u8> {
        self.0.get(offset).copied()
    }

    /// A number of 16 bits.
    pub fn u16(self, offset: usize) -> Option<u16> {
        self.bytes(offset).map(u16::from_ne_bytes)
    }

    /// A number of 32 bits.
    pub fn u32(self, offset: usize) -> Option<u32> {
        self.bytes(offset).map(u32::from_ne_bytes)
    }

    /// A number of 32 bits with a sign.
    pub fn i32(self, offset: usize) -> Option<i32> {
        self.bytes(offset).map(i32::from_ne_bytes)
    }

    /// A number of 64 bits.
    pub fn u64(self, offset: usize) -> Option<u64> {
        self.bytes(offset).map(u64::from_ne_bytes)
    }
}

/// Builds the bytes of a structure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Building(pub Vec<u8>);

impl Building {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends a byte.
    #[must_use]
    pub fn u8(self, value: u8) -> Self {
        self.bytes(&[value])
    }

    /// Appends a number of 16 bits.
    #[must_use]
    pub fn u16(self, value: u16) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    /// Appends a number of 32 bits.
    #[must_use]
    pub fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    /// Appends a number of 32 bits with a sign.
    #[must_use]
    pub fn i32(self, value: i32) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    /// Appends a number of 64 bits.
    #[must_use]
    pub fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    /// Appends zeros up to a size, or to an offset of the next field.
    #[must_use]
    pub fn padded(mut self, size: usize) -> Self {
        if self.0.len() < size {
            self.0.resize(size, 0);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_built_is_read() {
        let built = Building::new().u8(1).padded(4).u32(7).i32(-2).u16(9).u64(11).0;
        let fields = Fields(&built);
        assert_eq!(fields.u8(0), Some(1));
        assert_eq!(fields.u32(4), Some(7));
        assert_eq!(fields.i32(8), Some(-2));
        assert_eq!(fields.u16(12), Some(9));
        assert_eq!(fields.u64(14), Some(11));
        assert_eq!(fields.u32(19), None, "beyond the end");
        assert_eq!(fields.u32(usize::MAX), None);
        assert!(fields.rest(100).is_empty());
    }
}
