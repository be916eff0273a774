//! The state cookie (RFC 9260 sections 5.1.3 to 5.1.5): all that is known of a handshake, kept by the peer.
//!
//! Layout, numbers with the most significant byte first; fields follow each other without gaps:
//!
//! | bytes | content |
//! | --- | --- |
//! | 1 | version, [`VERSION`] |
//! | 8 | creation time in nanoseconds of the endpoint's clock |
//! | 8 | life in nanoseconds |
//! | 4 + 4 | local tag, peer's tag |
//! | 4 + 4 | local tie-tag, peer's tie-tag (0 when there was no association) |
//! | 4 + 4 | local initial TSN, peer's initial TSN |
//! | 4 | peer's receive window |
//! | 2 + 2 | outbound and inbound streams, as agreed |
//! | 2 + 2 | local port, peer's port |
//! | 4 | the peer's capabilities |
//! | 1, 2 + 2 | encapsulation: 0, or 1 with local and peer's UDP port |
//! | 1 + 4 or 16 | local address: 4 or 6, then the address |
//! | 1 | number of addresses of the peer |
//! | 1 + 4 or 16, each | the peer's addresses, first the one that the INIT ACK went to |
//! | 4 | what the peer's program tells this side's (adaptation layer indication), where [`HAS_ADAPTATION`] is among the capabilities |
//! | 1 | which of the addresses the peer would like to be primary, where [`HAS_PREFERENCE`] is among the capabilities |
//! | rest | nothing, or what this side and the peer told of authentication (`AuthOffer::append_to`) |
//! | 32 | BLAKE3 of everything before it, keyed with a secret |
//!
//! The tags of an existing association are never in it, only random numbers that stand for them (RFC 5062 section 3).
//!
//! Within its life a cookie can be echoed again. While the association exists, that changes nothing; after its end, the
//! endpoint [remembers](super::spent_tags) that its tag is spent.

use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use rand_core::Rng;

use crate::association::handshake::cookie::{Cookie, TieTags};
use crate::extension::auth::{AuthOffer, AuthPair};
use crate::types::address_scope::is_unicast;
use crate::types::{AddressList, Capabilities, MAX_ADDRESSES};
use crate::{Duration, Encapsulation, Instant};

/// Version of the layout; a cookie lives no longer than the process that made it, so there is only one at a time.
const VERSION: u8 = 1;
/// The same with a [`CodeLength::Short`].
const SHORT_VERSION: u8 = 2;
/// Length of the secret and of the authentication code in bytes.
const MAC_LEN: usize = 32;
/// Length of the authentication code if space is scarce. It is only verified here, so 128 bits are enough.
const SHORT_MAC_LEN: usize = 16;
/// Length of the longest cookie in bytes.
const MAX_LEN: usize = 57 + 5 + 17 + 1 + 4 + 1 + 17 * MAX_ADDRESSES + MAX_AUTH_LEN + MAC_LEN;
/// Length of the longest offers of both sides.
const MAX_AUTH_LEN: usize = 2 * AuthOffer::MAX_COOKIE_BYTES;

/// Which authentication code a cookie gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CodeLength {
    /// Of 256 bits.
    Long,
    /// Of 128 bits, for the answer to an INIT that is so small that it would be too large otherwise.
    Short,
}

/// Why a cookie was not read: not one of ours, or no longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CookieError {
    /// The authentication code is wrong, or its secret is no longer known.
    NotAuthentic,
    /// Authentic, but not of the layout above.
    Malformed,
}

/// The secrets that cookies are signed with: one in use, and the one before it while its cookies live.
pub(super) struct CookieSecrets {
    current: Secret,
    previous: Option<Previous>,
    /// How long a secret signs.
    secret_life: Duration,
    /// Longest life of a cookie.
    max_cookie_life: Duration,
}

struct Secret {
    /// Only this endpoint computes codes with it. Keyed BLAKE3 is as strong as HMAC-SHA-256 and costs a fifth of it on
    /// processors without instructions for SHA.
    key: [u8; MAC_LEN],
    /// When it began to sign.
    since: Instant,
}

struct Previous {
    secret: Secret,
    /// When the last cookie that it signed expires.
    until: Instant,
}

/// Among the capabilities in a cookie: it has an adaptation layer indication.
const HAS_ADAPTATION: u32 = 1 << 31;
/// The same of a preferred address.
const HAS_PREFERENCE: u32 = 1 << 30;

impl Cookie {
    /// How long ago the cookie expired; `None` while it is good.
    pub(super) fn staleness(&self, now: Instant) -> Option<Duration> {
        let age = now.since(self.created);
        (age > self.life).then(|| age - self.life)
    }

    fn append_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.created.as_nanos().to_be_bytes());
        out.extend_from_slice(&self.life.as_nanos().to_be_bytes());
        for number in [
            self.local_tag,
            self.peer_tag,
            self.tie_tags.local,
            self.tie_tags.peer,
            self.local_initial_tsn,
            self.peer_initial_tsn,
            self.a_rwnd,
        ] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        for number in
            [self.outbound_streams, self.inbound_streams, self.local_port, self.remote_port]
        {
            out.extend_from_slice(&number.to_be_bytes());
        }
        let addresses = &self.peer_addresses[..self.peer_addresses.len().min(MAX_ADDRESSES)];
        let preferred = addresses.iter().position(|address| Some(*address) == self.preferred);
        let mut marked = if self.adaptation.is_some() { HAS_ADAPTATION } else { 0 };
        marked |= if preferred.is_some() { HAS_PREFERENCE } else { 0 };
        out.extend_from_slice(&(self.capabilities.bits() | marked).to_be_bytes());
        match self.encapsulation {
            Encapsulation::None => out.push(0),
            Encapsulation::Udp { local_port, remote_port } => {
                out.push(1);
                out.extend_from_slice(&local_port.to_be_bytes());
                out.extend_from_slice(&remote_port.to_be_bytes());
            }
            Encapsulation::LowerLayer => out.push(2),
        }
        append_address(out, self.local_address);
        out.push(addresses.len() as u8);
        addresses.iter().for_each(|address| append_address(out, *address));
        out.extend(self.adaptation.iter().flat_map(|code| code.to_be_bytes()));
        out.extend(preferred.map(|place| place as u8));
        if let Some(AuthPair { own, peer }) = &self.auth {
            own.append_to(out);
            peer.append_to(out);
        }
    }

    /// Reads the content of a cookie, which is input from outside even if it is authentic.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        if !matches!(reader.u8()?, VERSION | SHORT_VERSION) {
            return None;
        }
        let (marked, place);
        // The fields of a struct expression are evaluated in the order in which they are written.
        let mut cookie = Self {
            created: Instant::from_nanos(reader.u64()?),
            life: Duration::from_nanos(reader.u64()?),
            local_tag: reader.u32().filter(|tag| *tag != 0)?,
            peer_tag: reader.u32().filter(|tag| *tag != 0)?,
            tie_tags: TieTags { local: reader.u32()?, peer: reader.u32()? },
            local_initial_tsn: reader.u32()?,
            peer_initial_tsn: reader.u32()?,
            a_rwnd: reader.u32()?,
            outbound_streams: reader.u16().filter(|streams| *streams != 0)?,
            inbound_streams: reader.u16().filter(|streams| *streams != 0)?,
            local_port: reader.u16()?,
            remote_port: reader.u16()?,
            capabilities: {
                let bits = reader.u32()?;
                marked = bits & (HAS_ADAPTATION | HAS_PREFERENCE);
                Capabilities::from_bits(bits & !marked)?
            },
            encapsulation: reader.encapsulation()?,
            local_address: reader.address()?,
            peer_addresses: reader.addresses()?,
            adaptation: if marked & HAS_ADAPTATION != 0 { Some(reader.u32()?) } else { None },
            preferred: {
                place = if marked & HAS_PREFERENCE != 0 { Some(reader.u8()?) } else { None };
                None
            },
            auth: reader.auth()?,
        };
        if let Some(place) = place {
            cookie.preferred = Some(*cookie.peer_addresses.get(usize::from(place))?);
        }
        reader.0.is_empty().then_some(cookie)
    }
}

impl CookieSecrets {
    /// Draws the first secret. A secret signs for `secret_life`, but at least as long as a cookie can live, so that
    /// one secret kept back is enough.
    pub(super) fn new(
        secret_life: Duration,
        max_cookie_life: Duration,
        now: Instant,
        rng: &mut dyn Rng,
    ) -> Self {
        Self {
            current: Secret::draw(now, rng),
            previous: None,
            secret_life: secret_life.max(max_cookie_life),
            max_cookie_life,
        }
    }

    /// The cookie as sent.
    pub(super) fn seal(
        &mut self,
        cookie: &Cookie,
        code: CodeLength,
        now: Instant,
        rng: &mut dyn Rng,
    ) -> Vec<u8> {
        self.rotate(now, rng);
        let mut out = Vec::with_capacity(MAX_LEN.min(160));
        let (version, len) = match code {
            CodeLength::Long => (VERSION, MAC_LEN),
            CodeLength::Short => (SHORT_VERSION, SHORT_MAC_LEN),
        };
        out.push(version);
        cookie.append_to(&mut out);
        let mac = self.current.code_of(&out);
        out.extend_from_slice(&mac.as_bytes()[..len]);
        out
    }

    /// Authenticates a cookie and reads it. Says nothing about its age.
    pub(super) fn open(&self, bytes: &[u8], now: Instant) -> Result<Cookie, CookieError> {
        if bytes.len() > MAX_LEN {
            return Err(CookieError::NotAuthentic);
        }
        // The version is part of what is authenticated: a long code cannot be cut to a short one.
        let len = if bytes.first() == Some(&SHORT_VERSION) { SHORT_MAC_LEN } else { MAC_LEN };
        let content_len = bytes.len().checked_sub(len).ok_or(CookieError::NotAuthentic)?;
        let (content, mac) = bytes.split_at(content_len);
        let secret = self.secret_for(content, now).ok_or(CookieError::NotAuthentic)?;
        // The comparison takes the same time wherever the first difference is: it is that of `blake3::Hash`.
        if first_bytes(secret.code_of(content).as_bytes(), len) != first_bytes(mac, len) {
            return Err(CookieError::NotAuthentic);
        }
        Cookie::read(content).ok_or(CookieError::Malformed)
    }

    /// The secret that was in use when the cookie says that it was made; the cookie is not trusted with more than that
    /// choice.
    fn secret_for(&self, content: &[u8], now: Instant) -> Option<&Secret> {
        let mut reader = Reader(content);
        reader.u8()?;
        let created = Instant::from_nanos(reader.u64()?);
        if created >= self.current.since {
            return Some(&self.current);
        }
        let previous = self.previous.as_ref()?;
        (created >= previous.secret.since && now <= previous.until).then_some(&previous.secret)
    }

    fn rotate(&mut self, now: Instant, rng: &mut dyn Rng) {
        if now.since(self.current.since) < self.secret_life {
            return;
        }
        let secret = core::mem::replace(&mut self.current, Secret::draw(now, rng));
        self.previous = Some(Previous { secret, until: now + self.max_cookie_life });
    }
}

/// So many bytes of a code, and zeros.
fn first_bytes(code: &[u8], len: usize) -> blake3::Hash {
    let mut bytes = [0; MAC_LEN];
    bytes[..len].copy_from_slice(&code[..len]);
    bytes.into()
}

impl fmt::Debug for CookieSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CookieSecrets").field("since", &self.current.since).finish_non_exhaustive()
    }
}

impl Secret {
    fn draw(now: Instant, rng: &mut dyn Rng) -> Self {
        let mut key = [0; MAC_LEN];
        rng.fill_bytes(&mut key);
        Self { key, since: now }
    }

    fn code_of(&self, content: &[u8]) -> blake3::Hash {
        blake3::keyed_hash(&self.key, content)
    }
}

fn append_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            out.push(4);
            out.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            out.push(6);
            out.extend_from_slice(&address.octets());
        }
    }
}

/// Takes fields from the front; `None` if there are too few bytes, or a field is invalid.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_be_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn encapsulation(&mut self) -> Option<Encapsulation> {
        match self.u8()? {
            0 => Some(Encapsulation::None),
            1 => Some(Encapsulation::Udp { local_port: self.u16()?, remote_port: self.u16()? }),
            2 => Some(Encapsulation::LowerLayer),
            _ => None,
        }
    }

    fn address(&mut self) -> Option<IpAddr> {
        let address = match self.u8()? {
            4 => IpAddr::from(self.take::<4>()?),
            6 => IpAddr::from(self.take::<16>()?),
            _ => return None,
        };
        is_unicast(address).then_some(address)
    }

    /// What is left: nothing, or the offers of both sides.
    fn auth(&mut self) -> Option<Option<AuthPair>> {
        if self.0.is_empty() {
            return Some(None);
        }
        let (own, peer) = (AuthOffer::read(&mut self.0)?, AuthOffer::read(&mut self.0)?);
        Some(Some(AuthPair { own, peer }))
    }

    /// The number of addresses, then each; at least one, none twice.
    fn addresses(&mut self) -> Option<AddressList> {
        let count = usize::from(self.u8()?);
        let mut list = AddressList::new();
        if count == 0 || count > MAX_ADDRESSES {
            return None;
        }
        for _ in 0..count {
            let address = self.address()?;
            if list.contains(&address) {
                return None;
            }
            list.push(address);
        }
        Some(list)
    }
}

#[cfg(test)]
mod tests;
