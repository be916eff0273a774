//! The applications of a host take turns: who writes into an association, and who reads what comes.

use polypath_proto::{Association, Cx};

use super::{Fed, Ledger, Pieces, Receiver, Sender, recognise};

/// Lets the senders fill the send buffer, a message each in turn. Whoever found it full is the first one next time.
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

/// The send buffer is full for one sender; messages of others may be worth more than what it holds.
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

/// Who waits for messages that come.
pub(crate) struct Answers<'a> {
    pub senders: &'a mut [Sender],
    /// By flow that comes, the flow that goes.
    pub partners: &'a [Option<usize>],
}

/// What came of reading.
#[derive(Default)]
pub(crate) struct Read {
    /// Messages that nobody sent.
    pub strangers: u64,
    /// Whether a sender may have something to say now.
    pub triggered: bool,
}

/// Reads all messages.
pub(crate) fn read(
    (receivers, pieces): (&mut [Receiver], &mut Pieces),
    answers: Answers<'_>,
    cx: &mut Cx<'_>,
    association: &mut Association,
    ledger: &mut Ledger,
) -> Read {
    let mut read = Read::default();
    while let Some(message) = association.receive(cx) {
        let Some(message) = pieces.join(message) else { continue };
        let Some((flow, number)) = recognise(&message, receivers) else {
            read.strangers += 1;
            continue;
        };
        let Some(ledger) = ledger.flow_mut(flow) else { continue };
        let Some(offered) = receivers[flow].take(cx.now, number, &message, ledger) else {
            continue;
        };
        let partner = answers.partners.get(flow).copied().flatten();
        let mut senders = answers.senders.iter_mut();
        if let Some(sender) = partner.and_then(|flow| senders.find(|s| s.flow() == flow)) {
            sender.trigger(cx.now, offered);
            read.triggered = true;
        }
    }
    read
}
