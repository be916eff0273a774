//! Buffers for received datagrams.
//!
//! The system coalesces datagrams into runs of up to 64 KiB. Messages refer to the memory of a long run instead of
//! copying it; the memory returns when the last of them was read. A short run is copied, since a message must not keep
//! much more memory than its own, and so is every run while many are in use.

use std::array;
use std::io::{self, IoSliceMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use polypath_proto::{Body, Ecn};
use quinn_udp::RecvMeta;

use crate::lock::lock;
use crate::socket::{Port, ecn_of};

/// Buffers per system call.
pub(crate) const BUFFERS: usize = 16;
/// Bytes of one buffer: the longest run of datagrams that the system coalesces.
const BUFFER: usize = 1 << 16;
/// Minimum length in bytes of a run that messages refer to.
const LEAST_LENT: usize = BUFFER / 4;
/// Maximum number of runs in use: 16 MiB per endpoint, whatever its peers send and its users read.
const MAX_LENT: usize = 256;
/// Maximum number of unused buffers that are kept.
const MAX_SPARE: usize = 64;

/// Receive buffers of an endpoint, for one socket after the other.
#[derive(Debug)]
pub(crate) struct Inbound {
    buffers: [Vec<u8>; BUFFERS],
    /// The runs of the last call that messages refer to, instead of their buffers.
    lent: [Option<Bytes>; BUFFERS],
    meta: [RecvMeta; BUFFERS],
    pool: Arc<Pool>,
}

/// Returned buffers, and the number of those in use.
#[derive(Debug, Default)]
struct Pool {
    spare: Mutex<Spare>,
    lent: AtomicUsize,
}

/// Buffers for later.
#[derive(Debug, Default)]
struct Spare {
    buffers: Vec<Vec<u8>>,
    /// Number of buffers that were not needed since the last check.
    unused: usize,
}

/// A buffer in use by messages.
struct Lent {
    buffer: Vec<u8>,
    len: usize,
    pool: Arc<Pool>,
}

/// One SCTP packet in the buffers.
#[derive(Debug)]
pub(crate) struct Datagram<'a> {
    pub(crate) remote: std::net::SocketAddr,
    pub(crate) ecn: Ecn,
    pub(crate) contents: &'a [u8],
    /// Distance of the packets of its run.
    pub(crate) stride: usize,
    /// The memory that it shares, if any.
    memory: Option<&'a Bytes>,
}

impl<'a> Datagram<'a> {
    /// The form that the protocol takes.
    pub(crate) fn body(&self) -> Body<'a> {
        match self.memory {
            Some(of) => Body::Part { datagram: self.contents, of },
            None => Body::Datagram(self.contents),
        }
    }
}

impl Inbound {
    pub(crate) fn new() -> Self {
        Self {
            buffers: array::from_fn(|_| vec![0; BUFFER]),
            lent: [const { None }; BUFFERS],
            meta: [RecvMeta::default(); BUFFERS],
            pool: Arc::default(),
        }
    }

    /// Receives pending datagrams of a socket; returns the number of buffers filled.
    pub(crate) fn fill(&mut self, socket: &Port) -> io::Result<usize> {
        self.lent.fill(None);
        let mut buffers = self.buffers.iter_mut();
        let mut slices: [IoSliceMut<'_>; BUFFERS] = array::from_fn(|_| {
            IoSliceMut::new(buffers.next().map(Vec::as_mut_slice).unwrap_or_default())
        });
        let filled = socket.try_receive(&mut slices, &mut self.meta)?;
        for place in 0..filled {
            let len = self.meta[place].len.min(BUFFER);
            if len >= LEAST_LENT
                && let Some(fresh) = self.pool.lend()
            {
                let buffer = std::mem::replace(&mut self.buffers[place], fresh);
                let pool = Arc::clone(&self.pool);
                self.lent[place] = Some(Bytes::from_owner(Lent { buffer, len, pool }));
            }
        }
        Ok(filled)
    }

    /// Releases the runs of the last call; their messages keep what they need.
    pub(crate) fn release(&mut self) {
        self.lent.fill(None);
    }

    /// Whether there are unused buffers.
    pub(crate) fn has_spare(&self) -> bool {
        !lock(&self.pool.spare).buffers.is_empty()
    }

    /// Frees the buffers that were not needed since the last call, so that a burst does not keep its memory.
    pub(crate) fn trim(&mut self) {
        self.pool.trim();
    }

    /// The packets in the first `filled` buffers that were sent to `socket`'s own address, in order of arrival.
    pub(crate) fn datagrams<'a>(
        &'a self,
        filled: usize,
        socket: &'a Port,
    ) -> impl Iterator<Item = Datagram<'a>> {
        let runs = self.buffers.iter().zip(&self.lent).zip(&self.meta).take(filled);
        runs.filter(|(_, meta)| {
            meta.dst_ip.is_none_or(|destination| destination == socket.address())
        })
        .flat_map(move |((buffer, lent), meta)| {
            let run = match lent {
                Some(run) => run,
                None => &buffer[..meta.len.min(BUFFER)],
            };
            let (remote, ecn, memory) = (meta.addr, ecn_of(meta), lent.as_ref());
            let stride = meta.stride.max(1);
            run.chunks(stride).filter_map(move |received| {
                Some(Datagram { remote, ecn, contents: socket.packet(received)?, stride, memory })
            })
        })
    }
}

impl Pool {
    /// A buffer to replace one that messages refer to from now on; `None` while too many are in use.
    fn lend(&self) -> Option<Vec<u8>> {
        if self.lent.fetch_add(1, Ordering::Relaxed) >= MAX_LENT {
            self.lent.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let spare = lock(&self.spare).take();
        Some(spare.unwrap_or_else(|| vec![0; BUFFER]))
    }

    fn give_back(&self, buffer: Vec<u8>) {
        self.lent.fetch_sub(1, Ordering::Relaxed);
        let mut spare = lock(&self.spare);
        if spare.buffers.len() < MAX_SPARE {
            spare.buffers.push(buffer);
        }
    }

    fn trim(&self) {
        let unused = lock(&self.spare).split_unused();
        // Outside the lock, since it may take long.
        drop(unused);
    }
}

impl Spare {
    fn take(&mut self) -> Option<Vec<u8>> {
        let buffer = self.buffers.pop();
        self.unused = self.unused.min(self.buffers.len());
        buffer
    }

    /// The buffers that were not needed since the last call.
    fn split_unused(&mut self) -> Vec<Vec<u8>> {
        let needed = self.buffers.len() - self.unused;
        let unused = self.buffers.split_off(needed);
        self.unused = self.buffers.len();
        unused
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_when_the_last_message_in_them_was_read() {
        let pool = Arc::new(Pool::default());
        let mut buffer = pool.lend().unwrap();
        buffer[0] = 7;
        let run = Bytes::from_owner(Lent { buffer, len: 20_000, pool: Arc::clone(&pool) });
        assert_eq!(run.len(), 20_000);
        let messages = [run.slice(0..1000), run.slice(1000..20_000)];
        drop(run);
        assert_eq!((pool.lent.load(Ordering::Relaxed), lock(&pool.spare).buffers.len()), (1, 0));
        assert_eq!(messages[0][0], 7);
        drop(messages);
        assert_eq!((pool.lent.load(Ordering::Relaxed), lock(&pool.spare).buffers.len()), (0, 1));
        assert_eq!(pool.lend().unwrap()[0], 7, "the same buffer again");
        assert!(lock(&pool.spare).buffers.is_empty());
    }

    #[test]
    fn no_more_is_lent_than_there_may_be() {
        let pool = Pool::default();
        let lent: Vec<_> = (0..MAX_LENT).map(|_| pool.lend().unwrap()).collect();
        assert!(pool.lend().is_none() && pool.lend().is_none());
        for buffer in lent {
            pool.give_back(buffer);
        }
        assert_eq!(lock(&pool.spare).buffers.len(), MAX_SPARE);
        assert!(pool.lend().is_some());
    }

    #[test]
    fn buffers_that_nobody_needs_any_more_are_freed() {
        let pool = Pool::default();
        let spare = || lock(&pool.spare).buffers.len();
        let burst = |count: usize| {
            let lent: Vec<_> = (0..count).map(|_| pool.lend().unwrap()).collect();
            lent.into_iter().for_each(|buffer| pool.give_back(buffer));
        };
        burst(MAX_LENT);
        pool.trim();
        assert_eq!(spare(), MAX_SPARE, "they may be needed again");
        burst(20);
        burst(5);
        pool.trim();
        assert_eq!(spare(), 20);
        burst(25);
        pool.trim();
        assert_eq!(spare(), 25, "all of them were needed");
        pool.trim();
        assert_eq!(spare(), 0);
    }
}
