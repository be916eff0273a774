//! Established associations and packets that are damaged, repeated, reordered or forged with the right tags.

use std::path::Path;

use polypath_testkit::run_mutations;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Inputs that reach far, and those that once broke something.
#[test]
fn the_corpus_breaks_nothing() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/association");
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).expect("the corpus is there") {
        run_mutations(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 8, "{count} seeds");
}

/// `POLYPATH_MUTATION_CASES` for more of them, `POLYPATH_MUTATION_FIRST` to begin elsewhere.
#[test]
fn random_strings_break_nothing() {
    let number =
        |name, default| std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default);
    let first: u64 = number("POLYPATH_MUTATION_FIRST", 0);
    for seed in first..first + number("POLYPATH_MUTATION_CASES", 3000) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut input = vec![0; 20 + rng.next_u32() as usize % 1500];
        rng.fill_bytes(&mut input);
        let run = std::panic::catch_unwind(|| run_mutations(&input));
        assert!(run.is_ok(), "seed {seed}");
    }
}
