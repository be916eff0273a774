//! Messages that are delivered in pieces, because they are too large.

use polypath_proto::{Piece, ReceivedMessage};

/// Joins pieces of messages. Pieces in the simulated application do not occupy its receive buffer.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Vec<ReceivedMessage>);

impl Pieces {
    /// Takes a piece, and returns the message once it is complete. An incomplete message is dropped when the next one
    /// in pieces begins on its stream.
    #[cold]
    pub fn join(&mut self, piece: ReceivedMessage) -> Option<ReceivedMessage> {
        if piece.piece == Piece::Whole {
            return Some(piece);
        }
        let same = |known: &ReceivedMessage| {
            (known.stream, known.delivery) == (piece.stream, piece.delivery)
        };
        let before = self.0.iter().position(same).map(|at| self.0.swap_remove(at));
        let ends = piece.piece.ends();
        let joined = match before.filter(|_| !piece.piece.begins()) {
            Some(mut joined) => {
                joined.fragments.extend(piece.fragments);
                joined
            }
            None => piece,
        };
        if ends {
            return Some(ReceivedMessage { piece: Piece::Whole, ..joined });
        }
        self.0.push(joined);
        None
    }
}

#[cfg(test)]
mod tests {
    use polypath_proto::{Delivery, Tsn};
    use polypath_wire::{Payload, VirtualPayload};

    use super::*;

    #[test]
    fn pieces_of_a_stream_are_joined_and_what_never_ends_is_forgotten() {
        use Piece::{First, Last, Middle, Whole};
        let mut pieces = Pieces::default();
        // Stream, piece, its bytes, and the length of the message that it completes.
        for (stream, piece, len, whole) in [
            (0, Whole, 1, Some(1)),
            (0, First, 10, None),
            (1, First, 20, None),
            (0, Middle, 30, None),
            (2, Whole, 2, Some(2)),
            (0, Last, 40, Some(80)),
            (1, Whole, 3, Some(3)),
            // The one before was aborted.
            (1, First, 50, None),
            (1, Last, 60, Some(110)),
        ] {
            let payload = Payload::Virtual(VirtualPayload { message: 0, offset: 0, len });
            let message = ReceivedMessage {
                stream,
                ppid: 0,
                delivery: Delivery::Ordered,
                ssn: 0,
                tsn: Tsn(0),
                piece,
                fragments: [payload].into_iter().collect(),
            };
            let joined = pieces.join(message);
            assert!(joined.iter().all(|it| it.piece == Whole && it.stream == stream));
            assert_eq!(joined.map(|it| it.len()), whole, "{piece:?} on {stream}");
        }
        assert!(pieces.0.is_empty());
    }
}
