//! Message authentication codes: HMAC (RFC 2104) with SHA-1 or SHA-256.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::Sha256;

/// An algorithm with its identifier (RFC 4895 section 3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HmacAlgorithm {
    /// Mandatory.
    Sha1,
    /// Preferred by this side.
    Sha256,
}

/// Length of the longest code in bytes.
pub(super) const MAX_CODE: usize = 32;

/// A code under construction, or, before any input, a prepared key.
#[derive(Clone)]
pub(super) enum Code {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
}

impl HmacAlgorithm {
    /// The accepted algorithms, the preferred one first.
    pub(crate) const ALL: [Self; 2] = [Self::Sha256, Self::Sha1];

    /// The algorithm with this identifier.
    pub(crate) fn of_id(id: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.id() == id)
    }

    /// Its identifier.
    pub(crate) fn id(self) -> u16 {
        match self {
            Self::Sha1 => 1,
            Self::Sha256 => 3,
        }
    }

    /// Length of its codes in bytes; both are multiples of four, so that AUTH needs no padding.
    pub(crate) fn code_len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

impl Code {
    /// `None` for an invalid key, which does not occur.
    pub(super) fn new(algorithm: HmacAlgorithm, key: &[u8]) -> Option<Self> {
        match algorithm {
            HmacAlgorithm::Sha1 => Hmac::new_from_slice(key).ok().map(Self::Sha1),
            HmacAlgorithm::Sha256 => Hmac::new_from_slice(key).ok().map(Self::Sha256),
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hmac) => hmac.update(bytes),
            Self::Sha256(hmac) => hmac.update(bytes),
        }
    }

    /// The code, and its length in bytes.
    pub(super) fn finish(self) -> ([u8; MAX_CODE], usize) {
        let mut code = [0; MAX_CODE];
        let len = match self {
            Self::Sha1(hmac) => put(&mut code, &hmac.finalize().into_bytes()),
            Self::Sha256(hmac) => put(&mut code, &hmac.finalize().into_bytes()),
        };
        (code, len)
    }

    /// Whether the codes are equal. The comparison takes constant time.
    pub(super) fn is(self, code: &[u8]) -> bool {
        match self {
            Self::Sha1(hmac) => hmac.verify_slice(code).is_ok(),
            Self::Sha256(hmac) => hmac.verify_slice(code).is_ok(),
        }
    }
}

fn put(into: &mut [u8; MAX_CODE], code: &[u8]) -> usize {
    into.iter_mut().zip(code).for_each(|(to, from)| *to = *from);
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2202 section 3 and RFC 4231 section 4.3, test case 2 of each.
    const SHA1: [u8; 20] = [
        0xef, 0xfc, 0xdf, 0x6a, 0xe5, 0xeb, 0x2f, 0xa2, 0xd2, 0x74, 0x16, 0xd5, 0xf1, 0x84, 0xdf,
        0x9c, 0x25, 0x9a, 0x7c, 0x79,
    ];
    const SHA256: [u8; 32] = [
        0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75,
        0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27, 0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec,
        0x38, 0x43,
    ];

    #[test]
    fn codes_are_those_of_the_standards() {
        for (algorithm, expected) in
            [(HmacAlgorithm::Sha1, &SHA1[..]), (HmacAlgorithm::Sha256, &SHA256[..])]
        {
            let mut code = Code::new(algorithm, b"Jefe").unwrap();
            code.update(b"what do ya want ");
            code.update(b"for nothing?");
            let (bytes, len) = code.clone().finish();
            assert_eq!((&bytes[..len], len), (expected, algorithm.code_len()));
            assert!(code.clone().is(expected));
            assert!(!code.clone().is(&expected[1..]), "too short");
            let mut wrong = expected.to_vec();
            wrong[len - 1] ^= 1;
            assert!(!code.is(&wrong));
        }
    }

    #[test]
    fn identifiers_are_those_of_the_registry() {
        let known: std::vec::Vec<u16> =
            (0..10).filter(|id| HmacAlgorithm::of_id(*id).is_some()).collect();
        assert_eq!(known, [1, 3]);
    }
}
