//! Seeds of runs.

use sha2::{Digest, Sha256};

use super::{CommonRandomNumbers, Point, Study};

/// Seeds are below 2^53, so that tools that read numbers as floating-point keep them.
const BITS: u32 = 53;

impl Study {
    /// The seed of a run. It depends on the seed of the study and the number of the run and, if the study says so, on the
    /// values of the axes and the name of the variant. It never depends on the number of points, so that further values do
    /// not change existing runs.
    pub fn seed(&self, point: &Point, variant: usize, replication: u32) -> u64 {
        let replications = self.replications();
        let mut hasher = Sha256::new();
        hasher.update(b"polypath seed 1\0");
        hasher.update(replications.seed.to_be_bytes());
        hasher.update(replication.to_be_bytes());
        let scope = replications.common_random_numbers;
        if scope != CommonRandomNumbers::All {
            let axes = self.axes().iter().zip(&self.axis_words);
            for ((axis, words), index) in axes.zip(&point.values) {
                add(&mut hasher, &axis.name);
                add(&mut hasher, words.get(*index).map_or("", String::as_str));
            }
        }
        if scope == CommonRandomNumbers::None {
            add(&mut hasher, &self.variants()[variant].name);
        }
        let digest = hasher.finalize();
        let mut head = [0; 8];
        head.copy_from_slice(&digest[..8]);
        u64::from_be_bytes(head) >> (u64::BITS - BITS)
    }
}

/// Adds a text with its length, so that different lists of texts give different input.
fn add(hasher: &mut Sha256, text: &str) {
    hasher.update((text.len() as u64).to_be_bytes());
    hasher.update(text.as_bytes());
}
