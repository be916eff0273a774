//! What an association without anything to do gives back.

use super::Association;

impl Association {
    /// Gives memory back that nothing needs at present: rings for outstanding chunks, queues that have become empty.
    ///
    /// It happens by itself when a heartbeat is due on an idle path, so that long idle associations are small and busy ones
    /// keep what they will need again. Drivers call it where heartbeats are off.
    pub fn release_memory(&mut self) {
        self.transmitter.release_memory();
        if let Some(receiver) = self.state.receiver_mut() {
            receiver.release_memory();
        }
        self.control.shrink_to_fit();
        self.notices.shrink_to_fit();
        self.events.release_memory();
    }
}
