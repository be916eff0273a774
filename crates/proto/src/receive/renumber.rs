//! Resets of TSNs and streams (RFC 6525 sections 5.1.4 and 5.2.4).
//!
//! A peer that has reset may send before its response arrives, and its chunks do not show that. Arrivals between
//! request and response are therefore acknowledged but set aside; the response then shows to which side of the reset
//! they belong.

use alloc::vec::Vec;

use super::Receiver;
use super::reassembly::interleaved::Taken;
use super::reassembly::{Aside, Violation};
use super::tsn_map::TsnMap;
use crate::Tsn;

impl Receiver {
    /// Sets aside what arrives from now on.
    pub(crate) fn set_aside(&mut self) {
        self.reassembly.set_aside();
    }

    /// The response arrived: nothing was reset.
    pub(crate) fn take_back(&mut self) -> Result<(), Violation> {
        for chunk in self.reassembly.take_aside() {
            self.reassemble(&chunk)?;
        }
        self.keep_promises();
        Ok(())
    }

    /// What is set aside fills its space, and `arrived` is here now. Later arrivals are set aside as before.
    ///
    /// A peer that skips one TSN when it resets, as this implementation does, cannot have reset below a gap: data
    /// received in sequence dates from before, and so does all of it if the gap starts to close. For a peer that skips
    /// none, this is a guess.
    pub(super) fn relieve_aside(&mut self, arrived: Tsn) -> Result<(), Violation> {
        let cumulative = self.tsns.cumulative_tsn();
        let closes_gap = arrived == cumulative.next();
        let (before, unknown): (Vec<_>, Vec<_>) = self
            .reassembly
            .take_aside()
            .into_iter()
            .partition(|chunk| closes_gap || !chunk.tsn().is_after(cumulative));
        for chunk in &before {
            self.reassemble(chunk)?;
        }
        self.reassembly.put_aside(unknown);
        self.keep_promises();
        Ok(())
    }

    /// Sets aside the skipping of messages, while it is unknown whether their streams were reset. Without space, the
    /// peer is assumed not to have reset; contradictory chunks are those of messages that it has abandoned.
    pub(super) fn set_skip_aside(&mut self, entry: impl FnOnce() -> Aside) -> bool {
        let is_aside = self.reassembly.set_skip_aside(entry);
        if !is_aside && self.reassembly.has_aside() {
            let _ = self.relieve_aside(self.tsns.cumulative_tsn());
        }
        is_aside
    }

    /// The response arrived: from `next` on, the peer's TSNs belong to reset streams.
    pub(crate) fn begin_anew_at(&mut self, next: Tsn) -> Result<(), Violation> {
        let (before, after): (Vec<_>, Vec<_>) =
            self.reassembly.take_aside().into_iter().partition(|chunk| chunk.tsn().is_before(next));
        for chunk in &before {
            self.reassemble(chunk)?;
        }
        self.drop_undeliverable();
        self.tsns.advance_to(next.previous());
        for chunk in &after {
            self.reassemble(chunk)?;
        }
        self.keep_promises();
        Ok(())
    }

    /// What became deliverable at last is not discarded any more, if that is promised. It must not wait for the next chunk: its TSN
    /// may be one of others by then.
    fn keep_promises(&mut self) {
        if self.reassembly.follows_joined() {
            self.make_joined_firm();
        }
    }

    /// The peer resets everything: its streams, and its next TSN to `next`, whatever has arrived before.
    pub(crate) fn renumber(&mut self, next: Tsn) {
        self.drop_undeliverable();
        // Messages that waited only for others that will never arrive are deliverable now.
        self.keep_promises();
        self.tsns = TsnMap::new(next, u32::MAX);
        self.duplicates.clear();
        // What waited to be acknowledged was so by the reset.
        let _ = self.acks.on_sack();
    }

    /// Stores a chunk whose TSN was recorded.
    fn reassemble(&mut self, chunk: &Aside) -> Result<(), Violation> {
        let tsn = self.tsns.wide(chunk.tsn());
        let (bytes, kept) = match chunk {
            Aside::Data(data) => {
                (data.payload.len(), self.reassembly.on_data(tsn, data).map(|()| true)?)
            }
            Aside::IData(data) => {
                let taken = self.reassembly.on_i_data(tsn, data)?;
                (data.payload.len(), taken == Taken::Kept)
            }
            Aside::Skip(point, skipped) => {
                let dropped = self.skip_streams(*point, skipped);
                self.window.release(dropped.bytes, dropped.chunks);
                return Ok(());
            }
            Aside::SkipMessages(_, skipped) => {
                let dropped = self.skip_messages(skipped);
                self.window.release(dropped.bytes, dropped.chunks);
                return Ok(());
            }
        };
        if !kept {
            self.window.release(bytes, 1);
        }
        Ok(())
    }

    /// All streams are reset; incomplete and waiting messages will never be delivered.
    fn drop_undeliverable(&mut self) {
        let (bytes, chunks) = self.reassembly.begin_anew();
        self.window.keep_only(bytes, chunks);
    }
}
