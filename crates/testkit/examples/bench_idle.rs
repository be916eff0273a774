//! What an idle association costs in memory: one endpoint has many that are established, moved some data both ways and
//! have had nothing to do for more than a minute.
//!
//! `cargo run --release -p polypath-testkit --example bench_idle -- [--json] [--associations N] [--paths N]`
//!
//! Everything that belongs to associations is counted, the endpoint's tables and the list that a driver keeps them in
//! included, as bytes that were asked of the allocator.

use std::alloc::System;
use std::process::ExitCode;

use polypath_proto::config::AssociationConfig;
use polypath_testkit::{Crowd, Part};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes and blocks.
#[derive(Clone, Copy)]
struct Heap {
    bytes: f64,
    blocks: f64,
}

impl Heap {
    fn now() -> Self {
        let stats = ALLOCATOR.stats();
        Self {
            bytes: stats.bytes_allocated as f64 - stats.bytes_deallocated as f64,
            blocks: stats.allocations as f64 - stats.deallocations as f64,
        }
    }

    /// What was freed since, for each of `count`.
    fn freed(self, count: usize) -> Self {
        let now = Self::now();
        let each = |before: f64, after: f64| (before - after) / count as f64;
        Self { bytes: each(self.bytes, now.bytes), blocks: each(self.blocks, now.blocks) }
    }
}

/// What an association costs the server, and what it costs the client.
fn measure(count: usize, paths: u8) -> (Heap, Heap) {
    let mut crowd = Crowd::idle(&AssociationConfig::default(), count, paths);
    let before = Heap::now();
    crowd.forget(Part::ClientAssociations);
    let client = before.freed(count);
    crowd.forget(Part::Clients);
    let before = Heap::now();
    crowd.forget(Part::Server);
    (before.freed(count), client)
}

/// Whether JSON is asked for, how many associations and how many paths.
fn parse() -> Option<(bool, usize, u8)> {
    let (mut json, mut count, mut paths) = (false, 10_000, 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next()?.parse().ok().filter(|n| *n > 0);
        match argument.as_str() {
            "--json" => json = true,
            "--associations" => count = number()?,
            "--paths" => paths = u8::try_from(number()?).ok().filter(|n| *n <= 32)?,
            _ => return None,
        }
    }
    Some((json, count, paths))
}

fn main() -> ExitCode {
    let Some((json, count, paths)) = parse() else {
        eprintln!("bench_idle: [--json] [--associations N] [--paths N]");
        return ExitCode::from(2);
    };
    let (server, client) = measure(count, paths);
    if json {
        println!(
            "{{\"server_bytes\": {:.1}, \"client_bytes\": {:.1}, \"server_blocks\": {:.2}, \"associations\": {count}, \
             \"paths\": {paths}}}",
            server.bytes, client.bytes, server.blocks
        );
    } else {
        println!(
            "{:.0} B in {:.1} blocks at the server, {:.0} B in {:.1} blocks at the client for each of {count} idle \
             associations with {paths} paths",
            server.bytes, server.blocks, client.bytes, client.blocks
        );
    }
    ExitCode::SUCCESS
}
