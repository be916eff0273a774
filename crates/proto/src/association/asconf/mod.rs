//! Dynamic address reconfiguration (ASCONF, RFC 5061): the state of an association. [`own`] announces addresses of this
//! side, [`peer`] carries out requests of the peer.

mod own;
mod peer;

pub(super) use own::reject_asconf;

use alloc::boxed::Box;
use core::net::IpAddr;

use smallvec::SmallVec;

use super::Association;
use super::state::ConnectedPhase;
use crate::config::{AddressReconfiguration, ChunkTypes};
use crate::extension::asconf::{AsconfAnswers, ChangeRequests, Trials};
use crate::types::Capabilities;
use crate::{AssociationStats, Instant, Notice};

/// What an association with address reconfiguration keeps.
#[derive(Debug)]
pub(super) struct AddressChanges {
    requests: ChangeRequests,
    answers: AsconfAnswers,
    /// Addresses of the peer that have not proved to be its.
    trials: Trials,
    /// Addresses of this side that the peer has not acknowledged.
    unannounced: SmallVec<[IpAddr; 2]>,
    /// The address that the peer has named in the handshake, until that is over.
    preferred: Option<IpAddr>,
    counts: AsconfCounts,
}

#[derive(Clone, Copy, Default, Debug)]
struct AsconfCounts {
    sent: u64,
    received: u64,
    discarded: u64,
    refused: u64,
}

impl Association {
    /// Starts with a peer whose first TSN is `peer_tsn`, if both sides have the extension, and authentication (RFC 5061
    /// section 4.2.7) unless the policy makes it optional.
    pub(super) fn settle_address_changes(&mut self, extensions: Capabilities, peer_tsn: u32) {
        self.address_changes = None;
        if !extensions.contains(Capabilities::ASCONF | Capabilities::ASCONF_ACK) {
            return;
        }
        let is_authenticated = self.require_authentication(ChunkTypes::ADDRESS_CHANGES);
        let policy = self.config.policies.address_reconfiguration;
        if is_authenticated || policy == AddressReconfiguration::Unauthenticated {
            self.notices.push_back(Notice::TakesAddressChanges);
            self.address_changes = Some(Box::new(AddressChanges {
                requests: ChangeRequests::new(self.identity.initial_tsn),
                answers: AsconfAnswers::new(peer_tsn),
                trials: Trials::default(),
                unannounced: SmallVec::new(),
                preferred: None,
                counts: AsconfCounts::default(),
            }));
        }
    }

    /// The peer would like one of its addresses to be primary (RFC 5061 section 5.4). Who has agreed to no changes does not mind.
    pub(super) fn note_preference(&mut self, preferred: Option<IpAddr>) {
        if let Some(own) = &mut self.address_changes {
            own.preferred = preferred;
        }
    }

    pub(in super::super) fn count_address_changes(&self, stats: &mut AssociationStats) {
        let Some(own) = &self.address_changes else { return };
        let AsconfCounts { sent, received, discarded, refused } = own.counts;
        stats.asconf_sent = sent;
        stats.asconf_received = received;
        stats.asconf_discarded = discarded;
        stats.address_changes_refused = refused;
    }

    /// When the chunk in flight is repeated.
    #[inline]
    pub(super) fn address_changes_due(&self) -> Option<Instant> {
        self.address_changes.as_ref()?.requests.due()
    }

    /// Whether the peer does not know yet that this address is ours.
    pub(super) fn is_unannounced(&self, address: IpAddr) -> bool {
        self.address_changes.as_ref().is_some_and(|own| own.unannounced.contains(&address))
    }

    /// Whether an ABORT to this address is ignored: the peer may have deleted the address already, and received an
    /// earlier packet out of the blue (RFC 5061 section 5.3.1).
    pub(super) fn is_being_deleted(&self, address: IpAddr) -> bool {
        self.address_changes.as_ref().is_some_and(|own| own.requests.is_deleting(address))
    }

    /// Whether a packet may go to this address of the peer, which counts while it has not proved to be the peer's.
    pub(super) fn takes_packet(&mut self, address: IpAddr) -> bool {
        self.address_changes.as_mut().is_none_or(|own| own.trials.take(address))
    }

    /// Until when nothing is sent to an address of the peer that has not answered.
    pub(super) fn trial_over_until(&self, address: IpAddr) -> Option<Instant> {
        self.address_changes.as_ref()?.trials.over_until(address)
    }

    /// An address of the peer has answered.
    pub(super) fn trial_passed(&mut self, address: IpAddr) {
        if let Some(own) = &mut self.address_changes {
            own.trials.proved(address);
        }
    }

    /// ASCONF and ASCONF-ACK are sent in these states only (RFC 5061 section 5.1.1, rule C4); in SHUTDOWN-SENT, T2 watches.
    fn may_ask_for_changes(&self) -> bool {
        self.state.may_send_data()
    }

    fn may_answer_changes(&self) -> bool {
        self.state.phase().is_some_and(|phase| !matches!(phase, ConnectedPhase::ShutdownAckSent(_)))
    }
}
