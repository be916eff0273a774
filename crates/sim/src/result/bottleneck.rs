//! Results of a run per bottleneck.

use polypath_netsim::{Direction, DropCause, NoObserver, World};
use serde::Serialize;

use crate::frame::SimFrame;
use crate::meter::Meter;
use crate::wiring::{Bottleneck, Wired};

/// One direction of a bottleneck.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BottleneckResult {
    /// Name of the path, or of the route that paths share.
    pub path: String,
    /// The host on the side where packets enter.
    pub from: String,
    /// Packets delivered at the other end.
    pub packets_delivered: u64,
    /// Dropped because the queue was full.
    pub dropped_queue_full: u64,
    /// Dropped by a queue that was not full: RED, CoDel.
    pub dropped_early: u64,
    /// Lost at random, each packet independently.
    pub dropped_loss: u64,
    /// Lost in bursts.
    pub dropped_burst_loss: u64,
    /// Dropped for a bit error.
    pub dropped_bit_error: u64,
    /// Marked with "congestion experienced" by the queue.
    pub packets_marked: u64,
    /// Delivered with a bit error.
    pub packets_damaged: u64,
    /// Delivered twice; each counts as two delivered.
    pub packets_duplicated: u64,
    /// Dropped by an outage.
    pub dropped_outage: u64,
    /// Dropped because they were larger than the MTU.
    pub dropped_too_large: u64,
    /// Maximum number of packets in the queue.
    pub queue_peak_packets: u64,
    /// Mean number of packets in the queue in the measured interval, sampled at equal intervals.
    pub queue_mean_packets: f64,
    /// The same in bytes.
    pub queue_mean_bytes: f64,
    /// Fraction of the time in which it was transmitting.
    pub utilisation: f64,
}

pub(super) fn bottleneck_results(
    world: &mut World<SimFrame, NoObserver>,
    network: &Wired,
    meter: &Meter,
) -> Vec<BottleneckResult> {
    let now = world.now();
    let mut results = Vec::new();
    for (end, direction) in [Direction::Forward, Direction::Backward].into_iter().enumerate() {
        for Bottleneck { name, link, ends } in &network.bottlenecks {
            let counters = world.counters(link.channel(direction));
            let [queue_mean_packets, queue_mean_bytes] = meter.mean_queue(link.channel(direction));
            results.push(BottleneckResult {
                path: name.clone(),
                from: ends[end].clone(),
                packets_delivered: counters.delivered.packets,
                dropped_queue_full: counters.dropped(DropCause::QueueFull).packets,
                dropped_early: counters.dropped(DropCause::EarlyDrop).packets,
                dropped_loss: counters.dropped(DropCause::UniformLoss).packets,
                dropped_burst_loss: counters.dropped(DropCause::BurstLoss).packets,
                dropped_bit_error: counters.dropped(DropCause::BitError).packets,
                packets_marked: counters.marked.packets,
                packets_damaged: counters.damaged.packets,
                packets_duplicated: counters.duplicated.packets,
                dropped_outage: counters.dropped(DropCause::Outage).packets,
                dropped_too_large: counters.dropped(DropCause::TooLarge).packets,
                queue_peak_packets: counters.peak_queue_packets,
                queue_mean_packets,
                queue_mean_bytes,
                utilisation: counters.utilisation(now),
            });
        }
    }
    results
}
