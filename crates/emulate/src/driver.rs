//! The loop between devices and the network, one turn at a time.

use std::io;

use bytes::Bytes;
use polypath_sim::{Delivery, ExternalHost, Live, Refusal};
use polypath_units::{Duration, Instant};
use serde::Serialize;

use crate::clock::Clock;
use crate::timing::Timing;

/// Packets that are taken from one device before the others have their turn.
const BATCH: usize = 32;
/// Longest sleep: so the delay with which the system wakes the emulation is known even where nothing goes on.
const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// The interfaces of external hosts.
pub(crate) trait Devices {
    /// The next packet that a program sent there, if there is one.
    fn receive(&mut self, host: usize, port: usize) -> io::Result<Option<Bytes>>;
    /// Hands a packet to the programs; whether the system took it.
    fn deliver(&mut self, host: usize, port: usize, packet: &[u8]) -> bool;
}

/// What an interface of an external host carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct PortCounts {
    /// Packets from programs that entered the network.
    pub sent: u64,
    /// Packets from programs that could not: no way between their addresses.
    pub refused: u64,
    /// Packets to programs.
    pub received: u64,
    /// Packets to programs that the system did not take.
    pub failed: u64,
}

/// The network of a scenario, kept up with a clock.
#[derive(Debug)]
pub(crate) struct Driver<'a> {
    live: Live<'a>,
    timing: Timing,
    /// By host and interface.
    counts: Vec<Vec<PortCounts>>,
    /// What the alarm was set for.
    alarm: Instant,
}

impl<'a> Driver<'a> {
    /// Nothing has happened yet.
    pub fn new(live: Live<'a>) -> Self {
        let counts = live.hosts().iter().map(|host| vec![PortCounts::default(); host.ports.len()]);
        Self { counts: counts.collect(), live, timing: Timing::default(), alarm: Instant::ZERO }
    }

    /// One turn: all that is due happens, in order; then packets of programs enter the network, each at the time it is
    /// seen. Returns when to come back, if no packet comes before.
    ///
    /// # Errors
    /// A device could not be read.
    pub fn turn(&mut self, clock: &impl Clock, devices: &mut impl Devices) -> io::Result<Instant> {
        self.timing.woken(self.alarm, clock.now());
        self.catch_up(clock, devices);
        for host in 0..self.counts.len() {
            for port in 0..self.counts[host].len() {
                for _ in 0..BATCH {
                    let Some(packet) = devices.receive(host, port)? else { break };
                    self.catch_up(clock, devices);
                    let sent = self.live.send(host, packet);
                    let counts = &mut self.counts[host][port];
                    match sent {
                        Ok(()) => counts.sent += 1,
                        Err(Refusal::Malformed | Refusal::NoWay) => counts.refused += 1,
                    }
                }
            }
        }
        self.alarm = self.live.next_due().min(clock.now() + LONGEST_SLEEP);
        Ok(self.alarm)
    }

    /// Makes the present of the network that of the clock.
    fn catch_up(&mut self, clock: &impl Clock, devices: &mut impl Devices) {
        let now = clock.now();
        while let Some(Delivery { host, port, at, frame }) = self.live.next_delivery(now) {
            let is_taken = devices.deliver(host, port, frame.packet());
            self.timing.delivered(at, clock.now());
            let Some(counts) = self.counts.get_mut(host).and_then(|host| host.get_mut(port)) else {
                continue;
            };
            if is_taken {
                counts.received += 1;
            } else {
                counts.failed += 1;
            }
        }
    }

    /// The external hosts.
    pub fn hosts(&self) -> &[ExternalHost] {
        self.live.hosts()
    }

    /// What the interfaces carried, by host and interface.
    pub fn counts(&self) -> &[Vec<PortCounts>] {
        &self.counts
    }

    /// How late everything was.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// The network, at the end.
    pub fn into_live(self) -> Live<'a> {
        self.live
    }
}

#[cfg(test)]
mod tests;
