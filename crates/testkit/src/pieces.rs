//! Messages that were delivered in pieces.

use polypath_proto::{Piece, ReceivedMessage};

/// The messages that were delivered whole, and those whose pieces were, in the order of their ends. Says what is wrong where a
/// piece continues nothing, or another message.
pub(crate) fn whole_messages(received: &[ReceivedMessage]) -> Result<Vec<ReceivedMessage>, String> {
    let mut begun: Vec<ReceivedMessage> = Vec::new();
    let mut whole = Vec::new();
    for piece in received {
        if piece.piece == Piece::Whole {
            // With interleaving, unordered ones come between pieces of another.
            whole.push(piece.clone());
            continue;
        }
        let same =
            |it: &ReceivedMessage| (it.stream, it.delivery) == (piece.stream, piece.delivery);
        let before = begun.iter().position(same).map(|at| begun.swap_remove(at));
        let mut message = match (before, piece.piece.begins()) {
            // The one before was aborted.
            (_, true) => piece.clone(),
            (Some(mut message), false)
                if (message.ssn, message.ppid) == (piece.ssn, piece.ppid) =>
            {
                message.fragments.extend(piece.fragments.iter().cloned());
                message
            }
            (before, false) => return Err(format!("{piece:?} continues {before:?}")),
        };
        if piece.piece.ends() {
            message.piece = Piece::Whole;
            whole.push(message);
        } else {
            begun.push(message);
        }
    }
    Ok(whole)
}
