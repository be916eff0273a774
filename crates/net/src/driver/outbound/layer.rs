//! Packets that wait for a lower layer of the program.

use std::collections::VecDeque;

use bytes::Bytes;
use polypath_proto::Transmit;

use super::MAX_WAITING;
use crate::stats::EndpointStats;

/// Packets in the order of sending.
#[derive(Debug, Default)]
pub(super) struct LayerQueue {
    packets: VecDeque<Bytes>,
    bytes: usize,
    /// Number of packets that have left the queue.
    gone: u64,
}

impl LayerQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(super) fn gone(&self) -> u64 {
        self.gone
    }

    /// Number of the last packet that has entered the queue.
    pub(super) fn last(&self) -> u64 {
        self.gone + self.packets.len() as u64
    }

    pub(super) fn push(&mut self, transmit: &Transmit, stats: &mut EndpointStats) {
        if self.bytes >= MAX_WAITING {
            stats.packets_overflowed += 1;
            return;
        }
        let mut packet = Vec::new();
        match transmit.packet.append_to(&mut packet, transmit.checksum) {
            Ok(len) => {
                self.bytes += len;
                self.packets.push_back(packet.into());
            }
            Err(_) => stats.packets_unsendable += 1,
        }
    }

    pub(super) fn pop(&mut self) -> Option<Bytes> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.len();
        self.gone += 1;
        Some(packet)
    }
}
