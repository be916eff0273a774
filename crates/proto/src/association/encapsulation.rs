//! How packets are carried to the addresses of the peer (RFC 6951 section 5.4).

use super::Association;
use crate::{Encapsulation, PathId, Received};

impl Association {
    /// Whether its packets go over IP itself, on every path; also once it has ended.
    pub fn is_over_ip(&self) -> bool {
        self.paths.iter().all(|path| path.encapsulation == Encapsulation::None)
    }

    /// Packets to an address are carried as those from it are: address translators give each path a UDP port of its own,
    /// and another one after a pause. Whoever knows the verification tag is believed, as in everything else.
    pub(super) fn follow_encapsulation(&mut self, received: &Received<'_>, came_on: PathId) {
        let path = &self.paths[came_on];
        if path.encapsulation == received.encapsulation
            || path.remote != received.remote
            || received.body.verification_tag() != Some(self.identity.local_tag)
        {
            return;
        }
        for path in self.paths.iter_mut().filter(|path| path.remote == received.remote) {
            path.encapsulation = received.encapsulation;
            let sending = &mut self.transmitter.paths[path.id];
            sending.resize(sending.mtu(), path.headers(), &self.config);
        }
        let named = self.state.handshake_mut().map(|handshake| handshake.named.iter_mut());
        for named in named.into_iter().flatten() {
            if named.address == received.remote {
                named.encapsulation = received.encapsulation;
            }
        }
        // It takes its part of each packet.
        self.fit_fragments();
    }
}
