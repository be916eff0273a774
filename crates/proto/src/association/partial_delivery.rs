//! Partial delivery: what the user hears of it (RFC 6458 section 6.1.7).

use super::Association;
use crate::receive::{AbortedDelivery, Receiver};
use crate::{Delivery, Event, ReceivedMessage, Tsn};

impl Association {
    /// Reports messages whose beginning was delivered and whose rest will not arrive.
    #[inline]
    pub(super) fn report_aborted_deliveries(&mut self) {
        if self.state.receiver().is_some_and(Receiver::has_aborted) {
            self.report_each_aborted();
        }
    }

    #[cold]
    fn report_each_aborted(&mut self) {
        let aborted = self.state.receiver_mut().map(Receiver::take_aborted).unwrap_or_default();
        for AbortedDelivery { stream, delivery, ssn } in aborted {
            let ssn = (delivery == Delivery::Ordered).then_some(ssn);
            // The peer can abandon as many messages as it likes.
            self.events.push_if_few(Event::PartialDeliveryAborted { stream, ssn });
        }
    }

    /// Nothing more will arrive, so no message that was begun is going to end.
    pub(super) fn finish_receiving(&mut self) {
        if let Some(receiver) = self.state.receiver_mut() {
            receiver.finish();
        }
        self.report_aborted_deliveries();
    }
}

impl Association {
    /// The next complete message, or a [piece](crate::Piece) of one that is too large to be delivered whole; frees its
    /// part of the receive window.
    #[inline]
    pub fn receive(&mut self, _cx: &mut crate::Cx<'_>) -> Option<ReceivedMessage> {
        let receiver = self.state.receiver()?;
        if receiver.has_unclaimed() {
            return self.receive_first();
        }
        self.readable_told = false;
        if receiver.sack_is_due() {
            self.flush.stir();
        }
        None
    }

    /// Whether messages wait for the user, of claimed streams or others.
    pub fn has_unread(&self) -> bool {
        self.state.receiver().is_some_and(Receiver::has_messages)
    }

    // Not inlined, so that the message is moved only once, to its destination.
    #[inline(never)]
    fn receive_first(&mut self) -> Option<ReceivedMessage> {
        let receiver = self.state.receiver_mut()?;
        let released = receiver.release_first()?;
        self.stats.messages_received += u64::from(released.ends);
        self.stats.bytes_received += released.bytes as u64;
        if receiver.sack_is_due() {
            self.flush.stir();
        }
        receiver.take_first()
    }

    /// The cumulative TSN of received data (`rcv_cumtsn`); `None` until the handshake has set the peer's first one.
    pub fn cumulative_tsn(&self) -> Option<Tsn> {
        self.state.receiver().map(Receiver::cumulative_tsn)
    }
}
