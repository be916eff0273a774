//! The applications of a host: which flow writes next, and which one reads.

use polypath_proto::{Association, Cx, Piece};

use super::{Fed, Ledger, Pieces, Receiver, Sender, recognise};

/// Lets the senders fill the send buffer in turns, one message each. The first sender that finds it full has the first
/// turn next time.
pub(crate) fn feed(
    senders: &mut [Sender],
    turn: &mut usize,
    cx: &mut Cx<'_>,
    association: &mut Association,
    ledger: &mut Ledger,
) {
    if !association.is_established() {
        return;
    }
    let mut dry = 0;
    while dry < senders.len() {
        let Some(sender) = senders.get_mut(*turn) else {
            *turn = 0;
            continue;
        };
        match sender.feed(cx, association, ledger) {
            Fed::One => dry = 0,
            Fed::Dry => dry += 1,
            Fed::Full => return feed_the_important(senders, *turn, cx, association, ledger),
        }
        *turn += 1;
    }
}

/// The send buffer is full for one sender; messages of others may have a higher priority than its content.
fn feed_the_important(
    senders: &mut [Sender],
    full: usize,
    cx: &mut Cx<'_>,
    association: &mut Association,
    ledger: &mut Ledger,
) {
    for (index, sender) in senders.iter_mut().enumerate() {
        if index != full && sender.has_own_reliability() {
            while sender.feed(cx, association, ledger) == Fed::One {}
        }
    }
}

/// The applications of a host, together with an association that has something for them.
pub(crate) struct Applications<'a> {
    pub senders: &'a mut [Sender],
    /// The flow with the next turn.
    pub turn: &'a mut usize,
    /// By incoming flow.
    pub receivers: &'a mut [Receiver],
    pub pieces: &'a mut Pieces,
    /// By incoming flow, the flow that answers it.
    pub partners: &'a [Option<usize>],
    /// Messages that were never sent.
    pub strangers: &'a mut u64,
}

impl Applications<'_> {
    /// Lets the senders fill the send buffer.
    pub fn feed(&mut self, cx: &mut Cx<'_>, association: &mut Association, ledger: &mut Ledger) {
        feed(self.senders, self.turn, cx, association, ledger);
    }

    /// Reads all messages. Flows that answer them do so at once if they send on this association (`answers`).
    pub fn read(
        &mut self,
        cx: &mut Cx<'_>,
        association: &mut Association,
        ledger: &mut Ledger,
        answers: bool,
    ) {
        let mut is_triggered = false;
        while let Some(mut message) = association.receive(cx) {
            // Whole messages, which are nearly all, stay where they are.
            if message.piece != Piece::Whole {
                let Some(joined) = self.pieces.join(message) else { continue };
                message = joined;
            }
            let Some((flow, number)) = recognise(&message, self.receivers) else {
                *self.strangers += 1;
                continue;
            };
            let Some(ledger) = ledger.flow_mut(flow) else { continue };
            let Some(offered) = self.receivers[flow].take(cx.now, number, &message, ledger) else {
                continue;
            };
            let partner = self.partners.get(flow).copied().flatten();
            let mut senders = self.senders.iter_mut();
            if let Some(sender) = partner.and_then(|flow| senders.find(|s| s.flow() == flow)) {
                sender.trigger(cx.now, offered);
                is_triggered = true;
            }
        }
        if is_triggered && answers {
            self.feed(cx, association, ledger);
        }
    }
}
