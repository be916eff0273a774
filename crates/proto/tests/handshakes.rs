//! Handshakes whose packets are damaged: INIT, INIT ACK, COOKIE ECHO with its cookie, and COOKIE ACK.

use std::path::Path;

use polypath_testkit::run_handshake;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Inputs that reach far, and those that once broke something.
#[test]
fn the_corpus_breaks_no_handshake() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/handshake");
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).expect("the corpus is there") {
        run_handshake(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 8, "{count} seeds");
}

#[test]
fn damaged_cookies_make_no_association() {
    for seed in 0..10_000 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut input = vec![0; 2 + 4 * (rng.next_u32() as usize % 6)];
        rng.fill_bytes(&mut input);
        let run = std::panic::catch_unwind(|| run_handshake(&input));
        assert!(run.is_ok(), "seed {seed}");
    }
}
