//! Kinds of notifications, for subscribers of some of them (RFC 6458 section 6.2).

use bitflags::bitflags;

use crate::Event;

bitflags! {
    /// Kinds of [`Event`]s; the names are those of the options of RFC 6458 section 6.2.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub struct EventKinds: u16 {
        /// The association is established, restarts, or has ended (`SCTP_ASSOC_CHANGE`).
        const ASSOCIATION = 1;
        /// A path changed (`SCTP_PEER_ADDR_CHANGE`).
        const PATH = 1 << 1;
        /// The peer reported an error (`SCTP_REMOTE_ERROR`).
        const REMOTE_ERROR = 1 << 2;
        /// A message was not delivered, or was abandoned (`SCTP_SEND_FAILED_EVENT`).
        const SEND_FAILED = 1 << 3;
        /// The peer has shut down (`SCTP_SHUTDOWN_EVENT`).
        const SHUTDOWN = 1 << 4;
        /// The adaptation code point of the peer's program (`SCTP_ADAPTATION_INDICATION`).
        const ADAPTATION = 1 << 5;
        /// Everything was acknowledged (`SCTP_SENDER_DRY_EVENT`).
        const SENDER_DRY = 1 << 6;
        /// Streams were reset, or the peer refused that or another reconfiguration (`SCTP_STREAM_RESET_EVENT`).
        const STREAM_RESET = 1 << 7;
        /// TSNs and streams of both sides were reset (`SCTP_ASSOC_RESET_EVENT`).
        const ASSOCIATION_RESET = 1 << 8;
        /// There are more streams (`SCTP_STREAM_CHANGE_EVENT`).
        const STREAM_CHANGE = 1 << 9;
        /// Addresses of this side or the peer changed (RFC 5061).
        const ADDRESS = 1 << 10;
        /// Something can be read or sent. Drivers use these; programs that the crate `polypath` drives do not see them.
        const READINESS = 1 << 11;
        /// A message whose beginning was delivered ends early (`SCTP_PARTIAL_DELIVERY_EVENT`).
        const PARTIAL_DELIVERY = 1 << 12;
        /// Keys of authenticated chunks become active or unused (`SCTP_AUTHENTICATION_EVENT`).
        const AUTHENTICATION = 1 << 13;
    }
}

impl Event {
    /// The kind that it is of; exactly one.
    pub fn kind(&self) -> EventKinds {
        match self {
            Self::Established { .. } | Self::Restarted { .. } | Self::Ended(_) => {
                EventKinds::ASSOCIATION
            }
            Self::Readable | Self::StreamReadable { .. } | Self::Writable => EventKinds::READINESS,
            Self::SenderDry => EventKinds::SENDER_DRY,
            Self::Path { .. } => EventKinds::PATH,
            Self::SendFailed { .. } | Self::Abandoned { .. } => EventKinds::SEND_FAILED,
            Self::PartialDeliveryAborted { .. } => EventKinds::PARTIAL_DELIVERY,
            Self::Authentication(_) => EventKinds::AUTHENTICATION,
            Self::OutgoingStreamsReset { .. }
            | Self::IncomingStreamsReset { .. }
            | Self::ReconfigurationRefused { .. } => EventKinds::STREAM_RESET,
            Self::AssociationReset { .. } => EventKinds::ASSOCIATION_RESET,
            Self::StreamsAdded { .. } => EventKinds::STREAM_CHANGE,
            Self::PeerAddress { .. }
            | Self::LocalAddress { .. }
            | Self::AddressChangeRefused { .. } => EventKinds::ADDRESS,
            Self::AdaptationIndication(_) => EventKinds::ADAPTATION,
            Self::RemoteError(_) => EventKinds::REMOTE_ERROR,
            Self::PeerShutdown => EventKinds::SHUTDOWN,
        }
    }
}
