//! Verification tags that tell which shard of a host an association lives in, and tell nothing to anybody else.
//!
//! A tag is a random number of which the residue modulo the number of shards is the shard, sent through a keyed
//! permutation of the 32-bit numbers (a Feistel network of four rounds over SipHash-2-4). Whoever has the key finds the
//! shard of any packet; without it tags are as unpredictable as RFC 9260 section 5.3.1 demands, and so are the shards.

use rand_core::Rng;

/// Rounds of the Feistel network; four make a strong pseudorandom permutation of a pseudorandom function (Luby, Rackoff
/// 1988).
const ROUNDS: u64 = 4;

/// The shards of a host, and which of them draws tags.
///
/// All shards of a host have the same key and count. With one shard, the default, tags are plain random numbers and the
/// key is not used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TagShard {
    /// Position of this shard, less than `count`.
    index: u16,
    count: u16,
    key: [u64; 2],
}

impl TagShard {
    /// The only shard.
    pub const SINGLE: Self = Self { index: 0, count: 1, key: [0; 2] };

    /// Shard `index` of `count`; `None` if there is no such shard.
    ///
    /// `key` must be secret, drawn from a cryptographically secure generator, and the same for all shards.
    pub fn new(index: u16, count: u16, key: [u64; 2]) -> Option<Self> {
        (index < count).then_some(Self { index, count, key })
    }

    /// Position of this shard.
    pub fn index(&self) -> u16 {
        self.index
    }

    /// Number of shards.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// The shard whose association has this tag, whichever shard asks.
    pub fn shard_of(&self, tag: u32) -> u16 {
        if self.count == 1 {
            return 0;
        }
        (self.open(tag) % u32::from(self.count)) as u16
    }

    /// A random tag of this shard, not 0, that is not `taken`.
    pub(super) fn draw(&self, rng: &mut dyn Rng, taken: impl Fn(u32) -> bool) -> u32 {
        let step = u32::from(self.count);
        // Numbers of incomplete last rows would favour some shards.
        let rows = ((1u64 << 32) / u64::from(step)) as u32;
        let mut number = rng.next_u32();
        loop {
            let tag = match self.count {
                1 => number,
                _ => self.seal(number % rows * step + u32::from(self.index)),
            };
            if tag != 0 && !taken(tag) {
                return tag;
            }
            // Not drawn again, so that a generator that repeats itself cannot keep us here.
            number = number.wrapping_add(1);
        }
    }

    fn seal(&self, number: u32) -> u32 {
        let (mut left, mut right) = halves(number);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.round(round, right));
        }
        join(left, right)
    }

    fn open(&self, tag: u32) -> u32 {
        let (mut left, mut right) = halves(tag);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.round(round, left), left);
        }
        join(left, right)
    }

    fn round(&self, round: u64, half: u16) -> u16 {
        siphash(self.key, round << 16 | u64::from(half)) as u16
    }
}

impl Default for TagShard {
    fn default() -> Self {
        Self::SINGLE
    }
}

/// Without the key.
impl core::fmt::Debug for TagShard {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "TagShard({} of {})", self.index, self.count)
    }
}

fn halves(number: u32) -> (u16, u16) {
    ((number >> 16) as u16, number as u16)
}

fn join(left: u16, right: u16) -> u32 {
    u32::from(left) << 16 | u32::from(right)
}

/// SipHash-2-4 of the eight bytes of `message`, little endian (Aumasson, Bernstein 2012).
fn siphash(key: [u64; 2], message: u64) -> u64 {
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    // The last block holds the length in its highest byte.
    for block in [message, 8 << 56] {
        v[3] ^= block;
        sip_rounds(&mut v, 2);
        v[0] ^= block;
    }
    v[2] ^= 0xff;
    sip_rounds(&mut v, 4);
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn sip_rounds(v: &mut [u64; 4], count: u32) {
    for _ in 0..count {
        v[0] = v[0].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[2] = v[2].rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec;

    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    const KEY: [u64; 2] = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];

    fn shard(index: u16, count: u16) -> TagShard {
        TagShard::new(index, count, KEY).unwrap()
    }

    #[test]
    fn the_hash_is_siphash() {
        // Vector 8 of the reference implementation: bytes 0 to 7.
        assert_eq!(siphash(KEY, 0x0706_0504_0302_0100), 0x93f5_f579_9a93_2462);
    }

    #[test]
    fn shards_are_recovered_and_tags_differ() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for count in [1, 2, 3, 7, 64, u16::MAX] {
            let mut drawn = BTreeSet::new();
            for index in [0, 1, count / 2, count - 1].into_iter().filter(|i| *i < count) {
                for _ in 0..500 {
                    let tag = shard(index, count).draw(&mut rng, |tag| drawn.contains(&tag));
                    assert_ne!(tag, 0);
                    assert!(drawn.insert(tag));
                    assert_eq!(shard(0, count).shard_of(tag), index, "{count} shards");
                }
            }
        }
        assert_eq!(TagShard::new(3, 3, KEY), None);
        assert_eq!(TagShard::new(0, 0, KEY), None);
    }

    #[test]
    fn a_tag_that_is_taken_or_zero_is_passed_over() {
        // The number whose tag would be 0 belongs to one of the shards.
        let zero = shard(0, 4).open(0);
        let unlucky = shard((zero % 4) as u16, 4);
        /// A generator that always says the same.
        struct Fixed(u32);
        impl rand_core::TryRng for Fixed {
            type Error = core::convert::Infallible;
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok(self.0)
            }
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                Ok(self.0.into())
            }
            fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
                out.fill(self.0 as u8);
                Ok(())
            }
        }
        let mut rng = Fixed(zero / 4);
        let first = unlucky.draw(&mut rng, |_| false);
        let second = unlucky.draw(&mut rng, |tag| tag == first);
        assert!(first != 0 && second != 0 && first != second);
        assert_eq!(unlucky.shard_of(second), unlucky.index());
        assert_eq!(TagShard::SINGLE.draw(&mut Fixed(0), |_| false), 1);
    }

    #[test]
    fn the_permutation_is_one_and_depends_on_the_key() {
        let mut seen = vec![0u64; 1 << 10];
        for number in 0..1u32 << 16 {
            let spread = number.wrapping_mul(0x9E37_79B1);
            assert_eq!(shard(0, 2).open(shard(0, 2).seal(spread)), spread);
            seen[(shard(0, 2).seal(number) >> 22) as usize] += 1;
        }
        // Neighbours are spread over all the space: 64 in each of 1024 parts, give or take.
        assert!(seen.iter().all(|count| (20..130).contains(count)));
        // With another key nothing is found: half of the shards are right by chance.
        let other = TagShard::new(0, 2, [1, 2]).unwrap();
        let right = (0..4096).filter(|n| other.shard_of(shard(0, 2).seal(2 * n)) == 0).count();
        assert!((1850..2250).contains(&right), "{right}");
    }
}
