//! Messages that another key authenticates than the active one (`SCTP_AUTHINFO`, RFC 6458 section 5.3.8).
//!
//! One key authenticates all that an association sends, so it is exchanged for the time in which the message is sent. What is retransmitted
//! later has the active key, which the peer has as well.

use polypath::{Association, Message, SendError, SendRefusal};

/// Sends a message with this key: behind all that waits, and before all that follows.
pub(super) async fn send(
    association: &Association,
    message: Message,
    key: u16,
) -> Result<(), SendError> {
    let refused = SendError::Refused(SendRefusal::Closed);
    let active = association.active_key().ok_or_else(|| refused.clone())?;
    all_sent(association).await?;
    association.send_with_key(key).map_err(|_| refused)?;
    let sent = association.send(message).await;
    let done = all_sent(association).await;
    // The program may have deleted it meanwhile; then the other one stays.
    let _ = association.send_with_key(active);
    sent.and(done)
}

async fn all_sent(association: &Association) -> Result<(), SendError> {
    association.unsent_below(1).await.map_err(SendError::Ended)
}
