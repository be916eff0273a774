//! Buffers that datagrams are received into.

use std::array;
use std::io::{self, IoSliceMut};

use polypath_proto::Ecn;
use quinn_udp::RecvMeta;

use super::port::Port;
use super::socket::ecn_of;

/// Buffers filled by one call of the system.
pub(crate) const BUFFERS: usize = 16;
/// Bytes of one buffer: the longest run of datagrams that the system coalesces.
const BUFFER: usize = 1 << 16;

/// Receive buffers of an endpoint, used for one socket after the other.
#[derive(Debug)]
pub(crate) struct Inbound {
    storage: Vec<u8>,
    meta: [RecvMeta; BUFFERS],
}

/// One SCTP packet in the buffers.
#[derive(Debug)]
pub(crate) struct Datagram<'a> {
    pub(crate) remote: std::net::SocketAddr,
    pub(crate) ecn: Ecn,
    pub(crate) contents: &'a [u8],
}

impl Inbound {
    pub(crate) fn new() -> Self {
        Self { storage: vec![0; BUFFER * BUFFERS], meta: [RecvMeta::default(); BUFFERS] }
    }

    /// Receives what waits at a socket; gives the number of buffers filled.
    pub(crate) fn fill(&mut self, socket: &Port) -> io::Result<usize> {
        let mut chunks = self.storage.chunks_exact_mut(BUFFER);
        let mut slices: [IoSliceMut<'_>; BUFFERS] =
            array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
        socket.try_receive(&mut slices, &mut self.meta)
    }

    /// The packets in the first `filled` buffers that were sent to `socket`'s own address, in order of arrival.
    pub(crate) fn datagrams<'a>(
        &'a self,
        filled: usize,
        socket: &'a Port,
    ) -> impl Iterator<Item = Datagram<'a>> {
        let buffers = self.storage.chunks_exact(BUFFER).zip(&self.meta).take(filled);
        buffers
            .filter(|(_, meta)| {
                meta.dst_ip.is_none_or(|destination| destination == socket.address())
            })
            .flat_map(move |(buffer, meta)| {
                let run = &buffer[..meta.len.min(BUFFER)];
                let (remote, ecn) = (meta.addr, ecn_of(meta));
                run.chunks(meta.stride.max(1)).filter_map(move |received| {
                    Some(Datagram { remote, ecn, contents: socket.packet(received)? })
                })
            })
    }
}
