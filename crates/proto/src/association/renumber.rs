//! Resets of TSNs and all streams of both sides (RFC 6525 sections 5.1.4 and 5.2.4).

use alloc::string::ToString;

use polypath_wire::{Cause, NextTsns};

use super::Association;
use crate::extension::reconfig::{Outcome, TSN_LEAP};
use crate::{Cx, Event, Tsn};

/// How far this side's TSNs advance when the peer resets everything.
///
/// NOTE(deviation): RFC 6525 section 5.2.4 (G2) recommends to skip none. With one that is never sent, a peer that has
/// not received the response yet cannot mistake new data for old: it stays above a gap.
const OWN_LEAP: u32 = 1;

impl Association {
    /// The peer requests a reset of everything.
    pub(super) fn answer_reset_of_all(&mut self, sequence: u32) -> Outcome {
        let Some(own) = &mut self.reconfig else { return Outcome::Denied };
        // Each side would wait for the TSNs that the other one has left.
        if own.requests.is_resetting_all() || own.answers.is_deferring() {
            return Outcome::Busy;
        }
        own.answers.defer_all(sequence);
        match self.perform_reset_of_all() {
            Some(_) => Outcome::Performed,
            None => Outcome::InProgress,
        }
    }

    /// Resets everything for the peer, once it has acknowledged all data of this side. Returns the number of the
    /// request.
    pub(super) fn perform_reset_of_all(&mut self) -> Option<u32> {
        let own = self.reconfig.as_mut()?;
        let sequence = own.answers.all_deferred()?;
        let is_drained =
            self.transmitter.queue.is_drained() && self.transmitter.outstanding.is_empty();
        if !is_drained || own.requests.has_flight() {
            return None;
        }
        let receiver = self.state.receiver_mut()?;
        let receiver_next = receiver.cumulative_tsn().next().plus(TSN_LEAP);
        let sender = self.transmitter.outstanding.next_tsn().plus(OWN_LEAP);
        own.answers
            .performed_all(sequence, NextTsns { sender: sender.0, receiver: receiver_next.0 });
        own.renumbers = true;
        receiver.renumber(receiver_next);
        self.transmitter.renumber(sender);
        self.transmitter.peer.may_lack_answer = true;
        self.size_black_hole = None;
        self.transmitter.queue.reset_streams(&[]);
        self.report_reset_of_all([sender.0, receiver_next.0]);
        Some(sequence)
    }

    /// The peer has reset everything (RFC 6525 section 5.2.7, H5), or has refused to.
    pub(super) fn finish_reset_of_all(&mut self, cx: &mut Cx<'_>, tsns: Option<NextTsns>) {
        let Some(receiver) = self.state.receiver_mut() else { return };
        let taken = match tsns {
            Some(tsns) => receiver.begin_anew_at(Tsn(tsns.sender)),
            None => receiver.take_back(),
        };
        if let Some(tsns) = tsns {
            self.transmitter.renumber(Tsn(tsns.receiver));
            self.transmitter.queue.reset_streams(&[]);
            self.size_black_hole = None;
            self.report_reset_of_all([tsns.receiver, tsns.sender]);
        }
        self.announce_messages();
        if let Err(violation) = taken {
            let reason = violation.to_string();
            self.abort_with(cx, Cause::ProtocolViolation(reason.as_bytes()));
        }
    }

    fn report_reset_of_all(&mut self, [local_tsn, remote_tsn]: [u32; 2]) {
        self.stats.seldom.outgoing_stream_resets += 1;
        self.stats.seldom.incoming_stream_resets += 1;
        self.events.push_if_few(Event::AssociationReset { local_tsn, remote_tsn });
        self.events.push(Event::Writable);
        self.announce_messages();
    }
}
