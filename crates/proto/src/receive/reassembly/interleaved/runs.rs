//! Puts the fragments of interleaved messages together.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use polypath_wire::{DataFlags, IData, Payload};
use smallvec::SmallVec;

use super::{Assembled, MessageTsns, header};
use crate::receive::reassembly::{AbortedDelivery, Discarded, Dropped, Violation};
use crate::receive::tsn_map::WideTsn;
use crate::{Mid, Piece, ReceivedMessage, Tsn};

/// Which message a fragment belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MessageKey {
    pub(super) stream: u16,
    pub(super) unordered: bool,
    pub(super) mid: Mid,
}

impl MessageKey {
    pub(super) fn of(data: &IData<'_>) -> Self {
        let unordered = data.flags.contains(DataFlags::UNORDERED);
        Self { stream: data.stream, unordered, mid: Mid(data.mid) }
    }

    /// A message with this identifier was complete before.
    pub(super) fn repeated(self) -> Violation {
        Violation::RepeatedMid { stream: self.stream, mid: self.mid.0 }
    }

    fn place(self, fsn: u32) -> FragmentPlace {
        (self.stream, self.unordered, self.mid.0, fsn)
    }
}

/// Stream, U bit, MID and FSN.
pub(super) type FragmentPlace = (u16, bool, u32, u32);

/// Consecutive fragments of a message that is not complete. The first one is the message's first exactly if its number is 0.
#[derive(Debug)]
struct FragmentRun {
    /// Number of the last fragment.
    last: u32,
    /// Whether that is the message's last.
    ends: bool,
    /// Whether the fragments before the first one here were delivered.
    is_under_way: bool,
    /// Payload protocol identifier, if the first fragment is the message's first.
    ppid: u32,
    fragments: VecDeque<(WideTsn, Payload<'static>)>,
    /// Bytes of these.
    bytes: usize,
}

/// Where a fragment went.
#[derive(Debug)]
pub(super) enum Inserted {
    /// It made its message complete.
    Complete(Assembled),
    /// It is in the run that begins with this number.
    Run(u32),
}

/// The fragments of incomplete messages, as runs by the place of their first one.
#[derive(Debug, Default)]
pub(super) struct FragmentRuns {
    runs: BTreeMap<FragmentPlace, FragmentRun>,
}

impl FragmentRuns {
    /// Gives the memory of an empty map back: it keeps a node.
    pub(super) fn release_memory(&mut self) {
        if self.runs.is_empty() {
            self.runs = BTreeMap::new();
        }
    }

    /// Whether there are fragments of the message.
    pub(super) fn has_any_of(&self, key: MessageKey) -> bool {
        !self.runs.is_empty()
            && self.runs.range(key.place(0)..=key.place(u32::MAX)).next().is_some()
    }

    /// Takes in a fragment.
    pub(super) fn insert(
        &mut self,
        key: MessageKey,
        tsn: WideTsn,
        data: &IData<'_>,
    ) -> Result<Inserted, Violation> {
        let begins = data.flags.contains(DataFlags::BEGIN);
        let ends = data.flags.contains(DataFlags::END);
        let number = tsn.narrow().0;
        let (fsn, ppid) = match (begins, data.ppid_or_fsn) {
            (true, ppid) => (0, ppid),
            // The fragment with this number has the B bit.
            (false, 0) => return Err(Violation::MissingBegin { tsn: number }),
            (false, fsn) => (fsn, 0),
        };
        let next = self.runs.range(key.place(fsn)..=key.place(u32::MAX)).next();
        let next = next.map(|(place, _)| place.3);
        if next == Some(fsn) || ends && next.is_some() {
            return Err(Violation::RepeatedFragment { tsn: number });
        }
        let (fragment, bytes) = ((tsn, data.payload.to_owned()), data.payload.len());
        let before = self.runs.range_mut(key.place(0)..key.place(fsn)).next_back();
        let mut first = fsn;
        match before {
            Some((_, run)) if run.ends || run.last >= fsn => {
                return Err(Violation::RepeatedFragment { tsn: number });
            }
            Some((place, run)) if run.last + 1 == fsn => {
                first = place.3;
                (run.last, run.ends) = (fsn, ends);
                run.bytes += bytes;
                run.fragments.push_back(fragment);
            }
            _ => {
                let mut fragments = VecDeque::with_capacity(1);
                fragments.push_back(fragment);
                let is_under_way = false;
                let run = FragmentRun { last: fsn, ends, is_under_way, ppid, fragments, bytes };
                self.runs.insert(key.place(fsn), run);
            }
        }
        if next.is_some() && next == fsn.checked_add(1) {
            self.join(key.place(first), key.place(fsn + 1));
        }
        Ok(self.take_complete(key, first).map_or(Inserted::Run(first), Inserted::Complete))
    }

    /// Drops the fragments of messages of this stream and kind up to this one.
    pub(super) fn drop_up_to(&mut self, key: MessageKey) -> Dropped {
        let mut dropped = Dropped::default();
        if self.runs.is_empty() {
            return dropped;
        }
        let oldest = Mid(key.mid.0.wrapping_sub(i32::MAX as u32));
        for mids in serial_ranges(oldest, key.mid).into_iter().flatten() {
            let [low, high] = [(*mids.start(), 0), (*mids.end(), u32::MAX)]
                .map(|(mid, fsn)| MessageKey { mid: Mid(mid), ..key }.place(fsn));
            while let Some((&place, _)) = self.runs.range(low..=high).next()
                && let Some(run) = self.runs.remove(&place)
            {
                dropped.chunks += run.fragments.len();
                dropped.bytes += run.bytes;
                if run.is_under_way {
                    let key = MessageKey { mid: Mid(place.2), ..key };
                    dropped.aborted = Some(AbortedDelivery::of(&header(key, 0, Tsn(0))));
                }
            }
        }
        dropped
    }

    /// The highest TSN of all fragments, and the place of its run.
    pub(super) fn highest(&self) -> Option<(WideTsn, FragmentPlace)> {
        let highest = |run: &FragmentRun| run.fragments.iter().map(|(tsn, _)| *tsn).max();
        self.runs.iter().filter_map(|(place, run)| Some((highest(run)?, *place))).max()
    }

    /// Discards the fragment with the highest TSN of a run.
    pub(super) fn discard(&mut self, place: FragmentPlace) -> Option<Discarded> {
        let run = self.runs.get_mut(&place)?;
        let at = (0..run.fragments.len()).max_by_key(|at| run.fragments[*at].0)?;
        let behind = run.fragments.split_off(at + 1);
        let (first, payload) = run.fragments.pop_back()?;
        let (stream, unordered, mid, fsn) = place;
        let number = fsn + at as u32;
        let (last, ends) = (run.last, run.ends);
        let bytes_behind = behind.iter().map(|(_, it)| it.len()).sum::<usize>();
        run.bytes -= payload.len() + bytes_behind;
        (run.last, run.ends) = (number.wrapping_sub(1), false);
        if run.fragments.is_empty() {
            self.runs.remove(&place);
        }
        if !behind.is_empty() {
            let (is_under_way, bytes) = (false, bytes_behind);
            let run = FragmentRun { last, ends, is_under_way, ppid: 0, fragments: behind, bytes };
            self.runs.insert((stream, unordered, mid, number + 1), run);
        }
        Some(Discarded { first, chunks: 1, bytes: payload.len() })
    }

    /// Appends the run that directly follows another one; the shorter one is moved.
    fn join(&mut self, first: FragmentPlace, second: FragmentPlace) {
        let Some(mut next) = self.runs.remove(&second) else { return };
        let Some(run) = self.runs.get_mut(&first) else { return };
        (run.last, run.ends) = (next.last, next.ends);
        run.bytes += next.bytes;
        if run.fragments.len() >= next.fragments.len() {
            run.fragments.append(&mut next.fragments);
        } else {
            while let Some(fragment) = run.fragments.pop_back() {
                next.fragments.push_front(fragment);
            }
            run.fragments = next.fragments;
        }
    }

    fn take_complete(&mut self, key: MessageKey, first: u32) -> Option<Assembled> {
        let is_complete = first == 0 && self.runs.get(&key.place(first)).is_some_and(|it| it.ends);
        let run = if is_complete { self.runs.remove(&key.place(first))? } else { return None };
        let piece = if run.is_under_way { Piece::Last } else { Piece::Whole };
        Some(assembled(key, run.ppid, piece, run.fragments.into_iter()))
    }

    /// Whether the beginning of a message was delivered.
    pub(super) fn is_under_way(&self, key: MessageKey) -> bool {
        self.runs.get(&key.place(0)).is_some_and(|run| run.is_under_way)
    }

    /// Whether the beginning of a message was delivered up to the fragment before number `fsn`.
    pub(super) fn is_under_way_up_to(&self, key: MessageKey, fsn: u32) -> bool {
        let is_next = |run: &FragmentRun| run.is_under_way && run.last.checked_add(1) == Some(fsn);
        self.runs.get(&key.place(0)).is_some_and(is_next)
    }

    /// Whether the beginning of another message of the same stream and kind was delivered.
    pub(super) fn is_occupied(&self, key: MessageKey) -> bool {
        let whole = |mid| MessageKey { mid: Mid(mid), ..key }.place(0);
        self.runs.range(whole(0)..=whole(u32::MAX)).any(|(_, run)| run.is_under_way)
    }

    /// Bytes of the beginning of a message, as far as it was not delivered.
    pub(super) fn bytes_begun(&self, key: MessageKey) -> usize {
        self.runs.get(&key.place(0)).map_or(0, |run| run.bytes)
    }

    /// The largest beginning of a message which `may_begin` to be delivered.
    pub(super) fn largest_begun(
        &self,
        may_begin: impl Fn(MessageKey) -> bool,
    ) -> Option<MessageKey> {
        let keys = self.runs.iter().filter(|(place, run)| place.3 == 0 && run.bytes > 0);
        let keys = keys.map(|(&(stream, unordered, mid, _), run)| {
            (run.bytes, MessageKey { stream, unordered, mid: Mid(mid) })
        });
        keys.filter(|(_, key)| may_begin(*key)).max_by_key(|(bytes, _)| *bytes).map(|(_, key)| key)
    }

    /// Takes the available beginning of a message; its rest will follow.
    pub(super) fn take_piece(&mut self, key: MessageKey) -> Option<Assembled> {
        let run = self.runs.get_mut(&key.place(0))?;
        let piece = if run.is_under_way { Piece::Middle } else { Piece::First };
        (run.is_under_way, run.bytes) = (true, 0);
        let ppid = run.ppid;
        Some(assembled(key, ppid, piece, run.fragments.drain(..)))
    }

    /// Drops messages of these streams, or of all if none is listed, whose beginning was delivered.
    pub(super) fn drop_under_way(
        &mut self,
        streams: &[u16],
        mut note: impl FnMut(AbortedDelivery),
    ) -> Dropped {
        let mut dropped = Dropped::default();
        let is_concerned = |key: MessageKey| streams.is_empty() || streams.contains(&key.stream);
        let under_way = self.runs.iter().filter(|(_, run)| run.is_under_way);
        let keys = under_way.map(|(&(stream, unordered, mid, _), _)| MessageKey {
            stream,
            unordered,
            mid: Mid(mid),
        });
        let keys: Vec<_> = keys.filter(|key| is_concerned(*key)).collect();
        for key in keys {
            note(AbortedDelivery::of(&header(key, 0, Tsn(0))));
            // Fragments after a gap are dropped as well.
            while let Some((&place, _)) = self.runs.range(key.place(0)..=key.place(u32::MAX)).next()
                && let Some(run) = self.runs.remove(&place)
            {
                dropped.chunks += run.fragments.len();
                dropped.bytes += run.bytes;
            }
        }
        dropped
    }
}

fn assembled(
    key: MessageKey,
    ppid: u32,
    piece: Piece,
    from: impl ExactSizeIterator<Item = (WideTsn, Payload<'static>)>,
) -> Assembled {
    let mut tsns = Vec::with_capacity(from.len());
    let mut fragments = SmallVec::with_capacity(from.len());
    for (tsn, payload) in from {
        tsns.push(tsn);
        fragments.push(payload);
    }
    let first = tsns.first().map_or(Tsn(0), |tsn| tsn.narrow());
    let message = ReceivedMessage { fragments, piece, ..header(key, ppid, first) };
    Assembled { mid: key.mid, tsns: MessageTsns::Many(tsns.into_boxed_slice()), message }
}

/// The identifiers from `from` to `to`, in the order of serial numbers: two ranges if they wrap.
pub(super) fn serial_ranges(from: Mid, to: Mid) -> [Option<RangeInclusive<u32>>; 2] {
    match from.0 <= to.0 {
        true => [Some(from.0..=to.0), None],
        false => [Some(from.0..=u32::MAX), Some(0..=to.0)],
    }
}

/// What a fragment takes that is a run of its own: its part of a tree node that may be half empty, and its list.
#[cfg(test)]
pub(super) const FRAGMENT_BYTES: usize = 2
    * (size_of::<FragmentPlace>() + size_of::<FragmentRun>())
    + size_of::<(WideTsn, Payload<'static>)>();
