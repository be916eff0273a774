//! Packets on their way out: gathered into batches per destination, encoded in place, and kept while a socket blocks.

mod layer;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

use bytes::Bytes;
use polypath_proto::{AssociationId, Fragmentation, Transmit};
use smallvec::SmallVec;

use self::layer::LayerQueue;
use crate::socket::{Fault, Marks, Port, Sockets, Wait};
use crate::stats::EndpointStats;

/// Maximum size of a batch in bytes: the payload of one UDP datagram before segmentation.
const MAX_BATCH: usize = 65_000;
/// Size of a batch's buffer: a batch, or one packet of maximum size.
const BUFFER: usize = 1 << 16;
/// Maximum number of bytes that wait for one socket. Congestion windows limit the data of associations; this limits other
/// packets.
const MAX_WAITING: usize = 16 << 20;
/// Buffers kept for the next batches.
const MAX_SPARE: usize = 64;

/// How a batch is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// In one call, segmented by the system.
    Whole,
    /// One call for each datagram, because the system refused the whole.
    Singly,
    /// One call for each datagram, which IP may fragment.
    Fragmented,
    /// One call for each datagram, and none is fragmented: one that is too big is not sent.
    Unfragmented,
}

/// Where a packet goes, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    socket: usize,
    destination: SocketAddr,
    marks: Marks,
    mode: Mode,
}

/// Datagrams of one size for one destination, the last one perhaps shorter.
#[derive(Debug)]
struct Batch {
    key: Key,
    mode: Mode,
    buffer: Vec<u8>,
    len: usize,
    /// Bytes of the datagrams that were already sent one by one.
    sent: usize,
    segment: usize,
    segments: usize,
    /// Associations whose packets these are: mostly one.
    owners: SmallVec<[AssociationId; 1]>,
    fault: Option<Fault>,
}

/// A report of the system about the route from `local` to `remote`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FaultReport {
    pub(crate) association: AssociationId,
    pub(crate) local: IpAddr,
    pub(crate) remote: IpAddr,
    pub(crate) fault: Fault,
}

enum Outcome {
    Done,
    Blocked,
}

impl Batch {
    fn has_room(&self, len: usize, max_segments: usize) -> bool {
        self.segments == 0
            || len <= self.segment
                && self.len == self.segment * self.segments
                && self.len + len <= MAX_BATCH
                && self.segments < max_segments
    }

    /// The next datagram to be sent on its own.
    fn next_datagram(&self) -> &[u8] {
        &self.buffer[self.sent..self.len.min(self.sent + self.segment)]
    }

    fn send(&mut self, socket: &Port, stats: &mut EndpointStats) -> Outcome {
        if self.mode == Mode::Whole {
            match socket.try_send(
                self.key.destination,
                self.key.marks,
                &self.buffer[..self.len],
                self.segment,
            ) {
                Ok(()) => {
                    stats.send_calls += 1;
                    stats.packets_sent += self.segments as u64;
                    stats.bytes_sent += self.len as u64;
                    return Outcome::Done;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Outcome::Blocked,
                // The socket disables segmentation offload if a driver does not support it.
                Err(error)
                    if quinn_udp::is_msg_size_err(&error)
                        || self.segments > socket.max_segments() =>
                {
                    self.mode = Mode::Singly;
                }
                Err(error) => {
                    stats.packets_refused += self.segments as u64;
                    self.fault = Fault::of(&error);
                    return Outcome::Done;
                }
            }
        }
        self.send_singly(socket, stats)
    }

    fn send_singly(&mut self, socket: &Port, stats: &mut EndpointStats) -> Outcome {
        while self.sent < self.len {
            let datagram = self.next_datagram();
            let len = datagram.len();
            let (destination, marks) = (self.key.destination, self.key.marks);
            let result = match self.mode {
                Mode::Fragmented => socket.try_send_fragmentable(destination, marks, datagram),
                Mode::Whole | Mode::Singly | Mode::Unfragmented => {
                    socket.try_send(destination, marks, datagram, len)
                }
            };
            match result {
                Ok(()) => {
                    stats.send_calls += 1;
                    stats.packets_sent += 1;
                    stats.bytes_sent += len as u64;
                    stats.packets_fragmented += u64::from(self.mode == Mode::Fragmented);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Outcome::Blocked,
                Err(error)
                    if quinn_udp::is_msg_size_err(&error)
                        && matches!(self.mode, Mode::Whole | Mode::Singly) =>
                {
                    self.mode = Mode::Fragmented;
                    self.fault = Some(Fault::TooBig);
                    continue;
                }
                Err(error) => {
                    stats.packets_refused += 1;
                    self.fault = Fault::of(&error).or(self.fault);
                }
            }
            self.sent += len;
        }
        Outcome::Done
    }
}

/// The sending side of all sockets of an endpoint.
#[derive(Debug)]
pub(crate) struct Outbound {
    /// Batches that may still grow.
    open: Vec<Batch>,
    /// By socket: batches that wait until it is writable.
    waiting: Vec<Waiting>,
    spare: Vec<Vec<u8>>,
    faults: Vec<FaultReport>,
    /// Packets that wait for the lower layer, if the endpoint has one.
    layer: Option<LayerQueue>,
}

/// Batches that wait for one socket.
#[derive(Debug, Default)]
struct Waiting {
    batches: VecDeque<Batch>,
    /// Number of batches that have left the queue.
    gone: u64,
    wait: Wait,
}

impl Waiting {
    /// Number of the last batch that waits or has waited.
    fn last(&self) -> u64 {
        self.gone + self.batches.len() as u64
    }
}

/// A point in the streams of packets that the sockets send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark(SmallVec<[u64; 4]>);

impl Outbound {
    pub(crate) fn new(sockets: usize) -> Self {
        Self {
            open: Vec::new(),
            waiting: (0..sockets).map(|_| Waiting::default()).collect(),
            spare: Vec::new(),
            faults: Vec::new(),
            layer: None,
        }
    }

    /// Of an endpoint over a lower layer.
    pub(crate) fn for_layer() -> Self {
        Self { layer: Some(LayerQueue::default()), ..Self::new(0) }
    }

    /// Whether packets wait for the lower layer.
    pub(crate) fn has_for_layer(&self) -> bool {
        self.layer.as_ref().is_some_and(|queue| !queue.is_empty())
    }

    /// Takes the next packet for the lower layer.
    pub(crate) fn take_for_layer(&mut self, stats: &mut EndpointStats) -> Option<Bytes> {
        let packet = self.layer.as_mut()?.pop()?;
        stats.packets_sent += 1;
        stats.bytes_sent += packet.len() as u64;
        Some(packet)
    }

    /// Adds a packet of `owner` to the batch of its destination; sends that batch first if the packet does not fit.
    pub(crate) fn push(
        &mut self,
        sockets: &Sockets,
        transmit: &Transmit,
        owner: Option<AssociationId>,
        stats: &mut EndpointStats,
    ) {
        if let Some(queue) = &mut self.layer {
            return queue.push(transmit, stats);
        }
        let Some((key, socket)) = key_of(sockets, transmit) else {
            stats.packets_unsendable += 1;
            if let Some(association) = owner {
                let (local, remote) = (transmit.local, transmit.remote);
                self.note(FaultReport { association, local, remote, fault: Fault::Refused });
            }
            return;
        };
        let len = transmit.packet.encoded_len();
        let max_segments = match key.mode {
            Mode::Whole => socket.max_segments(),
            Mode::Singly | Mode::Fragmented | Mode::Unfragmented => 1,
        };
        let mut batch = match self.open.iter().position(|batch| batch.key == key) {
            Some(position) => self.open.swap_remove(position),
            None => self.begin(key),
        };
        if !batch.has_room(len, max_segments) {
            self.dispatch(socket, batch, stats);
            batch = self.begin(key);
        }
        match transmit.packet.encode_into(&mut batch.buffer[batch.len..], transmit.checksum) {
            Ok(written) => {
                if batch.segments == 0 {
                    batch.segment = written;
                }
                batch.len += written;
                batch.segments += 1;
            }
            Err(_) => stats.packets_unsendable += 1,
        }
        if let Some(owner) = owner.filter(|owner| !batch.owners.contains(owner)) {
            batch.owners.push(owner);
        }
        self.open.push(batch);
    }

    /// Sends every batch, complete or not.
    pub(crate) fn flush(&mut self, sockets: &Sockets, stats: &mut EndpointStats) {
        while let Some(batch) = self.open.pop() {
            match sockets.get(batch.key.socket) {
                Some(socket) => self.dispatch(socket, batch, stats),
                None => self.give_up(batch, stats),
            }
        }
    }

    /// Sends the batches of sockets that have become writable.
    pub(crate) fn resume(&mut self, sockets: &Sockets, stats: &mut EndpointStats) {
        for (place, socket) in sockets.iter() {
            while let Some(mut batch) = self.waiting[place].batches.pop_front() {
                match batch.send(socket, stats) {
                    Outcome::Done => {
                        self.waiting[place].gone += 1;
                        self.finish(socket, batch);
                    }
                    Outcome::Blocked => {
                        self.waiting[place].batches.push_front(batch);
                        break;
                    }
                }
            }
        }
    }

    /// Adds a queue for the socket at `place`.
    pub(crate) fn open_place(&mut self, place: usize) {
        let places = self.waiting.len().max(place + 1);
        self.waiting.resize_with(places, Waiting::default);
    }

    /// Removes the socket at `place`, with the packets that wait for it.
    pub(crate) fn close_place(&mut self, place: usize, stats: &mut EndpointStats) {
        let Some(waiting) = self.waiting.get_mut(place) else { return };
        waiting.wait = Wait::default();
        while let Some(batch) = self.waiting[place].batches.pop_front() {
            self.waiting[place].gone += 1;
            self.give_up(batch, stats);
        }
    }

    /// Becomes ready when a socket that packets wait for is writable; pending forever if none wait.
    pub(crate) fn poll_writable(&mut self, sockets: &Sockets, cx: &mut Context<'_>) -> Poll<()> {
        let mut ready = Poll::Pending;
        for (place, socket) in sockets.iter() {
            let waiting = &mut self.waiting[place];
            if !waiting.batches.is_empty() && socket.poll_writable(&mut waiting.wait, cx).is_ready()
            {
                ready = Poll::Ready(());
            }
        }
        ready
    }

    /// Whether no packets wait.
    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_empty()
            && self.waiting.iter().all(|waiting| waiting.batches.is_empty())
            && !self.has_for_layer()
    }

    /// The end of the waiting packets; `None` if none wait.
    pub(crate) fn mark(&self) -> Option<Mark> {
        let layer = self.layer.iter().map(LayerQueue::last);
        (!self.is_idle())
            .then(|| Mark(self.waiting.iter().map(Waiting::last).chain(layer).collect()))
    }

    /// Whether all packets before `mark` have left.
    pub(crate) fn has_passed(&self, mark: &Mark) -> bool {
        let layer = self.layer.iter().map(LayerQueue::gone);
        let gone = self.waiting.iter().map(|waiting| waiting.gone).chain(layer);
        gone.zip(&mark.0).all(|(gone, last)| gone >= *last)
    }

    /// Takes the reports of the system about paths.
    pub(crate) fn take_faults(&mut self) -> Vec<FaultReport> {
        std::mem::take(&mut self.faults)
    }

    fn begin(&mut self, key: Key) -> Batch {
        let buffer = self.spare.pop().unwrap_or_else(|| vec![0; BUFFER]);
        Batch {
            key,
            mode: key.mode,
            buffer,
            len: 0,
            sent: 0,
            segment: 0,
            segments: 0,
            owners: SmallVec::new(),
            fault: None,
        }
    }

    fn dispatch(&mut self, socket: &Port, mut batch: Batch, stats: &mut EndpointStats) {
        let waiting = &mut self.waiting[batch.key.socket].batches;
        if batch.segments == 0 {
            return self.recycle(batch);
        }
        // Packets of one path keep their order.
        if waiting.is_empty() && matches!(batch.send(socket, stats), Outcome::Done) {
            return self.finish(socket, batch);
        }
        if waiting.len() * BUFFER >= MAX_WAITING {
            stats.packets_overflowed += batch.segments as u64;
            return self.recycle(batch);
        }
        waiting.push_back(batch);
    }

    /// Notes the result of sending the batch.
    fn finish(&mut self, socket: &Port, batch: Batch) {
        if let Some(fault) = batch.fault {
            let (local, remote) = (socket.address(), batch.key.destination.ip());
            for &association in &batch.owners {
                self.note(FaultReport { association, local, remote, fault });
            }
        }
        self.recycle(batch);
    }

    fn note(&mut self, report: FaultReport) {
        if !self.faults.contains(&report) {
            self.faults.push(report);
        }
    }

    /// Drops the batch of a removed socket.
    fn give_up(&mut self, batch: Batch, stats: &mut EndpointStats) {
        let left = (batch.len - batch.sent).div_ceil(batch.segment.max(1));
        stats.packets_unsendable += left as u64;
        self.recycle(batch);
    }

    fn recycle(&mut self, batch: Batch) {
        if self.spare.len() < MAX_SPARE {
            self.spare.push(batch.buffer);
        }
    }
}

fn key_of<'a>(sockets: &'a Sockets, transmit: &Transmit) -> Option<(Key, &'a Port)> {
    let mut own = sockets.iter().filter(|(_, socket)| socket.address() == transmit.local);
    let (place, socket, destination) = own.find_map(|(place, socket)| {
        Some((place, socket, socket.destination(transmit.remote, transmit.encapsulation)?))
    })?;
    let key = Key {
        socket: place,
        destination,
        marks: Marks { ecn: transmit.ecn, traffic: transmit.traffic },
        mode: match transmit.fragmentation {
            Fragmentation::Avoided => Mode::Whole,
            Fragmentation::Allowed => Mode::Fragmented,
            Fragmentation::Forbidden => Mode::Unfragmented,
        },
    };
    Some((key, socket))
}

#[cfg(test)]
mod tests;
