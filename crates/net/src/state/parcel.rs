//! Packets passed from the shard that received them to that of their association.

use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::{Body, Received};

use super::association::AssociationShared;
use crate::socket::SOCKET_BUFFER;

/// Maximum number of bytes that wait for one shard: as many as a socket holds while its driver is busy. Further packets
/// are lost, as in a socket.
const MAX_BYTES: usize = SOCKET_BUFFER;

/// Packets of one association that are contiguous in memory and have one source.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) association: Arc<AssociationShared>,
    /// Source and encapsulation, without content.
    pub(crate) envelope: Received<'static>,
    /// The memory that contains them, or a packet of its own.
    pub(crate) memory: Bytes,
    start: usize,
    end: usize,
    /// Distance of the packets; the last one may be shorter.
    stride: usize,
}

impl Parcel {
    /// The packets.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &[u8]> {
        self.memory[self.start..self.end].chunks(self.stride)
    }

    fn count(&self) -> usize {
        (self.end - self.start).div_ceil(self.stride)
    }

    /// Adds the packet at `start..end` of `memory`, if it follows the present ones.
    fn extend(&mut self, association: &AssociationShared, part: &Part) -> bool {
        let fits = self.association.id == association.id
            && self.memory.as_ptr() == part.memory.as_ptr()
            && self.end == part.start
            && self.stride == part.stride
            && (self.end - self.start).is_multiple_of(self.stride);
        if fits {
            self.end = part.end;
        }
        fits
    }
}

/// The position of a packet.
struct Part {
    memory: Bytes,
    start: usize,
    end: usize,
    stride: usize,
}

impl Part {
    /// `stride` is the distance of packets in the run of this one.
    fn of(received: &Received<'_>, stride: usize) -> Option<Self> {
        let datagram = received.body.datagram().filter(|datagram| !datagram.is_empty())?;
        if let Body::Part { of, .. } = &received.body {
            let start = (datagram.as_ptr() as usize).checked_sub(of.as_ptr() as usize);
            if let Some(start) = start.filter(|start| start + datagram.len() <= of.len()) {
                let (memory, end) = ((*of).clone(), start + datagram.len());
                return Some(Self { memory, start, end, stride: stride.max(datagram.len()) });
            }
        }
        let memory = Bytes::copy_from_slice(datagram);
        Some(Self { memory, start: 0, end: datagram.len(), stride: datagram.len() })
    }
}

/// Parcels that wait for a shard, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    parcels: Vec<Parcel>,
    bytes: usize,
}

impl Inbox {
    /// Adds a packet of a run with packets `stride` bytes apart.
    pub(crate) fn add(
        &mut self,
        association: Arc<AssociationShared>,
        received: &Received<'_>,
        stride: usize,
    ) {
        let Some(part) = Part::of(received, stride) else { return };
        self.bytes += part.end - part.start;
        if self.parcels.last_mut().is_some_and(|last| last.extend(&association, &part)) {
            return;
        }
        let Received { local, remote, encapsulation, ecn, .. } = *received;
        let body = Body::Datagram(&[]);
        let envelope = Received { local, remote, encapsulation, ecn, body };
        let Part { memory, start, end, stride } = part;
        self.parcels.push(Parcel { association, envelope, memory, start, end, stride });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parcels.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.parcels.clear();
        self.bytes = 0;
    }

    /// Takes over the content of `other` as far as there is space; returns the number of packets that did not fit.
    pub(crate) fn append(&mut self, other: &mut Self) -> u64 {
        if self.bytes + other.bytes > MAX_BYTES {
            return other.parcels.iter().map(|parcel| parcel.count() as u64).sum();
        }
        self.bytes += std::mem::take(&mut other.bytes);
        self.parcels.append(&mut other.parcels);
        0
    }
}

impl IntoIterator for Inbox {
    type Item = Parcel;
    type IntoIter = std::vec::IntoIter<Parcel>;

    fn into_iter(self) -> Self::IntoIter {
        self.parcels.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use polypath_proto::config::{AssociationConfig, EndpointConfig};
    use polypath_proto::{Ecn, Encapsulation, PeerAddress};
    use tokio::sync::Notify;

    use super::*;
    use crate::clock::{Clock, Context, secure_rng};
    use crate::log::Log;
    use crate::probe::Initiator;
    use crate::state::Mailbox;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Two associations in the handshake, without a peer.
    fn associations() -> [Arc<AssociationShared>; 2] {
        let (clock, bell) = (Clock::start(), Arc::new(Notify::new()));
        let mut context = Context::new(secure_rng().unwrap());
        let mut endpoint = context.lend(clock.now(), |cx| {
            polypath_proto::Endpoint::new(EndpointConfig::default(), 5001, &[HERE], cx)
        });
        [1, 2].map(|port| {
            let peer = PeerAddress { address: HERE, encapsulation: Encapsulation::None };
            let begun = context.lend(clock.now(), |cx| {
                endpoint.connect(cx, AssociationConfig::default(), port, &[peer])
            });
            let (id, protocol) = begun.unwrap();
            let mailbox = Arc::new(Mailbox::new(&bell));
            let log = Log::begin(id, &protocol);
            let id = (id, Initiator::Local);
            AssociationShared::new(id, clock, log, (0, mailbox), protocol, context.fork())
        })
    }

    fn add(inbox: &mut Inbox, to: &Arc<AssociationShared>, body: Body<'_>, stride: usize) {
        let encapsulation = Encapsulation::None;
        let received =
            Received { local: HERE, remote: HERE, encapsulation, ecn: Ecn::NotEct, body };
        inbox.add(Arc::clone(to), &received, stride);
    }

    #[test]
    fn packets_of_a_run_make_a_parcel_and_come_out_as_they_came() {
        let [a, b] = associations();
        let run = Bytes::from((0..100).collect::<Vec<u8>>());
        let mut inbox = Inbox::default();
        // Packets of 30 bytes; the third one belongs to another association, the last one is shorter.
        for (index, datagram) in run.chunks(30).enumerate() {
            let to = if index == 2 { &b } else { &a };
            add(&mut inbox, to, Body::Part { datagram, of: &run }, 30);
        }
        // Not part of a run.
        add(&mut inbox, &a, Body::Datagram(&[7; 20]), 20);
        add(&mut inbox, &a, Body::Datagram(&[8; 20]), 20);
        assert_eq!(inbox.bytes, 140);
        let parcels: Vec<_> = inbox.into_iter().collect();
        let contents = |parcel: &Parcel| parcel.packets().map(<[u8]>::to_vec).collect::<Vec<_>>();
        let parts = |range: std::ops::Range<usize>| {
            run[range].chunks(30).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let expected = [
            (a.id, parts(0..60)),
            (b.id, parts(60..90)),
            (a.id, parts(90..100)),
            (a.id, vec![vec![7; 20]]),
            (a.id, vec![vec![8; 20]]),
        ];
        let found: Vec<_> =
            parcels.iter().map(|parcel| (parcel.association.id, contents(parcel))).collect();
        assert_eq!(found, expected);
        assert!(parcels.iter().all(|parcel| parcel.count() == parcel.packets().count()));
    }

    #[test]
    fn what_a_shard_has_no_room_for_is_counted() {
        let [a, _] = associations();
        let run = Bytes::from(vec![0; 1 << 16]);
        let full = || {
            let mut inbox = Inbox::default();
            for datagram in run.chunks(1 << 14) {
                add(&mut inbox, &a, Body::Part { datagram, of: &run }, 1 << 14);
            }
            inbox
        };
        let mut inbox = Inbox::default();
        for _ in 0..MAX_BYTES >> 16 {
            assert_eq!(inbox.append(&mut full()), 0);
        }
        assert_eq!(inbox.append(&mut full()), 4);
        assert_eq!((inbox.bytes, inbox.parcels.len()), (MAX_BYTES, MAX_BYTES >> 16));
    }
}
