use crate::association::handshake::cookie::{Cookie, TieTags};
use crate::config::AuthenticatedChunks;
use crate::extension::auth::AuthParameters;
use crate::types::{AddressList, Capabilities, MAX_ADDRESSES};
use core::net::{Ipv4Addr, Ipv6Addr};
use std::{format, vec};

use polypath_wire::{Parameter, U16List};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;

const HOUR: Duration = Duration::from_secs(3600);
const MAX_LIFE: Duration = Duration::from_secs(120);

fn rng(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn secrets(seed: u64) -> CookieSecrets {
    CookieSecrets::new(HOUR, MAX_LIFE, Instant::ZERO, &mut rng(seed))
}

fn cookie() -> Cookie {
    Cookie {
        created: at(7),
        life: Duration::from_secs(60),
        local_tag: 0x0102_0304,
        peer_tag: 0x0506_0708,
        tie_tags: TieTags { local: 11, peer: 12 },
        local_initial_tsn: u32::MAX,
        peer_initial_tsn: 0,
        a_rwnd: 1500,
        outbound_streams: 10,
        inbound_streams: 65_535,
        local_port: 5001,
        remote_port: 40_000,
        capabilities: Capabilities::I_DATA | Capabilities::NR_SACK,
        adaptation: None,
        preferred: None,
        auth: None,
        encapsulation: Encapsulation::Udp { local_port: 9899, remote_port: 12_345 },
        local_address: Ipv4Addr::new(192, 0, 2, 1).into(),
        peer_addresses: AddressList::from_slice(&[
            Ipv4Addr::new(198, 51, 100, 7).into(),
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9).into(),
        ]),
    }
}

/// What both sides would tell of authentication if they told as much as there can be.
fn longest_offers() -> AuthPair {
    let chunks = [0; 256];
    let algorithms = [1; 16];
    let mut longest = AuthParameters::default();
    longest.take(&Parameter::Random(&[1; 32]));
    longest.take(&Parameter::Chunks(&chunks));
    longest.take(&Parameter::HmacAlgorithms(U16List::Numbers(&algorithms)));
    let longest = longest.offer(AuthenticatedChunks::Offered).unwrap().unwrap();
    AuthPair { own: longest.clone(), peer: longest }
}

/// The largest cookie that there can be.
fn largest() -> Cookie {
    let address = |n: u16| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n));
    Cookie {
        local_address: address(999),
        peer_addresses: (1..=MAX_ADDRESSES as u16).map(address).collect(),
        adaptation: Some(u32::MAX),
        preferred: Some(address(MAX_ADDRESSES as u16)),
        auth: Some(longest_offers()),
        ..cookie()
    }
}

/// Signs any content with the secret in use.
fn sign(secrets: &CookieSecrets, content: &[u8]) -> Vec<u8> {
    [content, secrets.current.code_of(content).as_bytes()].concat()
}

fn content_of(cookie: &Cookie) -> Vec<u8> {
    let mut content = vec![VERSION];
    cookie.append_to(&mut content);
    content
}

#[test]
fn what_is_sealed_is_opened_again() {
    let mut secrets = secrets(1);
    let direct = Cookie { encapsulation: Encapsulation::None, ..cookie() };
    let mut shared = longest_offers();
    shared.peer = AuthOffer::draw(AuthenticatedChunks::Offered, &mut rng(3)).unwrap();
    let authenticated = Cookie { auth: Some(shared), ..cookie() };
    for cookie in [cookie(), direct, authenticated, largest()] {
        let sealed = secrets.seal(&cookie, CodeLength::Long, at(7), &mut rng(2));
        assert!(sealed.len() <= MAX_LEN);
        assert_eq!(secrets.open(&sealed, at(7)), Ok(cookie));
    }
    assert_eq!(content_of(&largest()).len() + MAC_LEN, MAX_LEN);
}

#[test]
fn a_cookie_of_a_single_homed_peer_is_small() {
    let single = Cookie {
        encapsulation: Encapsulation::None,
        peer_addresses: AddressList::from_slice(&[Ipv4Addr::new(198, 51, 100, 7).into()]),
        ..cookie()
    };
    assert_eq!(secrets(1).seal(&single, CodeLength::Long, at(7), &mut rng(2)).len(), 101);
}

#[test]
fn every_flipped_bit_is_refused() {
    let mut secrets = secrets(1);
    let mut sealed = secrets.seal(&cookie(), CodeLength::Long, at(7), &mut rng(2));
    for bit in 0..sealed.len() * 8 {
        sealed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(secrets.open(&sealed, at(8)), Err(CookieError::NotAuthentic), "bit {bit}");
        sealed[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(secrets.open(&sealed, at(8)).is_ok());
}

#[test]
fn every_other_length_is_refused() {
    let mut secrets = secrets(1);
    let mut sealed = secrets.seal(&cookie(), CodeLength::Long, at(7), &mut rng(2));
    for len in 0..sealed.len() {
        assert_eq!(secrets.open(&sealed[..len], at(8)), Err(CookieError::NotAuthentic), "{len}");
    }
    while sealed.len() < 2 * MAX_LEN {
        sealed.push(0);
        assert_eq!(secrets.open(&sealed, at(8)), Err(CookieError::NotAuthentic));
    }
}

#[test]
fn another_instance_refuses_it() {
    let sealed = secrets(1).seal(&cookie(), CodeLength::Long, at(7), &mut rng(2));
    assert_eq!(secrets(2).open(&sealed, at(8)), Err(CookieError::NotAuthentic));
}

#[test]
fn the_secret_before_is_good_as_long_as_its_cookies_may_live() {
    let (mut secrets, mut rng) = (secrets(1), rng(2));
    let made_at = |seconds| Cookie { created: at(seconds), ..cookie() };
    let first = secrets.seal(&made_at(3599), CodeLength::Long, at(3599), &mut rng);
    let second = secrets.seal(&made_at(3600), CodeLength::Long, at(3600), &mut rng);
    assert_ne!(first[first.len() - MAC_LEN..], second[second.len() - MAC_LEN..]);
    assert_eq!(secrets.open(&first, at(3720)), Ok(made_at(3599)));
    assert_eq!(secrets.open(&second, at(3720)), Ok(made_at(3600)));
    assert_eq!(secrets.open(&first, at(3721)), Err(CookieError::NotAuthentic));
    assert_eq!(secrets.open(&second, at(3721)), Ok(made_at(3600)));
    // Two changes later the secret is gone, whatever the age of the cookie.
    secrets.seal(&made_at(7200), CodeLength::Long, at(7200), &mut rng);
    secrets.seal(&made_at(10_800), CodeLength::Long, at(10_800), &mut rng);
    assert_eq!(secrets.open(&second, at(10_800)), Err(CookieError::NotAuthentic));
}

#[test]
fn a_cookie_cannot_choose_a_secret_that_did_not_sign_it() {
    let (mut secrets, mut rng) = (secrets(1), rng(2));
    let old = content_of(&Cookie { created: at(5000), ..cookie() });
    let signed_before = sign(&secrets, &old);
    secrets.seal(&cookie(), CodeLength::Long, at(3600), &mut rng);
    assert_eq!(secrets.open(&signed_before, at(3600)), Err(CookieError::NotAuthentic));
}

#[test]
fn a_secret_outlives_its_cookies_even_if_it_is_to_change_faster() {
    let mut rng = rng(2);
    let second = Duration::from_secs(1);
    let mut secrets = CookieSecrets::new(second, MAX_LIFE, Instant::ZERO, &mut rng);
    let made_at = |seconds| Cookie { created: at(seconds), ..cookie() };
    let sealed = secrets.seal(&made_at(0), CodeLength::Long, at(0), &mut rng);
    for seconds in 1..=120 {
        secrets.seal(&made_at(seconds), CodeLength::Long, at(seconds), &mut rng);
        assert_eq!(secrets.open(&sealed, at(seconds)), Ok(made_at(0)), "after {seconds} s");
    }
}

#[test]
fn staleness_begins_after_the_life() {
    let cookie = cookie();
    let expiry = cookie.created + cookie.life;
    assert_eq!(cookie.staleness(at(0)), None);
    assert_eq!(cookie.staleness(expiry), None);
    let nanosecond = Duration::from_nanos(1);
    assert_eq!(cookie.staleness(expiry + nanosecond), Some(nanosecond));
    assert_eq!(cookie.staleness(expiry + HOUR), Some(HOUR));
}

#[test]
fn authentic_but_cut_or_extended_content_is_malformed() {
    let secrets = secrets(1);
    for cookie in [cookie(), largest()] {
        let mut content = content_of(&cookie);
        let without_auth = content_of(&Cookie { auth: None, ..cookie }).len();
        for len in (9..content.len()).filter(|len| *len != without_auth) {
            let signed = sign(&secrets, &content[..len]);
            assert_eq!(secrets.open(&signed, at(8)), Err(CookieError::Malformed), "{len} bytes");
        }
        content.push(0);
        let signed = sign(&secrets, &content);
        let too_long = signed.len() > MAX_LEN;
        let expected = if too_long { CookieError::NotAuthentic } else { CookieError::Malformed };
        assert_eq!(secrets.open(&signed, at(8)), Err(expected));
    }
}

#[test]
fn authentic_but_impossible_fields_are_malformed() {
    let secrets = secrets(1);
    let good = content_of(&cookie());
    let count = good.len() - 1 - 5 - 17;
    assert_eq!(good[count], 2, "this test knows the layout");
    let zero = |range: core::ops::Range<usize>| range.map(|i| (i, 0)).collect::<Vec<_>>();
    let cases: [(&str, Vec<(usize, u8)>); 13] = [
        ("version", [(0, 3)].into()),
        ("local tag 0", zero(17..21)),
        ("peer's tag 0", zero(21..25)),
        ("no outbound streams", zero(45..47)),
        ("no inbound streams", zero(47..49)),
        ("unknown capability", [(53, 0x80)].into()),
        ("unknown encapsulation", [(57, 2)].into()),
        ("no encapsulation, but ports", [(57, 0)].into()),
        ("unknown family", [(62, 5)].into()),
        ("family longer than the address", [(62, 6)].into()),
        ("no addresses", [(count, 0)].into()),
        ("fewer addresses than told", [(count, 3)].into()),
        ("more addresses than possible", [(count, 255)].into()),
    ];
    for (what, changes) in cases {
        let mut content = good.clone();
        changes.iter().for_each(|(position, value)| content[*position] = *value);
        let signed = sign(&secrets, &content);
        assert_eq!(secrets.open(&signed, at(8)), Err(CookieError::Malformed), "{what}");
    }
    let multicast = Cookie { local_address: Ipv4Addr::new(224, 0, 0, 1).into(), ..cookie() };
    let twice = Cookie {
        peer_addresses: AddressList::from_elem(Ipv4Addr::new(198, 51, 100, 7).into(), 2),
        ..cookie()
    };
    for cookie in [multicast, twice] {
        let signed = sign(&secrets, &content_of(&cookie));
        assert_eq!(secrets.open(&signed, at(8)), Err(CookieError::Malformed));
    }
}

#[test]
fn secrets_do_not_show_themselves() {
    assert_eq!(format!("{:?}", secrets(1)), "CookieSecrets { since: Instant(0), .. }");
}

#[test]
fn the_code_is_keyed_blake3() {
    // From the test vectors that its authors publish.
    let secret = Secret { key: *b"whats the Elvish word for friend", since: at(0) };
    for (content, expected) in [
        (&[][..], "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26"),
        (&[0][..], "6d7878dfff2f485635d39013278ae14f1454b8c0a3a2d34bc1ab38228a80c95b"),
    ] {
        assert_eq!(secret.code_of(content).to_hex().as_str(), expected);
    }
}

proptest! {
    /// Whatever is authentic is either refused, or read as what would be written the same.
    #[test]
    fn authentic_content_has_one_meaning(
        changes in prop::collection::vec((0_usize..102, any::<u8>()), 0..6),
        cut in 0_usize..8,
    ) {
        let secrets = secrets(1);
        let mut content = content_of(&cookie());
        for (position, value) in changes {
            let len = content.len();
            content[position % len] = value;
        }
        content.truncate(content.len() - cut);
        let cookie = secrets.open(&sign(&secrets, &content), at(8));
        prop_assume!(cookie != Err(CookieError::NotAuthentic));
        if let Ok(cookie) = cookie {
            prop_assert_eq!(content_of(&cookie), content);
        }
    }

    /// Nothing that was not signed is taken, and nothing panics.
    #[test]
    fn noise_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
        prop_assert_eq!(secrets(1).open(&bytes, at(8)), Err(CookieError::NotAuthentic));
    }
}

#[test]
fn a_short_code_is_as_good_and_cannot_be_made_of_a_long_one() {
    let mut secrets = secrets(1);
    let short = secrets.seal(&cookie(), CodeLength::Short, at(7), &mut rng(2));
    let long = secrets.seal(&cookie(), CodeLength::Long, at(7), &mut rng(2));
    assert_eq!(short.len() + MAC_LEN - SHORT_MAC_LEN, long.len());
    assert_eq!(secrets.open(&short, at(7)), Ok(cookie()));
    for bit in 0..short.len() * 8 {
        let mut flipped = short.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(secrets.open(&flipped, at(7)).is_err(), "bit {bit}");
    }
    for len in 0..short.len() {
        assert!(secrets.open(&short[..len], at(7)).is_err(), "{len} bytes");
    }
    // Half of a long code, with the version of a short one.
    let mut cut = long[..short.len()].to_vec();
    cut[0] = SHORT_VERSION;
    assert!(secrets.open(&cut, at(7)).is_err());
}
