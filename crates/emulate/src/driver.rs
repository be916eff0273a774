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
/// Longest sleep: so the delay with which the system wakes the emulation is known even on an idle network.
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
    /// When each interface had no packet of programs last, by host and interface. Time in which the emulation slept does not
    /// count: a packet that came then would have woken it.
    empty: Vec<Vec<Instant>>,
    /// What the alarm was set for.
    alarm: Instant,
    /// When the last turn ended.
    rested: Instant,
}

impl<'a> Driver<'a> {
    /// Nothing has happened yet.
    pub fn new(live: Live<'a>) -> Self {
        let ports = || live.hosts().iter().map(|host| host.ports.len());
        Self {
            counts: ports().map(|count| vec![PortCounts::default(); count]).collect(),
            empty: ports().map(|count| vec![Instant::ZERO; count]).collect(),
            live,
            timing: Timing::default(),
            alarm: Instant::ZERO,
            rested: Instant::ZERO,
        }
    }

    /// One turn: all that is due happens, in order; then packets of programs enter the network, each at the time it is
    /// seen. Returns when to come back, if no packet comes before.
    ///
    /// # Errors
    /// A device could not be read.
    pub fn turn(&mut self, clock: &impl Clock, devices: &mut impl Devices) -> io::Result<Instant> {
        self.wake(clock.now());
        self.catch_up(clock, devices);
        for host in 0..self.counts.len() {
            for port in 0..self.counts[host].len() {
                for _ in 0..BATCH {
                    let Some(packet) = devices.receive(host, port)? else {
                        self.empty[host][port] = clock.now();
                        break;
                    };
                    let now = self.catch_up(clock, devices);
                    self.timing.taken(self.empty[host][port], now);
                    let sent = self.live.send(host, packet);
                    let counts = &mut self.counts[host][port];
                    match sent {
                        Ok(()) => counts.sent += 1,
                        Err(Refusal::Malformed | Refusal::NoWay) => counts.refused += 1,
                    }
                }
            }
        }
        let now = clock.now();
        self.timing.worked(now.since(self.rested));
        self.rested = now;
        self.alarm = self.live.next_due().min(now + LONGEST_SLEEP);
        Ok(self.alarm)
    }

    /// The emulation slept until `now`.
    fn wake(&mut self, now: Instant) {
        self.timing.woken(self.alarm, now);
        let slept = now.since(self.rested);
        self.empty.iter_mut().flatten().for_each(|empty| *empty += slept);
        self.rested = now;
    }

    /// Makes the present of the network that of the clock, and tells it.
    fn catch_up(&mut self, clock: &impl Clock, devices: &mut impl Devices) -> Instant {
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
        now
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
