//! The receive window: what is held, accepted and advertised (RFC 9260 section 6.2).

use core::mem;

use super::budget::Share;
use crate::config::{AdvertisedWindow, WindowUpdates};
use crate::types::UserDataChunk;

/// What a chunk is taken to cost beyond its user data: bookkeeping, allocator, its share of a tree node.
const CHUNK_OVERHEAD: u64 = 256;

/// Memory that may be held per byte of buffer; only chunks below about 85 bytes reach it before they fill the buffer.
const MEMORY_FACTOR: u64 = 4;

/// Accounts for the receive buffer.
///
/// Two quantities are counted: user data, which the advertised window refers to, and memory, which includes an overhead
/// per chunk, so that chunks of one byte cannot hold many times the buffer. If memory is scarcer, it limits the
/// advertised window, too.
///
/// A third one is the memory of all associations of an endpoint, if that is [limited](Share).
#[derive(Debug)]
pub struct ReceiveWindow {
    buffer: u32,
    /// User data that the peer may still send after all that has arrived, as last advertised.
    credit: u32,
    buffered: u64,
    memory: u64,
    peak: u32,
    mtu: u16,
    /// What a chunk takes beside its user data.
    header: u8,
    updates: WindowUpdates,
    share: Share,
}

impl ReceiveWindow {
    /// An empty buffer of `buffer` bytes that the handshake has advertised.
    pub fn new(buffer: u32, mtu: u16, rules: AdvertisedWindow, chunk: UserDataChunk) -> Self {
        Self {
            buffer,
            mtu,
            header: chunk.counted_header(rules.bytes_counted) as u8,
            updates: rules.updates,
            buffered: 0,
            memory: 0,
            peak: 0,
            credit: buffer,
            share: Share::default(),
        }
    }

    /// Counts the held data in a budget as well.
    pub fn share(&mut self, share: Share) {
        self.share.changed(self.memory, 0);
        share.changed(0, self.memory);
        self.share = share;
    }

    /// Gives up the part in a budget, for the window that follows.
    pub fn take_share(&mut self) -> Share {
        self.share.changed(self.memory, 0);
        mem::take(&mut self.share)
    }

    /// Makes the buffer at least this large.
    pub fn enlarge(&mut self, bytes: u32) {
        self.buffer = self.buffer.max(bytes);
    }

    /// Whether any new DATA chunk is kept. The last one may exceed the remaining space.
    pub fn has_space(&self) -> bool {
        self.buffered < u64::from(self.buffer)
            && self.memory < self.memory_limit()
            && self.share.room(self.memory) > 0
    }

    /// Whether the lowest missing TSN is kept without space for it. Since acknowledged data is never dropped, refusing
    /// the chunk that everything else waits for could stall the association for good.
    pub fn has_reserve(&self) -> bool {
        let reserve = u64::from(self.buffer / 2).max(4 * u64::from(self.mtu));
        self.memory < self.memory_limit() + reserve && self.share.has_reserve(self.memory)
    }

    /// Whether the budget, and not the size of the buffer, is why there is no space.
    pub fn is_held_back(&self) -> bool {
        self.buffered < u64::from(self.buffer)
            && self.memory < self.memory_limit()
            && self.share.room(self.memory) == 0
    }

    /// Takes in a chunk with `len` bytes of user data.
    #[inline(always)]
    pub fn hold(&mut self, len: usize) {
        let room = self.room_of(len, 1);
        self.buffered += room;
        self.set_memory(self.memory + len as u64 + CHUNK_OVERHEAD);
        self.peak = self.peak.max(u32::try_from(self.buffered).unwrap_or(u32::MAX));
        self.credit = self.credit.saturating_sub(u32::try_from(room).unwrap_or(u32::MAX));
    }

    /// Gives back what a message held that had `len` bytes of user data in `chunks` chunks.
    pub fn release(&mut self, len: usize, chunks: usize) {
        self.buffered = self.buffered.saturating_sub(self.room_of(len, chunks));
        self.set_memory(self.memory.saturating_sub(len as u64 + CHUNK_OVERHEAD * chunks as u64));
    }

    /// Only these bytes are still held, in this many chunks.
    pub fn keep_only(&mut self, len: usize, chunks: usize) {
        self.buffered = self.room_of(len, chunks);
        self.set_memory(len as u64 + CHUNK_OVERHEAD * chunks as u64);
    }

    /// Space of this much user data in this many chunks.
    fn room_of(&self, len: usize, chunks: usize) -> u64 {
        len as u64 + u64::from(self.header) * chunks as u64
    }

    fn set_memory(&mut self, bytes: u64) {
        self.share.changed(self.memory, bytes);
        self.memory = bytes;
    }

    /// The window to advertise now. Small increases are held back until they are worth it (silly window avoidance as in
    /// RFC 1122 section 4.2.3.3), except when nothing is held any more.
    pub fn a_rwnd(&self) -> u32 {
        let free = self.free();
        let step = u32::from(self.mtu).min(self.buffer / 2);
        let holds_back = self.buffered > 0 && self.updates == WindowUpdates::On;
        if holds_back && free > self.credit && free - self.credit < step {
            self.credit
        } else {
            free
        }
    }

    /// Takes note that [`a_rwnd`](Self::a_rwnd) was advertised, which it gives.
    pub fn advertise(&mut self) -> u32 {
        self.credit = self.a_rwnd();
        self.credit
    }

    /// Whether the window has opened enough since it was last advertised to inform the peer without new data: by a
    /// quarter of the buffer, or by two packets if it may have stopped the peer (RFC 9260 section 6.2).
    pub fn update_is_due(&self) -> bool {
        if self.updates == WindowUpdates::Off {
            return false;
        }
        let opened = self.free().saturating_sub(self.credit);
        let mtu = u32::from(self.mtu);
        let step = (2 * mtu).min(self.buffer / 2).max(1);
        let stopped = self.credit < step;
        let all_free = self.buffered == 0 && self.credit < mtu && opened > 0;
        all_free || opened >= step && (stopped || opened >= self.buffer / 4)
    }

    /// Size of the buffer in bytes.
    pub fn buffer(&self) -> u32 {
        self.buffer
    }

    /// Bytes of user data held.
    pub fn buffered(&self) -> u64 {
        self.buffered
    }

    /// Most bytes of user data that were ever held, up to 4 GiB.
    pub fn peak(&self) -> u64 {
        self.peak.into()
    }

    fn free(&self) -> u32 {
        let data = u64::from(self.buffer).saturating_sub(self.buffered);
        let memory = self.memory_limit().saturating_sub(self.memory);
        data.min(memory).min(self.share.room(self.memory)) as u32
    }

    fn memory_limit(&self) -> u64 {
        u64::from(self.buffer) * MEMORY_FACTOR
    }
}

impl Drop for ReceiveWindow {
    fn drop(&mut self) {
        self.share.changed(self.memory, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BytesCounted, Preset};
    use crate::receive::budget::{Budget, SharedBudget};

    /// A window with `buffer` bytes, MTU 1500, of which a SACK has advertised everything.
    fn window(buffer: u32) -> ReceiveWindow {
        let rules = Preset::Rfc9260.policies().advertised_window;
        ReceiveWindow::new(buffer, 1500, rules, UserDataChunk::Data)
    }

    fn filled(buffer: u32, chunks: u32, len: usize) -> ReceiveWindow {
        let mut window = window(buffer);
        for _ in 0..chunks {
            window.hold(len);
        }
        window
    }

    #[test]
    fn the_window_is_the_buffer_without_what_is_held() {
        let mut window = filled(10_000, 3, 1000);
        assert_eq!(window.advertise(), 7000);
        window.hold(2500);
        assert_eq!(window.advertise(), 4500);
        assert_eq!((window.buffered(), window.peak()), (5500, 5500));
        window.release(3000, 3);
        assert_eq!(window.advertise(), 7500);
        window.release(2500, 1);
        assert_eq!(window.advertise(), 10_000);
        assert_eq!((window.buffered(), window.peak(), window.memory), (0, 5500, 0));
    }

    #[test]
    fn small_openings_are_not_advertised() {
        // (buffer, bytes read of a full buffer, advertised)
        for (buffer, read, expected) in [
            (20_000, 1499, 0),
            (20_000, 1500, 1500),
            (20_000, 9000, 9000),
            // Half of a small buffer is enough.
            (2000, 999, 0),
            (2000, 1000, 1000),
            // An empty buffer is worth telling, however small.
            (1000, 400, 0),
            (1000, 1000, 1000),
        ] {
            let mut window = filled(buffer, 1, buffer as usize);
            assert_eq!(window.advertise(), 0);
            window.release(read, 1);
            assert_eq!(window.advertise(), expected, "{read} read of {buffer}");
        }
    }

    #[test]
    fn updates_are_sent_when_they_help() {
        // (buffer, credit of the peer when it had read nothing, bytes read, update)
        for (buffer, credit, read, expected) in [
            // The peer may be stopped: two packets are enough.
            (100_000, 0, 2999, false),
            (100_000, 0, 3000, true),
            (100_000, 2999, 3000, true),
            // The peer has space to continue: a quarter of the buffer.
            (100_000, 3000, 24_999, false),
            (100_000, 3000, 25_000, true),
            (100_000, 70_000, 20_000, false),
            // A small buffer: half of it, and any change when it is empty.
            (4000, 100, 1999, false),
            (4000, 100, 2000, true),
            (1500, 800, 699, false),
            (1500, 800, 700, true),
            (1500, 1500, 0, false),
        ] {
            let mut window = window(buffer);
            window.hold((buffer - credit) as usize);
            window.advertise();
            window.release(read, 0);
            let case = (buffer, credit, read);
            assert_eq!(window.update_is_due(), expected, "{case:?}");
            if expected {
                window.advertise();
                assert!(!window.update_is_due(), "{case:?}: told once");
            }
        }
    }

    #[test]
    fn what_arrives_uses_up_what_was_advertised() {
        let mut window = window(100_000);
        for (buffered, expected) in [(40_000, 60_000), (40_000, 20_000), (19_000, 1000)] {
            window.hold(buffered);
            assert_eq!(window.a_rwnd(), expected);
        }
        window.release(3500, 1);
        assert!(window.update_is_due(), "the peer has 1000 bytes left");
        window.release(55_500, 2);
        window.advertise();
        window.hold(10_000);
        window.release(1000, 1);
        assert_eq!(window.a_rwnd(), 50_000, "1000 bytes are not worth it");
    }

    #[test]
    fn a_last_chunk_may_exceed_the_buffer_but_not_the_next() {
        let mut window = filled(2000, 1, 1999);
        assert!(window.has_space());
        window.hold(1400);
        assert!(!window.has_space());
        assert_eq!(window.advertise(), 0);
        window.release(1399, 1);
        assert!(!window.has_space(), "2000 bytes are still held");
        window.release(1, 0);
        assert!(window.has_space());
    }

    #[test]
    fn tiny_chunks_run_into_the_memory_limit() {
        let mut window = window(100_000);
        let mut chunks = 0;
        while window.has_space() {
            window.hold(1);
            chunks += 1;
        }
        assert_eq!(chunks, 400_000_u64.div_ceil(257));
        assert_eq!(window.advertise(), 0, "the peer must learn of it");
        while window.has_reserve() {
            window.hold(1);
        }
        assert!((450_000..450_000 + 257).contains(&window.memory));
        let chunks = window.buffered() as usize;
        window.release(chunks, chunks);
        assert_eq!(window.advertise(), 100_000);
    }

    #[test]
    fn a_budget_shrinks_the_windows_of_all_who_share_it() {
        let budget = SharedBudget::new(Budget::new(1 << 20));
        let mut windows = [window(10 << 20), window(10 << 20)];
        windows.iter_mut().for_each(|window| window.share(Share::of(&budget)));
        assert_eq!(windows[0].a_rwnd(), 256 << 10, "half of the pool");
        while windows[0].has_space() {
            windows[0].hold(1400);
        }
        assert_eq!(windows[0].a_rwnd(), 0);
        assert_eq!(windows[1].a_rwnd(), 128 << 10, "the other half, by two");
        // Space of read data, or of an ended association, is available to the others again.
        windows[0].release(windows[0].buffered() as usize, 0);
        windows[0].keep_only(0, 0);
        assert_eq!(budget.used(), 0);
        windows[0].hold(1000);
        drop(windows);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn the_overhead_covers_what_a_chunk_really_needs() {
        // A message, its place in a tree node that may be half empty, the allocation of a byte with its header.
        let message = size_of::<crate::receive::reassembly::Complete>() + size_of::<(u16, u16)>();
        assert!(2 * message + 2 * 32 <= CHUNK_OVERHEAD as usize);
        let waiting = crate::receive::reassembly::interleaved::WAITING_BYTES;
        assert!(2 * waiting + 2 * 32 <= CHUNK_OVERHEAD as usize, "{waiting}");
        let fragment = crate::receive::reassembly::interleaved::FRAGMENT_BYTES;
        assert!(fragment + 2 * 32 <= CHUNK_OVERHEAD as usize, "{fragment}");
    }

    /// As in ns-2: the chunk header counts, and only the next SACK advertises freed space, to the byte.
    #[test]
    fn headers_take_room_and_updates_are_left_out() {
        let (bytes_counted, updates) = (BytesCounted::WithHeader, WindowUpdates::Off);
        let rules = AdvertisedWindow { bytes_counted, updates };
        let mut window = ReceiveWindow::new(5 * 1468, 1500, rules, UserDataChunk::Data);
        (0..4).for_each(|_| window.hold(1452));
        assert_eq!(window.advertise(), 1468);
        window.hold(1452);
        assert!(!window.has_space());
        window.release(100, 0);
        assert_eq!((window.update_is_due(), window.advertise()), (false, 100));
        window.release(4 * 1452, 4);
        assert_eq!((window.update_is_due(), window.advertise()), (false, 4 * 1468 + 100));
        window.keep_only(1452, 1);
        assert_eq!(window.advertise(), 4 * 1468);
    }
}
