//! Programs that say anything to the service.
#![cfg(feature = "service")]
#![allow(missing_docs)]

#[path = "common/program.rs"]
mod program;

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Panics of any thread, those of the service included.
static PANICS: AtomicU32 = AtomicU32::new(0);

/// A number between 0 and `most`, from a state that changes.
fn draw(state: &mut u64, most: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % (most as u64 + 1)) as usize
}

/// A few bytes of the seed are others, or it is cut, or continued with a part of itself.
fn mutated(seed: &[u8], state: &mut u64) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=draw(state, 5) {
        if bytes.is_empty() {
            break;
        }
        let place = draw(state, bytes.len() - 1);
        match draw(state, 6) {
            0 => bytes.truncate(place),
            1 => {
                let part = bytes[place..].to_vec();
                bytes.extend_from_slice(&part);
            }
            2 => bytes[place] = [0, 1, 0x7F, 0x80, 0xFF][draw(state, 4)],
            3 => bytes[place] ^= 1 << draw(state, 7),
            _ => bytes[place] = draw(state, 255) as u8,
        }
    }
    bytes
}

/// `POLYPATH_MUTATION_CASES` for more of them, `POLYPATH_MUTATION_FIRST` to begin elsewhere. The seeds are those of the fuzz target.
#[test]
fn whatever_programs_say_ends_no_service() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        report(panic);
    }));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/sockets");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let seeds: Vec<_> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert!(seeds.len() >= 4);
    // The first ones make sense.
    let done: Vec<_> = seeds.iter().map(|seed| program::say(seed, program::LONG)).collect();
    assert!(done[..3].iter().all(|done| *done >= 4), "{done:?}");
    let number =
        |name, default| std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default);
    let first: u64 = number("POLYPATH_MUTATION_FIRST", 0);
    for case in first..first + number("POLYPATH_MUTATION_CASES", 300) {
        let mut state = case.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let seed = &seeds[draw(&mut state, seeds.len() - 1)];
        program::say(&mutated(seed, &mut state), program::SHORT);
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "case {case}");
    }
    std::fs::remove_file(program::place()).unwrap();
}
