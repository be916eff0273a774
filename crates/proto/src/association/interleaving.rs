//! User message interleaving (RFC 8260): what its chunks do, and what their absence from the handshake means.

use polypath_wire::{Cause, Chunk, ForwardTsn, IData};

use super::Association;
use super::input::Flow;
use crate::config::MessageInterleaving;
use crate::transmit::partial_reliability::Support;
use crate::types::{Capabilities, UserDataChunk};
use crate::{Cx, PathId, Tsn};

impl Association {
    /// I-DATA. A side that does not have the extension does not know the chunk.
    #[inline(never)]
    pub(super) fn handle_i_data(
        &mut self,
        cx: &mut Cx<'_>,
        chunk: &Chunk<'_>,
        data: &IData<'_>,
        path: PathId,
    ) -> Flow {
        if self.config.policies.message_interleaving == MessageInterleaving::Off {
            return self.handle_unsupported(chunk, path);
        }
        let Some(receiver) = self.receiver_of_data() else { return Flow::Continue };
        let outcome = receiver.on_i_data(data);
        self.conclude_user_data(cx, (data.tsn, data.payload.len()), path, outcome)
    }

    /// Handles I-FORWARD-TSN, which requires I-DATA.
    pub(super) fn handle_i_forward_tsn(
        &mut self,
        cx: &mut Cx<'_>,
        chunk: &Chunk<'_>,
        forward: &ForwardTsn<'_>,
        path: PathId,
    ) -> Flow {
        if self.config.policies.message_interleaving == MessageInterleaving::Off {
            return self.handle_unsupported(chunk, path);
        }
        if !self.state.accepts_data() {
            return Flow::Continue;
        }
        let agreed = Capabilities::I_DATA | Capabilities::I_FORWARD_TSN;
        if !self.state.has_agreed_on(agreed) {
            return self.refuse_forward_tsn(cx, b"I-FORWARD-TSN was not agreed on");
        }
        self.stats.seldom.forward_tsns_received += 1;
        if let Some(receiver) = self.state.receiver_mut() {
            receiver.on_i_forward_tsn(Tsn(forward.new_cumulative_tsn), forward.messages());
        }
        Flow::Continue
    }

    /// Handles FORWARD-TSN, which requires DATA. It has no effect if only one side supports it.
    pub(super) fn handle_forward_tsn(&mut self, cx: &mut Cx<'_>, forward: &ForwardTsn<'_>) -> Flow {
        if !self.state.accepts_data() {
            return Flow::Continue;
        }
        if self.transmitter.chunk == UserDataChunk::IData {
            return self.refuse_forward_tsn(cx, b"FORWARD-TSN goes with DATA only");
        }
        if self.transmitter.queue.support() != Support::Yes {
            return Flow::Continue;
        }
        self.stats.seldom.forward_tsns_received += 1;
        if let Some(receiver) = self.state.receiver_mut() {
            receiver.on_forward_tsn(Tsn(forward.new_cumulative_tsn), forward.streams());
        }
        Flow::Continue
    }

    /// RFC 8260 section 2.3.1: the association is aborted.
    #[cold]
    fn refuse_forward_tsn(&mut self, cx: &mut Cx<'_>, reason: &[u8]) -> Flow {
        self.abort_with(cx, Cause::ProtocolViolation(reason));
        Flow::Stop
    }
}
