//! The channels of an association, as its user sees them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use polypath::Association;
use tokio::sync::{Notify, mpsc};

use crate::channel::{ChannelError, DataChannel, Phase, Shared, State, Waiting, to_message};
use crate::channels::{Channels, Role};
use crate::dcep::ChannelParameters;
use crate::driver::Driver;

/// The data channels of an association. A task of the tokio runtime in which it was made does the work, until the association has
/// ended.
///
/// Messages of all channels share 1 MiB of memory until they are read. When that is used up, nothing more is taken from the
/// association, on any channel, and the peer's window closes. Channels that wait to be accepted have 4 MiB, which is some 8,000 of them;
/// further ones are closed.
#[derive(Debug)]
pub struct DataChannels {
    shared: Arc<Shared>,
    accepted: tokio::sync::Mutex<mpsc::UnboundedReceiver<Waiting>>,
}

impl DataChannels {
    /// The channels of `association`, whose messages nobody else may read. It should have the configuration
    /// [`config`](crate::config), and be established. `role` is the one in the DTLS handshake: the sides must have different ones.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn new(association: Association, role: Role) -> Self {
        let (accept, accepted) = mpsc::unbounded_channel();
        let events = association.events();
        let state = State { channels: Channels::new(role), ports: BTreeMap::new() };
        let shared =
            Arc::new(Shared { association, state: Mutex::new(state), work: Notify::new() });
        tokio::spawn(Driver::new(Arc::clone(&shared), events, accept).run());
        Self { shared, accepted: tokio::sync::Mutex::new(accepted) }
    }

    /// Opens a channel. Messages can be sent at once; [`DataChannel::confirmed`] waits for the peer.
    ///
    /// # Errors
    ///
    /// If there is no stream for it, label or subprotocol are too long, or the association has ended.
    pub async fn open(&self, parameters: ChannelParameters) -> Result<DataChannel, ChannelError> {
        let streams = self.shared.streams();
        let (open, channel) = {
            let mut state = self.shared.state();
            let open = state.channels.open(parameters.clone(), streams)?;
            let id = open.stream;
            (open, self.shared.handle(&mut state, id, Phase::Opening, parameters))
        };
        self.shared.association.send(to_message(open)).await?;
        Ok(channel)
    }

    /// A channel that both sides have agreed on by other means, on this stream.
    ///
    /// # Errors
    ///
    /// If the stream has a channel or does not exist.
    pub fn negotiated(
        &self,
        id: u16,
        parameters: ChannelParameters,
    ) -> Result<DataChannel, ChannelError> {
        let streams = self.shared.streams();
        let mut state = self.shared.state();
        state.channels.open_negotiated(id, parameters.clone(), streams)?;
        Ok(self.shared.handle(&mut state, id, Phase::Open, parameters))
    }

    /// The next channel that the peer has opened; `None` when the association has ended. Cancellation safe.
    pub async fn accept(&self) -> Option<DataChannel> {
        self.accepted.lock().await.recv().await.map(|(channel, _)| channel)
    }

    /// The association.
    pub fn association(&self) -> &Association {
        &self.shared.association
    }
}
