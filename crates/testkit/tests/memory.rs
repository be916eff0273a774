//! What idle associations may cost. A test program of its own with one test, because it counts what the whole program
//! allocates.

use std::alloc::System;

use polypath_proto::config::AssociationConfig;
use polypath_testkit::{Crowd, Part};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const ASSOCIATIONS: usize = 200;

fn heap() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

#[test]
fn an_idle_association_takes_little_memory() {
    for (paths, most) in [(1, 2897), (2, 3590)] {
        let mut crowd = Crowd::idle(&AssociationConfig::default(), ASSOCIATIONS, paths);
        crowd.forget(Part::Clients);
        let before = heap();
        crowd.forget(Part::Server);
        let each = (before - heap()) / ASSOCIATIONS;
        assert!(each <= most, "{each} bytes with {paths} paths");
        assert!(each > 1000, "{each} bytes cannot be all");
    }
}
