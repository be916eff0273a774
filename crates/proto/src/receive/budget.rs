//! A limit on the total memory of the receive buffers of all associations of an endpoint.
//!
//! Each association has a guaranteed minimum, so that one whose data is read continues whatever the others hold. Beyond
//! that, half of the shared memory is first come, first served, and the other half is divided by the number of
//! associations. Data in excess is dropped as if the association's own buffer were full, and its receive window
//! shrinks.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that an association may always hold.
const FLOOR: usize = 16 << 10;

/// The memory that associations of an endpoint share. Bytes are those of [`ReceiveWindow`](super::rwnd::ReceiveWindow), which
/// counts the cost of chunks, too.
#[derive(Debug)]
pub struct Budget {
    /// What is shared beyond the floors.
    pool: usize,
    /// Most associations whose floors fit beside the pool.
    most_sharers: usize,
    used: AtomicUsize,
    sharers: AtomicUsize,
}

/// A budget for several associations, which may be driven by several threads.
#[expect(clippy::disallowed_types, reason = "what all of them hold is counted in one place")]
pub type SharedBudget = alloc::sync::Arc<Budget>;

/// An association's share in a budget, if there is one.
#[derive(Debug, Default)]
pub struct Share(Option<SharedBudget>);

impl Budget {
    /// A budget of `bytes`: never more is held, but for the last chunk of each association.
    pub fn new(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let pool = bytes / 2;
        // A reserve of an eighth of the pool lies between both.
        let most_sharers = ((bytes - pool - pool / 8) / FLOOR).max(1);
        Self { pool, most_sharers, used: AtomicUsize::new(0), sharers: AtomicUsize::new(0) }
    }

    /// Whether one more association can share it: not when it is nearly used up.
    pub fn has_room(&self) -> bool {
        self.sharers.load(Relaxed) < self.most_sharers
            && self.used.load(Relaxed) < self.pool - self.pool / 16
    }

    /// Bytes held by all associations.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed) as u64
    }

    /// Bytes that an association may hold that holds `held`.
    fn allowed(&self, held: usize) -> usize {
        let used = self.used.load(Relaxed);
        if used >= self.pool {
            return FLOOR;
        }
        let half = self.pool / 2;
        let part = half / self.sharers.load(Relaxed).max(1);
        let free = half.saturating_sub(used).saturating_add(held);
        // With little left, the share shrinks to the rest.
        let rest = (self.pool - used).saturating_add(held);
        FLOOR.max(free).max(part.min(rest))
    }
}

impl Share {
    /// A part in this budget.
    pub fn of(budget: &SharedBudget) -> Self {
        budget.sharers.fetch_add(1, Relaxed);
        Self(Some(SharedBudget::clone(budget)))
    }

    /// Further bytes that an association may hold that holds `held`.
    #[inline]
    pub fn room(&self, held: u64) -> u64 {
        let Some(budget) = &self.0 else { return u64::MAX };
        let held = clamp(held);
        budget.allowed(held).saturating_sub(held) as u64
    }

    /// Whether the chunk that all others of the association wait for may be held: such chunks have a small reserve.
    #[inline]
    pub fn has_reserve(&self, held: u64) -> bool {
        self.0.as_ref().is_none_or(|budget| {
            let used = budget.used.load(Relaxed);
            clamp(held) < FLOOR || used < budget.pool + budget.pool / 8
        })
    }

    /// The association holds `after` bytes instead of `before`.
    #[inline]
    pub fn changed(&self, before: u64, after: u64) {
        if let Some(budget) = &self.0 {
            if after >= before {
                budget.used.fetch_add(clamp(after - before), Relaxed);
            } else {
                budget.used.fetch_sub(clamp(before - after), Relaxed);
            }
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(budget) = &self.0 {
            budget.sharers.fetch_sub(1, Relaxed);
        }
    }
}

/// What is counted here was held in memory, so it fits.
fn clamp(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// An association that takes all it can get, in pieces of 1000 bytes.
    fn fill(share: &Share, held: &mut u64) {
        while share.room(*held) > 0 {
            share.changed(*held, *held + 1000);
            *held += 1000;
        }
    }

    #[test]
    fn without_a_budget_nothing_is_limited() {
        let share = Share::default();
        assert_eq!((share.room(u64::MAX), share.has_reserve(u64::MAX)), (u64::MAX, true));
    }

    #[test]
    fn greedy_associations_never_hold_more_than_the_budget() {
        for count in [1, 2, 10, 100, 1000] {
            let budget = SharedBudget::new(Budget::new(16 * MIB));
            let (mut shares, mut held) = (Vec::new(), Vec::new());
            for _ in 0..count {
                if budget.sharers.load(Relaxed) < budget.most_sharers {
                    shares.push(Share::of(&budget));
                    held.push(0);
                }
                // The earlier ones try again each time.
                shares.iter().zip(&mut held).for_each(|(share, held)| fill(share, held));
            }
            let (total, pieces) = (held.iter().sum::<u64>(), 1000 * shares.len() as u64);
            assert_eq!(budget.used(), total);
            assert!(total <= 16 * MIB + pieces, "{total} of {count}");
            assert!(held.iter().all(|held| *held >= FLOOR as u64), "{count}: everybody goes on");
        }
    }

    #[test]
    fn half_is_for_all_who_come_and_the_first_gets_no_more() {
        let budget = SharedBudget::new(Budget::new(16 * MIB));
        let (greedy, late) = (Share::of(&budget), Share::of(&budget));
        let mut held = 0;
        fill(&greedy, &mut held);
        assert!((4 * MIB..=4 * MIB + 1000).contains(&held), "{held}");
        assert!(budget.has_room());
        // Half of the other half of the pool.
        assert_eq!(late.room(0), 2 * MIB);
    }

    #[test]
    fn near_the_limit_nobody_else_is_let_in() {
        let budget = SharedBudget::new(Budget::new(16 * MIB));
        let share = Share::of(&budget);
        share.changed(0, 8 * MIB - 8 * MIB / 16);
        assert!(!budget.has_room());
        share.changed(8 * MIB - 8 * MIB / 16, 1000);
        assert!(budget.has_room());
        drop(share);
        assert_eq!(budget.sharers.load(Relaxed), 0);
        // Floors have to fit.
        let small = SharedBudget::new(Budget::new(1));
        assert!(!small.has_room() || small.most_sharers == 1);
    }

    #[test]
    fn the_missing_chunk_has_a_reserve() {
        let budget = SharedBudget::new(Budget::new(16 * MIB));
        let share = Share::of(&budget);
        share.changed(0, 8 * MIB);
        assert!(share.has_reserve(8 * MIB) && share.room(8 * MIB) == 0);
        share.changed(8 * MIB, 9 * MIB);
        assert!(!share.has_reserve(9 * MIB) && share.has_reserve(0));
    }
}
