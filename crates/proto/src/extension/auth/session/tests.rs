use std::vec;

use bytes::Bytes;
use polypath_wire::{Checksum, Data, DataFlags, Packet, Parameter, Payload, U16List};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::super::{AuthOffer, AuthParameters};
use super::*;
use crate::config::AuthenticatedChunks;

fn offer(policy: AuthenticatedChunks, seed: u64) -> AuthOffer {
    AuthOffer::draw(policy, &mut Xoshiro256PlusPlus::seed_from_u64(seed)).unwrap()
}

/// Both ends of an association.
fn both(own: AuthOffer, peer: AuthOffer) -> (Session, Session) {
    let mirror = AuthPair { own: peer.clone(), peer: own.clone() };
    (Session::new(AuthPair { own, peer }).unwrap(), Session::new(mirror).unwrap())
}

fn all() -> (Session, Session) {
    both(offer(AuthenticatedChunks::All, 1), offer(AuthenticatedChunks::All, 2))
}

fn data() -> Chunk<'static> {
    Chunk::Data(Data {
        flags: DataFlags::BEGIN | DataFlags::END,
        tsn: 1,
        stream: 2,
        ssn: 3,
        ppid: 4,
        payload: Payload::Shared(Bytes::from_static(b"hello")),
    })
}

fn sealed(session: &mut Session, keys: &SharedKeys) -> ChunkList<'static> {
    let mut chunks = ChunkList::from_vec(vec![data(), Chunk::ShutdownAck]);
    session.seal(keys, &mut chunks);
    chunks
}

fn auth_of<'a>(chunks: &'a [Chunk<'static>]) -> &'a Auth<'static> {
    match chunks.first() {
        Some(Chunk::Auth(auth)) => auth,
        other => panic!("no AUTH in front, but {other:?}"),
    }
}

/// What the receiver says to the chunks, in both forms in which packets arrive.
fn judge(session: &mut Session, keys: &SharedKeys, chunks: &ChunkList<'static>) -> AuthVerdict {
    let auth = auth_of(chunks);
    let structured = session.verify(keys, auth, Covered::Chunks(&chunks[1..]));
    let packet = Packet { chunks: chunks.clone(), ..Packet::default() };
    let mut bytes = vec![];
    packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
    assert_eq!(session.verify(keys, auth, Covered::Bytes(&bytes[12..])), structured);
    structured
}

#[test]
fn what_one_side_seals_the_other_believes() {
    let none = SharedKeys::new();
    let key = SharedKeys::with_key(513, b"a key").unwrap();
    for keys in [&none, &key] {
        let (mut a, mut b) = all();
        for _ in 0..3 {
            let chunks = sealed(&mut a, keys);
            assert_eq!((chunks.len(), auth_of(&chunks).shared_key_id), (3, keys.active()));
            assert_eq!(auth_of(&chunks).hmac_id, 3);
            assert_eq!(judge(&mut b, keys, &chunks), AuthVerdict::Authentic);
            assert_eq!(judge(&mut a, keys, &sealed(&mut b, keys)), AuthVerdict::Authentic);
        }
        assert_eq!((a.room(), a.data_room()), (40, 40));
    }
}

#[test]
fn only_what_the_peer_demands_is_sealed() {
    let abort = AuthenticatedChunks::Demanded([chunk_type::ABORT].into_iter().collect());
    let (mut a, _) = both(offer(AuthenticatedChunks::All, 1), offer(abort, 2));
    let keys = SharedKeys::new();
    assert_eq!(sealed(&mut a, &keys).len(), 2);
    assert_eq!((a.room(), a.data_room()), (40, 0));
    // usrsctp demands these, which are sent only where `require` has been called.
    let foreign = [chunk_type::ASCONF, chunk_type::ASCONF_ACK].into_iter().collect();
    let demands = AuthenticatedChunks::Demanded(foreign);
    let (a, _) = both(offer(AuthenticatedChunks::All, 1), offer(demands, 2));
    assert_eq!((a.room(), a.data_room()), (0, 0));
}

#[test]
fn other_keys_other_vectors_and_other_content_are_refused() {
    let (mut a, mut b) = all();
    let key = SharedKeys::with_key(1, b"right").unwrap();
    let wrong = SharedKeys::with_key(1, b"wrong").unwrap();
    let chunks = sealed(&mut a, &key);
    assert_eq!(judge(&mut b, &key, &chunks), AuthVerdict::Authentic);
    b.forget_keys();
    assert_eq!(judge(&mut b, &wrong, &chunks), AuthVerdict::Refused);
    let other_id = SharedKeys::with_key(2, b"right").unwrap();
    b.forget_keys();
    assert_eq!(judge(&mut b, &other_id, &chunks), AuthVerdict::Refused, "no key 1");
    b.forget_keys();
    assert_eq!(judge(&mut b, &SharedKeys::new(), &chunks), AuthVerdict::Refused);
    // A packet of another association of the same sides.
    let (_, mut later) =
        both(offer(AuthenticatedChunks::All, 3), offer(AuthenticatedChunks::All, 2));
    assert_eq!(judge(&mut later, &key, &chunks), AuthVerdict::Refused);
    let mut changed = chunks.clone();
    changed.swap(1, 2);
    b.forget_keys();
    assert_eq!(judge(&mut b, &key, &changed), AuthVerdict::Refused);
    changed.truncate(2);
    assert_eq!(judge(&mut b, &key, &changed), AuthVerdict::Refused);
}

#[test]
fn the_empty_key_is_no_way_around_a_key() {
    let (mut forger, mut b) = all();
    let key = SharedKeys::with_key(1, b"secret").unwrap();
    let chunks = sealed(&mut forger, &SharedKeys::new());
    assert_eq!(auth_of(&chunks).shared_key_id, 0);
    assert_eq!(judge(&mut b, &key, &chunks), AuthVerdict::Refused);
}

#[test]
fn codes_of_another_length_or_algorithm_are_refused() {
    let (mut a, mut b) = all();
    let keys = SharedKeys::new();
    let chunks = sealed(&mut a, &keys);
    let with = |hmac_id: u16, hmac: &[u8]| {
        let mut changed = chunks.clone();
        let hmac = Raw::Shared(Bytes::copy_from_slice(hmac));
        changed[0] = Chunk::Auth(Auth { shared_key_id: 0, hmac_id, hmac });
        changed
    };
    let code = auth_of(&chunks).hmac.as_slice().to_vec();
    assert_eq!(judge(&mut b, &keys, &with(3, &code)), AuthVerdict::Authentic);
    assert_eq!(judge(&mut b, &keys, &with(3, &code[..20])), AuthVerdict::Refused);
    assert_eq!(judge(&mut b, &keys, &with(3, &[])), AuthVerdict::Refused);
    assert_eq!(judge(&mut b, &keys, &with(1, &code[..20])), AuthVerdict::Refused);
    assert_eq!(judge(&mut b, &keys, &with(2, &code)), AuthVerdict::UnknownAlgorithm(2));
    // The right code with an algorithm that this side did not list.
    let both_algorithms = offer(AuthenticatedChunks::All, 2);
    let sha1 = Parameter::HmacAlgorithms(U16List::Numbers(&[1]));
    let mut only_sha1 = AuthParameters::default();
    for parameter in both_algorithms.parameters() {
        match parameter {
            Parameter::HmacAlgorithms(_) => only_sha1.take(&sha1),
            other => only_sha1.take(&other),
        };
    }
    let only_sha1 = only_sha1.offer(AuthenticatedChunks::Offered).unwrap().unwrap();
    let (mut a, mut b) = both(offer(AuthenticatedChunks::All, 1), only_sha1);
    let chunks = sealed(&mut a, &keys);
    assert_eq!((auth_of(&chunks).hmac_id, auth_of(&chunks).hmac.len()), (1, 20));
    assert_eq!(judge(&mut b, &keys, &chunks), AuthVerdict::Authentic);
    assert_eq!(judge(&mut b, &keys, &with(3, &code)), AuthVerdict::UnknownAlgorithm(3));
}

#[test]
fn key_vectors_are_ordered_as_numbers() {
    let order = |one: &[u8], other: &[u8]| in_order(one.to_vec(), other.to_vec());
    let table: [(&[u8], &[u8], &[u8]); 6] = [
        (&[1], &[2], &[1, 2]),
        (&[2], &[1], &[1, 2]),
        (&[2], &[1, 0], &[2, 1, 0]),
        (&[9, 9], &[1, 0, 0], &[9, 9, 1, 0, 0]),
        // Equal as numbers: the shorter one first.
        (&[0, 7], &[7], &[7, 0, 7]),
        (&[0, 0, 3], &[4], &[0, 0, 3, 4]),
    ];
    for (one, other, expected) in table {
        assert_eq!(order(one, other), expected);
        assert_eq!(order(other, one), expected);
    }
}
