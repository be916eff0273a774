//! Default parameters of messages (RFC 6458 sections 8.1.13, 8.1.25, 8.1.31 and 8.1.32).

use bytes::Bytes;

use super::Association;
use crate::error::SendError;
use crate::message::Message;

impl Association {
    /// Sets the parameters of messages that are sent with [`send_bytes`](Self::send_bytes): everything of `template` but its
    /// content (`SCTP_DEFAULT_SNDINFO`, `SCTP_DEFAULT_PRINFO`, `SCTP_CONTEXT`). All handles of the association share them; messages
    /// sent before keep theirs.
    ///
    /// ```
    /// # use polypath::{Association, Message, SendError};
    /// # async fn report(association: &Association) -> Result<(), SendError> {
    /// association.set_default_message(Message::new(2, "").ppid(46).unordered());
    /// association.send_bytes("21.5 degrees").await?;
    /// association.send_bytes("21.6 degrees").await
    /// # }
    /// ```
    pub fn set_default_message(&self, template: Message) {
        let template = Message { payload: Bytes::new(), tail: Bytes::new(), ..template };
        self.shared.lock().template = Some(Box::new(template));
    }

    /// The default parameters, as a message without content: stream 0, ordered and PPID 0 unless
    /// [`set_default_message`](Self::set_default_message) was called.
    pub fn default_message(&self) -> Message {
        match &self.shared.lock().template {
            Some(template) => (**template).clone(),
            None => Message::new(0, Bytes::new()),
        }
    }

    /// Sends a message with the default parameters, and waits while the send buffer has no space for it.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn send_bytes(&self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.send(Message { payload: payload.into(), ..self.default_message() }).await
    }

    /// Sends a message with the default parameters if the send buffer has space for it now.
    ///
    /// # Errors
    ///
    /// As [`try_send`](Self::try_send).
    pub fn try_send_bytes(&self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.try_send(Message { payload: payload.into(), ..self.default_message() })
    }
}
