//! Puts the fragments of interleaved messages together.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use polypath_wire::{DataFlags, IData, Payload};
use smallvec::SmallVec;

use super::{Assembled, MessageTsns, header};
use crate::receive::reassembly::{Discarded, Dropped, Violation};
use crate::receive::tsn_map::WideTsn;
use crate::{Mid, ReceivedMessage};

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
    /// Payload protocol identifier, if the first fragment is the message's first.
    ppid: u32,
    fragments: VecDeque<(WideTsn, Payload<'static>)>,
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

    /// Takes in a fragment; gives the message if that makes it complete.
    pub(super) fn insert(
        &mut self,
        key: MessageKey,
        tsn: WideTsn,
        data: &IData<'_>,
    ) -> Result<Option<Assembled>, Violation> {
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
        let fragment = (tsn, data.payload.to_owned());
        let before = self.runs.range_mut(key.place(0)..key.place(fsn)).next_back();
        let mut first = fsn;
        match before {
            Some((_, run)) if run.ends || run.last >= fsn => {
                return Err(Violation::RepeatedFragment { tsn: number });
            }
            Some((place, run)) if run.last + 1 == fsn => {
                first = place.3;
                (run.last, run.ends) = (fsn, ends);
                run.fragments.push_back(fragment);
            }
            _ => {
                let mut fragments = VecDeque::with_capacity(1);
                fragments.push_back(fragment);
                self.runs.insert(key.place(fsn), FragmentRun { last: fsn, ends, ppid, fragments });
            }
        }
        if next.is_some() && next == fsn.checked_add(1) {
            self.join(key.place(first), key.place(fsn + 1));
        }
        Ok(self.take_complete(key, first))
    }

    /// Drops what there is of the messages of this stream and kind up to this one.
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
                dropped.bytes += run.fragments.iter().map(|(_, it)| it.len()).sum::<usize>();
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
        (run.last, run.ends) = (number.wrapping_sub(1), false);
        if run.fragments.is_empty() {
            self.runs.remove(&place);
        }
        if !behind.is_empty() {
            let run = FragmentRun { last, ends, ppid: 0, fragments: behind };
            self.runs.insert((stream, unordered, mid, number + 1), run);
        }
        Some(Discarded { first, chunks: 1, bytes: payload.len() })
    }

    /// Appends the run that begins right behind another one; the shorter one is moved.
    fn join(&mut self, first: FragmentPlace, second: FragmentPlace) {
        let Some(mut next) = self.runs.remove(&second) else { return };
        let Some(run) = self.runs.get_mut(&first) else { return };
        (run.last, run.ends) = (next.last, next.ends);
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
        let mut tsns = Vec::with_capacity(run.fragments.len());
        let mut fragments = SmallVec::with_capacity(run.fragments.len());
        for (tsn, payload) in run.fragments {
            tsns.push(tsn);
            fragments.push(payload);
        }
        let message = ReceivedMessage { fragments, ..header(key, run.ppid) };
        let tsns = MessageTsns::Many(tsns.into_boxed_slice());
        Some(Assembled { mid: key.mid, tsns, message })
    }
}

/// The identifiers from `from` to `to`, in the order of serial numbers: two ranges where they wrap.
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
