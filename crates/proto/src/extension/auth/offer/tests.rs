use crate::config::AuthenticatedChunks;
use std::vec;

use polypath_wire::chunk_type;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;

const DEMAND: AuthenticatedChunks = AuthenticatedChunks::All;
const OFFERED: AuthenticatedChunks = AuthenticatedChunks::Offered;

fn draw(policy: AuthenticatedChunks) -> Option<AuthOffer> {
    AuthOffer::draw(policy, &mut Xoshiro256PlusPlus::seed_from_u64(1))
}

/// What the other side makes of these parameters.
fn read<'a>(
    parameters: impl IntoIterator<Item = Parameter<'a>>,
    policy: AuthenticatedChunks,
) -> Result<Option<AuthOffer>, AuthProblem> {
    let mut read = AuthParameters::default();
    for parameter in parameters {
        assert!(read.take(&parameter));
    }
    read.offer(policy)
}

#[test]
fn what_is_told_is_understood_and_survives_a_cookie() {
    assert_eq!(draw(AuthenticatedChunks::Off), None);
    let some = ChunkTypes::from_iter([chunk_type::DATA, chunk_type::ABORT, chunk_type::ASCONF]);
    for policy in [OFFERED, DEMAND, AuthenticatedChunks::Demanded(some)] {
        let offer = draw(policy).unwrap();
        assert_eq!(offer.demanded(), policy.demanded());
        assert_eq!(offer.algorithm(), Some(HmacAlgorithm::Sha256));
        assert_eq!(read(offer.parameters(), OFFERED), Ok(Some(offer.clone())));
        let mut bytes = vec![];
        offer.append_to(&mut bytes);
        assert!(bytes.len() <= AuthOffer::MAX_COOKIE_BYTES);
        for cut in 0..bytes.len() {
            assert_eq!(AuthOffer::read(&mut &bytes[..cut]), None, "{cut}");
        }
        bytes.push(99);
        let mut rest = &bytes[..];
        assert_eq!((AuthOffer::read(&mut rest), rest), (Some(offer), &[99][..]));
    }
}

#[test]
fn key_vectors_have_no_padding() {
    let random = [7; 32];
    let chunks = [chunk_type::DATA, chunk_type::ABORT, chunk_type::ERROR];
    let parameters = [
        Parameter::HmacAlgorithms(U16List::Numbers(&[1])),
        Parameter::Chunks(&chunks),
        Parameter::Random(&random),
    ];
    let offer = read(parameters, OFFERED).unwrap().unwrap();
    assert_eq!(offer.algorithm(), Some(HmacAlgorithm::Sha1));
    let mut expected = vec![0x80, 0x02, 0, 36];
    expected.extend_from_slice(&random);
    expected.extend_from_slice(&[0x80, 0x03, 0, 7, 0, 6, 9, 0x80, 0x04, 0, 6, 0, 1]);
    assert_eq!(
        offer.key_vector(),
        expected,
        "RANDOM, CHUNKS, HMAC-ALGO, in whatever order they came"
    );
}

#[test]
fn parameters_that_are_missing_are_no_way_around_authentication() {
    let random = || Parameter::Random(&[7; 32]);
    let algorithms = || Parameter::HmacAlgorithms(U16List::Numbers(&[1, 3]));
    let chunks = || Parameter::Chunks(&[0]);
    let missing = |types: &[u16]| Err(AuthProblem::Missing(types.into()));
    let (no_random, no_algorithms) = (parameter_type::RANDOM, parameter_type::HMAC_ALGO);

    assert_eq!(read([], OFFERED), Ok(None), "a peer that does not have it");
    assert_eq!(read([], DEMAND), missing(&[no_random, no_algorithms]));
    for policy in [OFFERED, DEMAND] {
        assert_eq!(read([random()], policy), missing(&[no_algorithms]));
        assert_eq!(read([random(), chunks()], policy), missing(&[no_algorithms]));
        assert_eq!(read([chunks(), algorithms()], policy), missing(&[no_random]));
        assert_eq!(read([chunks()], policy), missing(&[no_random, no_algorithms]));
        assert!(read([random(), algorithms()], policy).unwrap().is_some(), "CHUNKS is optional");
    }
    let all = [random(), chunks(), algorithms()];
    assert_eq!(read(all, AuthenticatedChunks::Off), Ok(None));
}

#[test]
fn what_must_not_be_is_refused() {
    let random = || Parameter::Random(&[7; 32]);
    let algorithms = |list| Parameter::HmacAlgorithms(U16List::Numbers(list));
    let violates = |parameters: [Parameter<'_>; 2]| {
        matches!(read(parameters, OFFERED), Err(AuthProblem::Violation(_)))
    };
    assert!(violates([Parameter::Random(&[7; 31]), algorithms(&[1])]));
    assert!(violates([Parameter::Random(&[7; 33]), algorithms(&[1])]));
    assert!(violates([random(), random()]));
    assert!(violates([random(), algorithms(&[])]));
    assert!(violates([random(), algorithms(&[0, 2, 4])]));
    assert!(violates([random(), algorithms(&[1; 17])]));
    assert!(!violates([random(), algorithms(&[1; 16])]));
    let long = [0; 257];
    let list = [random(), algorithms(&[1]), Parameter::Chunks(&long)];
    assert!(matches!(read(list, OFFERED), Err(AuthProblem::Violation(_))));
}

#[test]
fn types_that_cannot_be_authenticated_are_ignored() {
    let chunks = [1, 2, 14, 15, 0];
    let list = [
        Parameter::Random(&[7; 32]),
        Parameter::Chunks(&chunks),
        Parameter::HmacAlgorithms(U16List::Numbers(&[9, 1])),
    ];
    let offer = read(list, OFFERED).unwrap().unwrap();
    assert_eq!(offer.demanded(), ChunkTypes::from_iter([0]));
    assert!(offer.accepts(HmacAlgorithm::Sha1) && !offer.accepts(HmacAlgorithm::Sha256));
}
