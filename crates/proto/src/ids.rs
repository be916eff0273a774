//! Identifiers and serial numbers (RFC 1982).

use core::fmt;

/// Names an association within the owner's collection; chosen by the endpoint, never sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AssociationId(pub u32);

impl fmt::Display for AssociationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "association{}", self.0)
    }
}

/// Names a claim of what the peer sends on a stream ([`Association::claim_stream`](crate::Association::claim_stream)). It is not
/// given again within an association.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamClaim(pub(crate) u32);

/// Names a path within an association. The handshake settles the table of paths; from then on an id means the same path
/// while the association lives. A peer that restarts begins a new table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PathId(pub u8);

impl PathId {
    /// Position of the path in the association's path table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PathId {
    /// As in `path0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path{}", self.0)
    }
}

macro_rules! serial_number {
    ($(#[$doc:meta])* $name:ident, $int:ty, $signed:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(pub $int);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl $name {
            /// The number after this one.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.wrapping_add(1))
            }

            /// The number before this one.
            #[must_use]
            pub const fn previous(self) -> Self {
                Self(self.0.wrapping_sub(1))
            }

            /// The number `n` steps after this one.
            #[must_use]
            pub const fn plus(self, n: $int) -> Self {
                Self(self.0.wrapping_add(n))
            }

            /// Steps from `base` forward to this number.
            pub const fn distance_from(self, base: Self) -> $int {
                self.0.wrapping_sub(base.0)
            }

            /// Whether this number comes before `other` (RFC 1982 section 3.2).
            pub const fn is_before(self, other: Self) -> bool {
                (self.0.wrapping_sub(other.0) as $signed) < 0
            }

            /// Whether this number comes after `other`.
            pub const fn is_after(self, other: Self) -> bool {
                other.is_before(self)
            }

            /// Whether this number is `other` or comes before it.
            pub const fn is_at_or_before(self, other: Self) -> bool {
                !other.is_before(self)
            }
        }
    };
}

serial_number!(
    /// Transmission sequence number (RFC 9260 section 1.6).
    Tsn, u32, i32
);
serial_number!(
    /// Stream sequence number (RFC 9260 section 1.6).
    Ssn, u16, i16
);
serial_number!(
    /// Message identifier (RFC 8260 section 2.1).
    Mid, u32, i32
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_holds_across_the_wrap() {
        assert!(Tsn(u32::MAX).is_before(Tsn(0)));
        assert!(Tsn(0).is_after(Tsn(u32::MAX)));
        assert!(Tsn(7).is_at_or_before(Tsn(7)));
        assert_eq!(Tsn(2).distance_from(Tsn(u32::MAX)), 3);
        assert_eq!(Tsn(u32::MAX).next(), Tsn(0));
        assert!(Ssn(65535).is_before(Ssn(3)));
    }
}
