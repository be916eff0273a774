//! Puts fragmented messages together (RFC 9260 section 6.9).
//!
//! The fragments of a message have consecutive TSNs, ordered or not, so one collection keyed by TSN serves both.
//! Contradictions show when two fragments meet, and at the latest when no TSN before them is missing any more.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use polypath_wire::{Data, DataFlags, Payload};
use smallvec::SmallVec;

use super::{
    AbortedDelivery, Complete, Discarded, Dropped, ReadyMessages, Violation, message_header,
};
use crate::receive::Incomplete;
use crate::receive::tsn_map::WideTsn;
use crate::{Delivery, Piece, ReceivedMessage};

/// Consecutive fragments of one message that is not yet complete.
#[derive(Debug)]
struct Run {
    last: WideTsn,
    /// Without fragments; those are kept in `fragments` until the message is complete. Its `piece` is `Whole` while nothing of it
    /// was delivered, then `Middle`.
    message: ReceivedMessage,
    /// B of the first and E of the last fragment.
    bounds: DataFlags,
    fragments: VecDeque<Payload<'static>>,
    /// Bytes of these.
    bytes: usize,
}

impl Run {
    fn new(tsn: WideTsn, data: &Data<'_>) -> Self {
        let mut fragments = VecDeque::with_capacity(1);
        fragments.push_back(data.payload.to_owned());
        let (message, bytes) = (message_header(data), data.payload.len());
        Self { last: tsn, message, bounds: bounds(data), fragments, bytes }
    }

    fn begins(&self) -> bool {
        self.bounds.contains(DataFlags::BEGIN)
    }

    fn ends(&self) -> bool {
        self.bounds.contains(DataFlags::END)
    }

    fn is_same_message(&self, data: &Data<'_>) -> bool {
        let (a, b) = (&self.message, message_header(data));
        a.stream == b.stream && a.delivery == b.delivery && a.ssn == b.ssn
    }

    fn push_back(&mut self, tsn: WideTsn, data: &Data<'_>) {
        self.last = tsn;
        self.bounds |= bounds(data);
        self.bytes += data.payload.len();
        self.fragments.push_back(data.payload.to_owned());
    }

    fn push_front(&mut self, data: &Data<'_>) {
        // The payload protocol identifier that counts is that of the first fragment.
        self.message = message_header(data);
        self.bounds |= bounds(data);
        self.bytes += data.payload.len();
        self.fragments.push_front(data.payload.to_owned());
    }

    /// Appends the run that follows; the shorter one is moved.
    fn append(&mut self, mut next: Self) {
        self.last = next.last;
        self.bounds |= next.bounds;
        self.bytes += next.bytes;
        if self.fragments.len() >= next.fragments.len() {
            self.fragments.append(&mut next.fragments);
        } else {
            while let Some(fragment) = self.fragments.pop_back() {
                next.fragments.push_front(fragment);
            }
            self.fragments = next.fragments;
        }
    }

    /// Whether its beginning was delivered.
    fn is_under_way(&self) -> bool {
        self.message.piece != Piece::Whole
    }

    /// Whether it may be delivered before it is complete.
    fn may_begin(&self, in_turn: impl Fn(u16, u16) -> bool) -> bool {
        let ReceivedMessage { stream, ssn, delivery, .. } = self.message;
        self.begins()
            && !self.is_under_way()
            && !self.fragments.is_empty()
            && (delivery == Delivery::Unordered || in_turn(stream, ssn))
    }

    fn into_complete(self) -> Complete {
        let first = self.first_kept();
        let piece = if self.is_under_way() { Piece::Last } else { Piece::Whole };
        let fragments = SmallVec::from_vec(Vec::from(self.fragments));
        let tsn = first.narrow();
        Complete { first, message: ReceivedMessage { fragments, piece, tsn, ..self.message } }
    }

    /// The TSN of the first fragment that was not delivered.
    fn first_kept(&self) -> WideTsn {
        self.last.next().minus(self.fragments.len() as u32)
    }
}

/// Where a fragment went.
#[derive(Debug)]
pub enum Placed {
    /// It made a message complete.
    Complete(Complete),
    /// It is in the run that begins with this TSN.
    Run(WideTsn),
}

/// The fragments of incomplete messages, as runs by their first TSN.
#[derive(Debug, Default)]
pub struct Fragments {
    runs: BTreeMap<WideTsn, Run>,
}

impl Fragments {
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Gives the memory of an empty map back: it keeps a node.
    pub fn release_memory(&mut self) {
        if self.runs.is_empty() {
            self.runs = BTreeMap::new();
        }
    }

    /// Takes in a fragment.
    pub fn insert(
        &mut self,
        tsn: WideTsn,
        data: &Data<'_>,
        incomplete: Incomplete,
    ) -> Result<Placed, Violation> {
        let joins_next = self.joins_next(tsn, data, incomplete)?;
        let before = self.runs.range_mut(..tsn).next_back();
        let before = before.filter(|(_, run)| run.last.next() == tsn);
        let joins_previous = match &before {
            Some((_, run)) => joins_previous(run, tsn, data, incomplete)?,
            None => false,
        };
        let first = match before {
            Some((first, run)) if joins_previous => {
                let first = *first;
                run.push_back(tsn, data);
                if joins_next {
                    self.join(first, tsn.next());
                }
                first
            }
            _ if joins_next => {
                if let Some(mut next) = self.runs.remove(&tsn.next()) {
                    next.push_front(data);
                    self.runs.insert(tsn, next);
                }
                tsn
            }
            _ => {
                self.runs.insert(tsn, Run::new(tsn, data));
                tsn
            }
        };
        Ok(self.take_complete(first).map_or(Placed::Run(first), Placed::Complete))
    }

    /// Looks for contradictions that only show once every TSN up to `cumulative` has arrived: a message without
    /// beginning or without end. Only the first run can have one.
    pub fn check_up_to(&self, cumulative: WideTsn) -> Result<(), Violation> {
        match self.runs.first_key_value() {
            Some((first, run)) if *first <= cumulative => {
                if !run.begins() {
                    Err(Violation::MissingBegin { tsn: first.narrow().0 })
                } else if run.last < cumulative {
                    Err(Violation::MissingEnd { tsn: run.last.next().narrow().0 })
                } else {
                    Ok(())
                }
            }
            _ => Ok(()),
        }
    }

    /// Drops the first run.
    pub fn drop_first(&mut self, dropped: &mut Dropped) {
        if let Some((_, run)) = self.runs.pop_first() {
            dropped.chunks += run.fragments.len();
            dropped.bytes += run.bytes;
            if run.is_under_way() {
                dropped.aborted = Some(AbortedDelivery::of(&run.message));
            }
        }
    }

    /// Drops the runs that lack a TSN up to `point` or whose message `is_over`, and those that can no longer become
    /// complete because nothing up to `cumulative` is missing any more.
    pub fn drop_abandoned(
        &mut self,
        point: WideTsn,
        cumulative: WideTsn,
        is_over: impl Fn(&ReceivedMessage) -> bool,
        dropped: &mut Dropped,
    ) {
        let mut kept = Vec::new();
        while let Some((first, run)) = self.runs.first_key_value() {
            let first = *first;
            if first > cumulative {
                break;
            }
            let lacks_begin = !run.begins() && first <= cumulative;
            let lacks_next = !run.ends() && run.last < cumulative;
            let gone = run.last <= point && is_over(&run.message);
            if lacks_begin || lacks_next || gone {
                self.drop_first(dropped);
            } else if let Some(run) = self.runs.remove(&first) {
                kept.push((first, run));
            }
        }
        self.runs.extend(kept);
    }

    /// Whether the fragment belongs to the message of the run that begins right after it.
    fn joins_next(
        &self,
        tsn: WideTsn,
        data: &Data<'_>,
        incomplete: Incomplete,
    ) -> Result<bool, Violation> {
        let Some(next) = self.runs.get(&tsn.next()) else { return Ok(false) };
        match (data.flags.contains(DataFlags::END), next.begins()) {
            (true, true) => Ok(false),
            (true, false) => Err(Violation::MissingBegin { tsn: tsn.next().narrow().0 }),
            // The peer gave up the rest of this message and went on with the next one.
            (false, true) if incomplete == Incomplete::MayBeAbandoned => Ok(false),
            (false, true) => Err(Violation::MissingEnd { tsn: tsn.next().narrow().0 }),
            (false, false) if next.is_same_message(data) => Ok(true),
            (false, false) => Err(Violation::MixedFragments { tsn: tsn.next().narrow().0 }),
        }
    }

    fn join(&mut self, first: WideTsn, second: WideTsn) {
        if let Some(next) = self.runs.remove(&second)
            && let Some(run) = self.runs.get_mut(&first)
        {
            run.append(next);
        }
    }

    fn take_complete(&mut self, first: WideTsn) -> Option<Complete> {
        let complete = self.runs.get(&first).is_some_and(|run| run.begins() && run.ends());
        let run = if complete { self.runs.remove(&first) } else { None };
        run.map(Run::into_complete)
    }

    /// The first TSN of all fragments.
    pub fn first(&self) -> Option<WideTsn> {
        self.runs.first_key_value().map(|(first, _)| *first)
    }

    /// Whether the run that ends right before `tsn` has a beginning that was delivered.
    pub fn is_under_way_up_to(&self, tsn: WideTsn) -> bool {
        let before = self.runs.range(..tsn).next_back();
        before.is_some_and(|(_, run)| run.last.next() == tsn && run.is_under_way())
    }

    /// The first TSN of the first message that may be delivered before it is complete.
    pub fn first_begun(&self, in_turn: impl Fn(u16, u16) -> bool) -> Option<WideTsn> {
        let mut runs = self.runs.iter();
        runs.find(|(_, run)| run.may_begin(&in_turn)).map(|(first, _)| *first)
    }

    /// Whether the run that begins with `first` may be delivered before it is complete, and has so many bytes.
    pub fn has_begun(
        &self,
        first: WideTsn,
        least: usize,
        in_turn: impl Fn(u16, u16) -> bool,
    ) -> bool {
        self.runs.get(&first).is_some_and(|run| run.bytes >= least && run.may_begin(in_turn))
    }

    /// Whether the beginning of the run that begins with `first` was delivered.
    pub fn is_under_way(&self, first: WideTsn) -> bool {
        self.runs.get(&first).is_some_and(Run::is_under_way)
    }

    /// Takes what there is of the run that begins with `first`; more will follow on it.
    pub fn take_piece(&mut self, first: WideTsn) -> Option<Complete> {
        let run = self.runs.get_mut(&first)?;
        let kept = run.first_kept();
        let piece = if run.is_under_way() { Piece::Middle } else { Piece::First };
        run.message.piece = Piece::Middle;
        run.bytes = 0;
        let ReceivedMessage { stream, ppid, delivery, ssn, .. } = run.message;
        let fragments = run.fragments.drain(..).collect();
        let tsn = kept.narrow();
        let message = ReceivedMessage { stream, ppid, delivery, ssn, tsn, piece, fragments };
        Some(Complete { first: kept, message })
    }

    /// Drops a message of one of these streams, or of any if none is listed, whose beginning was delivered.
    pub fn drop_begun(&mut self, streams: &[u16], ready: &mut ReadyMessages) -> Dropped {
        let mut dropped = Dropped::default();
        if ready.is_open() {
            self.runs.retain(|_, run| {
                let stream = run.message.stream;
                let concerned = streams.is_empty() || streams.contains(&stream);
                let drops = run.is_under_way() && concerned;
                if drops {
                    dropped.aborted = Some(AbortedDelivery::of(&run.message));
                }
                !drops
            });
            ready.note_aborted(dropped.aborted.take());
        }
        dropped
    }

    /// The highest TSN of all fragments.
    pub fn highest(&self) -> Option<WideTsn> {
        self.runs.last_key_value().map(|(_, run)| run.last)
    }

    /// Discards the fragment with the highest TSN.
    pub fn discard_highest(&mut self) -> Option<Discarded> {
        let mut entry = self.runs.last_entry()?;
        let run = entry.get_mut();
        let (first, bytes) = (run.last, run.fragments.pop_back()?.len());
        run.bounds.remove(DataFlags::END);
        run.bytes -= bytes;
        if run.fragments.is_empty() {
            entry.remove();
        } else {
            run.last = run.last.previous();
        }
        Some(Discarded { first, chunks: 1, bytes })
    }
}

/// Whether the fragment belongs to the message of the run that stops right before it.
fn joins_previous(
    previous: &Run,
    tsn: WideTsn,
    data: &Data<'_>,
    incomplete: Incomplete,
) -> Result<bool, Violation> {
    match (previous.ends(), data.flags.contains(DataFlags::BEGIN)) {
        (true, true) => Ok(false),
        (true, false) => Err(Violation::MissingBegin { tsn: tsn.narrow().0 }),
        (false, true) if incomplete == Incomplete::MayBeAbandoned => Ok(false),
        (false, true) => Err(Violation::MissingEnd { tsn: tsn.narrow().0 }),
        (false, false) if previous.is_same_message(data) => Ok(true),
        (false, false) => Err(Violation::MixedFragments { tsn: tsn.narrow().0 }),
    }
}

fn bounds(data: &Data<'_>) -> DataFlags {
    data.flags & (DataFlags::BEGIN | DataFlags::END)
}
