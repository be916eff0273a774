//! Chunks (RFC 9260 section 3.3 and extensions).

mod control;
mod data;
mod encode;
mod forward_tsn;
mod owned;
mod parse;
mod sack;

pub use control::*;
pub use data::*;
pub use forward_tsn::*;
pub use sack::*;

use crate::{Causes, Parameters, Raw};

/// Any chunk. Control chunks with rare or long content keep it raw and hand out typed iterators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// User data (RFC 9260 section 3.3.1).
    Data(Data<'a>),
    /// User data with message identifiers (RFC 8260 section 2.1).
    IData(IData<'a>),
    /// Initiation (RFC 9260 section 3.3.2).
    Init(Init<'a>),
    /// Initiation acknowledgement (RFC 9260 section 3.3.3).
    InitAck(Init<'a>),
    /// Selective acknowledgement (RFC 9260 section 3.3.4).
    Sack(Sack<'a>),
    /// Selective acknowledgement with non-renegable blocks (draft-tuexen-tsvwg-sctp-multipath section 4).
    NrSack(NrSack<'a>),
    /// Heartbeat request with a Heartbeat Info parameter (RFC 9260 section 3.3.5).
    Heartbeat(Parameters<'a>),
    /// Heartbeat acknowledgement, parameters echoed (RFC 9260 section 3.3.6).
    HeartbeatAck(Parameters<'a>),
    /// Abort (RFC 9260 section 3.3.7).
    Abort(Abort<'a>),
    /// Shutdown with the cumulative TSN ack (RFC 9260 section 3.3.8).
    Shutdown {
        /// Last TSN received in sequence.
        cumulative_tsn_ack: u32,
    },
    /// Shutdown acknowledgement (RFC 9260 section 3.3.9).
    ShutdownAck,
    /// Operation error (RFC 9260 section 3.3.10).
    Error(Causes<'a>),
    /// The state cookie, returned (RFC 9260 section 3.3.11).
    CookieEcho(Raw<'a>),
    /// Cookie acknowledgement (RFC 9260 section 3.3.12).
    CookieAck,
    /// Explicit congestion notification echo (draft-stewart-tsvwg-sctpecn).
    Ecne(Ecne),
    /// Congestion window reduced (draft-stewart-tsvwg-sctpecn).
    Cwr(Cwr),
    /// Shutdown complete (RFC 9260 section 3.3.13).
    ShutdownComplete {
        /// T bit: the verification tag is the receiver's of the answered packet, reflected.
        reflected_tag: bool,
    },
    /// Authentication (RFC 4895 section 4.1).
    Auth(Auth<'a>),
    /// Address configuration change (RFC 5061 section 4.1.1).
    Asconf(Asconf<'a>),
    /// Address configuration acknowledgement (RFC 5061 section 4.1.2).
    AsconfAck(AsconfAck<'a>),
    /// Packet drop report (draft-stewart-sctp-pktdrprep).
    PacketDrop(PacketDrop<'a>),
    /// Stream reconfiguration (RFC 6525 section 3.1).
    ReConfig(Parameters<'a>),
    /// Padding (RFC 4820 section 3).
    Pad(Raw<'a>),
    /// Forward cumulative TSN (RFC 3758 section 3.2).
    ForwardTsn(ForwardTsn<'a>),
    /// Forward cumulative TSN with message identifiers (RFC 8260 section 2.3.1).
    IForwardTsn(ForwardTsn<'a>),
    /// A chunk of a type not known here.
    Unknown(UnknownChunk<'a>),
}
