//! What the endpoint decides about a packet, and how it looks into one.

use alloc::borrow::Cow;
use alloc::boxed::Box;

use polypath_wire::{
    COMMON_HEADER_LEN, Cause, ChecksumPolicy, Chunk, ChunkError, Init, Packet, PacketView,
    ParseError, chunk_type,
};
use thiserror::Error;

use super::table::Ports;
use crate::extension::auth::{AuthProof, Covered};
use crate::extension::packet_drop::flags;
use crate::{Association, AssociationId, Body, Received, Transmit};

/// The destination of a packet.
#[derive(Debug)]
pub enum Route {
    /// To this association: [`Association::handle`].
    Association(AssociationId),
    /// Its checksum is wrong, but by addresses and ports it is for this association: [`Association::handle_damaged`]. It
    /// counts as dropped.
    Damaged(AssociationId),
    /// To [`Endpoint::handle_collision`](crate::Endpoint::handle_collision), with this association: a handshake chunk
    /// of the peer of an association that exists.
    Collision(AssociationId),
    /// A new association, which has handled the packet already. Keep it under this id, and poll it.
    New(AssociationId, Box<Association>),
    /// Nowhere, but an answer is to be sent.
    Reply(Box<Transmit>),
    /// Nowhere.
    Drop(DropReason),
}

/// What became of a packet that met an existing association.
#[derive(Debug)]
pub enum Collision {
    /// An answer is to be sent; the association is unchanged.
    Reply(Box<Transmit>),
    /// The association has handled the packet: poll it.
    Handled,
    /// The packet was dropped; the association is unchanged.
    Drop(DropReason),
}

/// Why a packet was dropped without an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Error)]
#[non_exhaustive]
pub enum DropReason {
    /// Too short, or a chunk is malformed.
    #[error("malformed packet")]
    Malformed,
    /// The checksum is wrong.
    #[error("wrong checksum")]
    WrongChecksum,
    /// Sent to an SCTP port that is not this endpoint's.
    #[error("sent to another SCTP port")]
    OtherPort,
    /// Sent from SCTP port 0.
    #[error("sent from SCTP port 0")]
    PortZero,
    /// From or to an address that is not unicast.
    #[error("from or to an address that is not unicast")]
    NotUnicast,
    /// From this endpoint's own transport address.
    #[error("from the own transport address")]
    OwnAddress,
    /// Verification tag 0, but not an INIT alone (RFC 9260 section 8.5.1 A).
    #[error("verification tag 0 without a lone INIT")]
    TagZero,
    /// INIT with a verification tag other than 0 (RFC 9260 section 8.5.1 A).
    #[error("INIT with a verification tag")]
    TaggedInit,
    /// INIT with initiate tag 0 (RFC 9260 section 3.3.2).
    #[error("INIT with initiate tag 0")]
    InitiateTagZero,
    /// From the peer of an association, but not with its tag (RFC 9260 section 8.5).
    #[error("wrong verification tag")]
    WrongTag,
    /// With the tag of an association, but not from an address of its peer.
    #[error("right verification tag from an address that is not the peer's")]
    ForeignAddress,
    /// Belongs to no association and is not to be answered (RFC 9260 section 8.4).
    #[error("out of the blue, and not to be answered")]
    OutOfTheBlue,
    /// Would have been answered, but strangers were answered too often of late.
    #[error("answers to strangers are used up")]
    AnswerLimit,
    /// The cookie is not authentic: forged, damaged, or its secret is gone (RFC 9260 section 5.1.5).
    #[error("the state cookie is not authentic")]
    InvalidCookie,
    /// The cookie is authentic, but was made for other ports, another tag or other addresses (RFC 9260 section 5.1.5).
    #[error("the state cookie was made for another packet")]
    CookieMismatch,
    /// A COOKIE ECHO that must be authenticated, but is not, or whose AUTH is wrong (RFC 4895 section 6.3).
    #[error("the COOKIE ECHO is not authenticated")]
    NotAuthenticated,
    /// The cookie does not belong to the association that exists (RFC 9260 section 5.2.4).
    #[error("the state cookie does not belong to the association")]
    CookieSuperseded,
    /// The tag in the cookie was given to another association meanwhile, or its association has ended already.
    #[error("the verification tag in the state cookie is taken")]
    TagTaken,
    /// The INIT ACK cannot go to an address that the association may use (RFC 9260 section 5.2.1).
    #[error("INIT from an address that the user did not name")]
    UnrequestedAddress,
    // The last one: the count of reasons is taken from it.
    /// The association that was handed in has ended, or is not one of this endpoint.
    #[error("the association has ended")]
    NoAssociation,
}

impl DropReason {
    /// Count of reasons, for tables.
    pub(super) const COUNT: usize = Self::NoAssociation as usize + 1;
}

/// Source and destination port of a packet whose checksum is wrong.
pub(super) fn ports_of_damaged(body: &Body<'_>) -> Option<(u16, u16)> {
    match body {
        Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => {
            let &[s0, s1, d0, d1] = bytes.first_chunk()?;
            Some((u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])))
        }
        Body::Structured(packet) | Body::Damaged { packet, .. } => {
            Some((packet.source_port, packet.destination_port))
        }
    }
}

/// The common header of a packet without its checksum, and the type of its first chunk other than AUTH: enough to route
/// nearly every packet.
pub(super) struct Beginning {
    /// Source and destination.
    pub(super) ports: [u16; 2],
    pub(super) tag: u32,
    pub(super) first_type: u8,
}

impl Beginning {
    /// `None` for a packet without a chunk, and for one that is known to be damaged.
    #[inline]
    pub(super) fn of(body: &Body<'_>) -> Option<Self> {
        match body {
            Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => {
                let &[s0, s1, d0, d1, t0, t1, t2, t3, _, _, _, _, first_type] =
                    bytes.first_chunk()?;
                let ports = [[s0, s1], [d0, d1]].map(u16::from_be_bytes);
                let first_type = match first_type {
                    chunk_type::AUTH => type_behind_auth(bytes)?,
                    other => other,
                };
                Some(Self { ports, tag: u32::from_be_bytes([t0, t1, t2, t3]), first_type })
            }
            Body::Structured(packet) => {
                let first_type = behind_auth(packet)?.chunk_type();
                let ports = [packet.source_port, packet.destination_port];
                Some(Self { ports, tag: packet.verification_tag, first_type })
            }
            Body::Damaged { .. } => None,
        }
    }
}

/// Type of the chunk behind an AUTH chunk at the front of a datagram.
#[cold]
fn type_behind_auth(datagram: &[u8]) -> Option<u8> {
    let length = datagram.get(COMMON_HEADER_LEN + 2..)?.first_chunk()?;
    let length = usize::from(u16::from_be_bytes(*length)).next_multiple_of(4);
    datagram.get(COMMON_HEADER_LEN + length..)?.first().copied()
}

/// The first chunk besides AUTH.
fn behind_auth<'a>(packet: &'a Packet<'static>) -> Option<&'a Chunk<'static>> {
    let place = usize::from(matches!(packet.chunks.first()?, Chunk::Auth(_)));
    packet.chunks.get(place)
}

/// A received packet whose checksum was found right.
pub(super) enum Incoming<'r, 'a> {
    Datagram(PacketView<'a>),
    Structured(&'r Packet<'static>),
}

/// The content of a packet, as far as the rules for packets without association need it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents(u8);

impl Contents {
    /// ABORT.
    pub(super) const ABORT: u8 = 1;
    /// ABORT or SHUTDOWN COMPLETE with the T bit, or a drop report of a middlebox.
    pub(super) const REFLECTED: u8 = 1 << 1;
    /// SHUTDOWN ACK.
    pub(super) const SHUTDOWN_ACK: u8 = 1 << 2;
    /// SHUTDOWN COMPLETE.
    pub(super) const SHUTDOWN_COMPLETE: u8 = 1 << 3;
    /// COOKIE ACK, or ERROR with the cause "stale cookie".
    pub(super) const HANDSHAKE_REMAINS: u8 = 1 << 4;

    /// Whether any of `kinds` is in the packet.
    pub(super) fn any(self, kinds: u8) -> bool {
        self.0 & kinds != 0
    }

    fn of(chunk: &Chunk<'_>) -> u8 {
        match chunk {
            Chunk::Abort(abort) if abort.reflected_tag => Self::ABORT | Self::REFLECTED,
            Chunk::Abort(_) => Self::ABORT,
            Chunk::PacketDrop(report) if report.flags & flags::MIDDLEBOX != 0 => Self::REFLECTED,
            Chunk::ShutdownAck => Self::SHUTDOWN_ACK,
            Chunk::ShutdownComplete { reflected_tag: true } => {
                Self::SHUTDOWN_COMPLETE | Self::REFLECTED
            }
            Chunk::ShutdownComplete { .. } => Self::SHUTDOWN_COMPLETE,
            Chunk::CookieAck => Self::HANDSHAKE_REMAINS,
            Chunk::Error(causes)
                if causes.iter().any(|cause| matches!(cause, Cause::StaleCookie { .. })) =>
            {
                Self::HANDSHAKE_REMAINS
            }
            _ => 0,
        }
    }
}

impl<'r, 'a: 'r> Incoming<'r, 'a> {
    /// Looks at the common header and at the checksum.
    ///
    /// This is the one place that finds a wrong checksum, whatever the form of the packet.
    pub(super) fn open(
        received: &'r Received<'a>,
        policy: ChecksumPolicy,
    ) -> Result<Self, DropReason> {
        match &received.body {
            Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => {
                match PacketView::parse(bytes, policy) {
                    Ok(view) => Ok(Self::Datagram(view)),
                    Err(ParseError::WrongChecksum { .. }) => Err(DropReason::WrongChecksum),
                    Err(_) => Err(DropReason::Malformed),
                }
            }
            Body::Structured(packet) => Ok(Self::Structured(packet)),
            Body::Damaged { .. } => Err(DropReason::WrongChecksum),
        }
    }

    pub(super) fn source_port(&self) -> u16 {
        match self {
            Self::Datagram(view) => view.source_port(),
            Self::Structured(packet) => packet.source_port,
        }
    }

    pub(super) fn destination_port(&self) -> u16 {
        match self {
            Self::Datagram(view) => view.destination_port(),
            Self::Structured(packet) => packet.destination_port,
        }
    }

    /// SCTP ports, as the receiver sees them.
    pub(super) fn ports(&self) -> Ports {
        Ports { local: self.destination_port(), remote: self.source_port() }
    }

    pub(super) fn tag(&self) -> u32 {
        match self {
            Self::Datagram(view) => view.verification_tag(),
            Self::Structured(packet) => packet.verification_tag,
        }
    }

    /// Type of the first chunk besides AUTH, without reading the chunk.
    pub(super) fn first_type(&self) -> Option<u8> {
        match self {
            Self::Datagram(view) => match view.as_slice().get(COMMON_HEADER_LEN).copied() {
                Some(chunk_type::AUTH) => type_behind_auth(view.as_slice()),
                first => first,
            },
            Self::Structured(packet) => behind_auth(packet).map(Chunk::chunk_type),
        }
    }

    /// The only chunk, if it is an INIT.
    pub(super) fn lone_init(&self) -> Result<Init<'a>, DropReason> {
        let mut chunks = self.chunks();
        match (next(&mut chunks)?.map(Cow::into_owned), next(&mut chunks)?) {
            (Some(Chunk::Init(init)), None) => Ok(init),
            _ => Err(DropReason::TagZero),
        }
    }

    /// The first chunk besides AUTH.
    pub(super) fn first(&self) -> Result<Cow<'r, Chunk<'a>>, DropReason> {
        let mut chunks = self.chunks();
        let first = match next(&mut chunks)? {
            Some(first) if matches!(*first, Chunk::Auth(_)) => next(&mut chunks)?,
            first => first,
        };
        first.ok_or(DropReason::Malformed)
    }

    /// The AUTH chunk at the front.
    pub(super) fn proof(&self) -> Option<AuthProof<'r>> {
        match *self {
            Self::Datagram(view) => match view.chunks().next()?.ok()? {
                Chunk::Auth(auth) => {
                    let covered = Covered::Bytes(view.as_slice().get(COMMON_HEADER_LEN..)?);
                    Some(AuthProof { auth, covered })
                }
                _ => None,
            },
            Self::Structured(packet) => match packet.chunks.split_first()? {
                (Chunk::Auth(auth), behind) => {
                    Some(AuthProof { auth: auth.clone(), covered: Covered::Chunks(behind) })
                }
                _ => None,
            },
        }
    }

    /// Reads all chunks; a packet without any is malformed.
    pub(super) fn contents(&self) -> Result<Contents, DropReason> {
        let mut chunks = self.chunks();
        let first = next(&mut chunks)?.ok_or(DropReason::Malformed)?;
        let mut contents = Contents(Contents::of(&first));
        while let Some(chunk) = next(&mut chunks)? {
            contents.0 |= Contents::of(&chunk);
        }
        Ok(contents)
    }

    fn chunks(&self) -> impl Iterator<Item = Result<Cow<'r, Chunk<'a>>, ChunkError>> + use<'r, 'a> {
        let (view, list) = match *self {
            Self::Datagram(view) => (Some(view.chunks()), [].iter()),
            Self::Structured(packet) => (None, packet.chunks.iter()),
        };
        let read = view.into_iter().flatten().map(|chunk| chunk.map(Cow::Owned));
        read.chain(list.map(|chunk| Ok(Cow::Borrowed(chunk))))
    }
}

fn next<T>(
    chunks: &mut impl Iterator<Item = Result<T, ChunkError>>,
) -> Result<Option<T>, DropReason> {
    chunks.next().transpose().map_err(|_| DropReason::Malformed)
}
