//! The applications of a host: which flow writes next, and which one reads.

use polypath_proto::{Association, Cx, Piece};

use super::{Fed, Ledger, Pieces, Receiver, Sender, Violations, recognise};

/// The applications of a host.
#[derive(Debug)]
pub(crate) struct Applications {
    /// The sending sides of this host's flows, in the order of the scenario.
    pub senders: Vec<Sender>,
    /// The flow with the next turn to send.
    turn: usize,
    /// By flow of the scenario; those of flows that this host sends stay empty.
    pub receivers: Vec<Receiver>,
    /// Pieces of messages that are delivered incrementally.
    pieces: Pieces,
    /// By flow of the scenario: the flow that its messages trigger.
    partners: Vec<Option<usize>>,
    /// Messages that no flow has sent.
    strangers: u64,
}

impl Applications {
    pub fn new(
        senders: Vec<Sender>,
        receivers: Vec<Receiver>,
        partners: Vec<Option<usize>>,
    ) -> Self {
        Self { senders, turn: 0, receivers, pieces: Pieces::default(), partners, strangers: 0 }
    }

    /// Lets the senders fill the send buffer in turns, one message each. The first sender that finds it full has the first
    /// turn next time.
    pub fn feed(&mut self, cx: &mut Cx<'_>, association: &mut Association, ledger: &mut Ledger) {
        if !association.is_established() {
            return;
        }
        let mut dry = 0;
        while dry < self.senders.len() {
            let Some(sender) = self.senders.get_mut(self.turn) else {
                self.turn = 0;
                continue;
            };
            match sender.feed(cx, association, ledger) {
                Fed::One => dry = 0,
                Fed::Dry => dry += 1,
                Fed::Full => return self.feed_the_important(cx, association, ledger),
            }
            self.turn += 1;
        }
    }

    /// The send buffer is full for the sender that has the turn; messages of others may have a higher priority than its
    /// content.
    fn feed_the_important(
        &mut self,
        cx: &mut Cx<'_>,
        association: &mut Association,
        ledger: &mut Ledger,
    ) {
        for (index, sender) in self.senders.iter_mut().enumerate() {
            if index != self.turn && sender.has_own_reliability() {
                while sender.feed(cx, association, ledger) == Fed::One {}
            }
        }
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
            let Some((flow, number)) = recognise(&message, &self.receivers) else {
                self.strangers += 1;
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

    /// A message of the flow with this context was abandoned.
    pub fn note_abandoned(&mut self, context: u32) {
        let mut senders = self.senders.iter_mut();
        if let Some(sender) = senders.find(|sender| sender.flow() as u32 == context) {
            sender.note_abandoned();
        }
    }

    /// Errors that the applications saw.
    pub fn violations(&self) -> Violations {
        let strangers = Violations { strange: self.strangers, ..Violations::default() };
        self.receivers.iter().map(Receiver::violations).fold(strangers, Violations::plus)
    }
}
