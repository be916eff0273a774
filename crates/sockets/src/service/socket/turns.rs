//! Messages that are delivered in pieces: at level 0 of `SCTP_FRAGMENT_INTERLEAVE` (RFC 6458 section 8.1.20), those of other associations
//! of a one-to-many socket wait for the last piece.

use std::sync::Arc;

use polypath::Piece;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::Socket;

/// Who may deliver to a socket.
pub(super) type Turns = Arc<Mutex<()>>;

/// The turn of an association, while it has one.
#[derive(Debug, Default)]
pub(in crate::service) struct Turn(Option<OwnedMutexGuard<()>>);

impl Turn {
    /// Waits until a piece may be delivered. A message that begins ends the one before, of which the rest will not come.
    async fn take(&mut self, turns: &Turns, piece: Piece) {
        if piece.begins() {
            self.0 = None;
        }
        if self.0.is_none() {
            self.0 = Some(Arc::clone(turns).lock_owned().await);
        }
    }

    /// A piece is delivered.
    pub(in crate::service) fn delivered(&mut self, piece: Piece) {
        if piece.ends() {
            self.0 = None;
        }
    }
}

impl Socket {
    /// Waits until a piece of a message may be delivered.
    pub(in crate::service) async fn wait_for_turn(&self, turn: &mut Turn, piece: Piece) {
        let takes_turns = !self.is_one_to_one();
        match takes_turns && self.state().options.delivers_one_at_a_time() {
            true => turn.take(&self.turns, piece).await,
            false => *turn = Turn::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn others_wait_for_the_last_piece_or_the_next_message() {
        let turns = Turns::default();
        let mut one = Turn::default();
        for (piece, is_free_afterwards) in [
            (Piece::Whole, true),
            (Piece::First, false),
            (Piece::Middle, false),
            (Piece::Last, true),
            (Piece::First, false),
            // The rest of that one will not come.
            (Piece::First, false),
            (Piece::Whole, true),
        ] {
            one.take(&turns, piece).await;
            assert!(turns.try_lock().is_err(), "nobody else delivers now");
            one.delivered(piece);
            assert_eq!(turns.try_lock().is_ok(), is_free_afterwards, "{piece:?}");
        }
        one.take(&turns, Piece::First).await;
        drop(one);
        assert!(turns.try_lock().is_ok(), "its association has ended");
    }
}
