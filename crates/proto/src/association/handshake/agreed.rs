//! What both sides agree on, and what this makes of the association.

use alloc::boxed::Box;
use core::net::IpAddr;

use smallvec::SmallVec;

use super::Cookie;
use crate::association::state::Peer;
use crate::association::{Association, Streams};
use crate::config::{AssociationConfig, AuthDemand, NrSack};
use crate::extension::address_join::JoinSecrets;
use crate::extension::auth::AuthPair;
use crate::receive::{Incomplete, Receiver, ReceiverConfig};
use crate::transmit::partial_reliability::Support;
use crate::types::{Capabilities, Lazy, PeerAddress};
use crate::{Cx, Notice, Tsn};

/// The requests and offers of the peer in the handshake.
#[derive(Clone, Debug)]
pub(super) struct Agreed {
    pub(super) tag: u32,
    pub(super) a_rwnd: u32,
    pub(super) initial_tsn: u32,
    /// Streams that the peer wants to send on.
    pub(super) outbound_streams: u16,
    /// Most streams that the peer accepts.
    pub(super) inbound_streams: u16,
    pub(super) addresses: SmallVec<[PeerAddress; 4]>,
    /// Extensions that the peer offers.
    pub(super) capabilities: Capabilities,
    /// The adaptation code point of the peer's program.
    pub(super) adaptation: Option<u32>,
    /// The address that the peer would like to be primary.
    pub(super) preferred: Option<IpAddr>,
    /// The announcements of both sides on authentication, if both made one.
    pub(super) auth: Option<AuthPair>,
    /// The pair of addresses on which the handshake went.
    pub(super) handshake_pair: (IpAddr, PeerAddress),
}

impl Agreed {
    /// What a cookie says; the handshake went to its first address.
    pub(super) fn of(cookie: &Cookie) -> Self {
        let encapsulation = cookie.encapsulation;
        let addresses: SmallVec<[PeerAddress; 4]> = cookie
            .peer_addresses
            .iter()
            .map(|&address| PeerAddress { address, encapsulation })
            .collect();
        Self {
            tag: cookie.peer_tag,
            a_rwnd: cookie.a_rwnd,
            initial_tsn: cookie.peer_initial_tsn,
            outbound_streams: cookie.inbound_streams,
            inbound_streams: cookie.outbound_streams,
            capabilities: cookie.capabilities,
            adaptation: cookie.adaptation,
            preferred: cookie.preferred,
            auth: cookie.auth.clone(),
            handshake_pair: (cookie.local_address, addresses[0]),
            addresses,
        }
    }

    fn extensions(&self, config: &AssociationConfig) -> Capabilities {
        self.capabilities & Capabilities::offered(config)
    }

    fn streams(&self, config: &AssociationConfig) -> Streams {
        Streams {
            outbound: config.outbound_streams.max(1).min(self.inbound_streams),
            inbound: config.max_inbound_streams.max(1).min(self.outbound_streams),
        }
    }
}

impl Peer {
    pub(super) fn new(config: &AssociationConfig, agreed: &Agreed) -> Self {
        let extensions = agreed.extensions(config);
        let receiver = Receiver::new(ReceiverConfig {
            initial_peer_tsn: Tsn(agreed.initial_tsn),
            buffer: config.receive_buffer(),
            sizing: config.policies.receive_buffer,
            chunk: extensions.user_data_chunk(),
            incomplete: match extensions.may_abandon() {
                true => Incomplete::MayBeAbandoned,
                false => Incomplete::Violation,
            },
            inbound_streams: agreed.streams(config).inbound,
            mtu: config.mtu_bytes,
            policy: config.policies.delayed_ack,
            advertised_window: config.policies.advertised_window,
            nr_sack: match extensions.contains(Capabilities::NR_SACK) {
                true => config.policies.nr_sack,
                false => NrSack::Off,
            },
            reneging: config.policies.reneging,
            reorder_limit: config.policies.simulated_reorder_limit,
            partial_delivery_point: config.partial_delivery_point,
        });
        Self { tag: agreed.tag, extensions, receiver, echoes: Lazy::default() }
    }
}

impl Association {
    /// Takes over what the peer wants and this side allows: streams, receive window, extensions, addresses.
    pub(super) fn settle(&mut self, cx: &mut Cx<'_>, agreed: &Agreed) {
        let extensions = agreed.extensions(&self.config);
        let support = if extensions.may_abandon() { Support::Yes } else { Support::No };
        self.transmitter.settle_user_data(extensions.user_data_chunk(), agreed.a_rwnd);
        self.transmitter.settle_partial_reliability(support);
        self.transmitter.settle_ecn(extensions.contains(Capabilities::ECN));
        self.transmitter.peer.acks_are_final = extensions.contains(Capabilities::NR_SACK);
        self.transmitter.advertised_window = u64::from(agreed.a_rwnd);
        self.join = None;
        self.newcomers.forget();
        if extensions.contains(Capabilities::ADDRESS_JOIN) {
            self.join = Some(Box::new(JoinSecrets::new(cx.rng)));
            self.notices.push_back(Notice::TakesNewcomers);
        }
        self.streams = agreed.streams(&self.config);
        if AuthDemand::of(&self.config.policies).offers {
            self.settle_authentication(agreed.auth.clone());
        }
        self.settle_reconfiguration(extensions, agreed.initial_tsn);
        self.settle_address_changes(extensions, agreed.initial_tsn);
        self.note_preference(agreed.preferred);
        self.peer_adaptation = agreed.adaptation.unwrap_or(0);
        self.has_peer_adaptation = agreed.adaptation.is_some();
        self.build_paths(&agreed.addresses, Some(agreed.handshake_pair));
        self.transmitter.paths.reset_cwnds(&self.config, &self.paths, u64::from(agreed.a_rwnd));
    }
}
