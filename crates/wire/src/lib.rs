//! SCTP on the wire: packets, chunks, parameters and error causes (RFC 9260 section 3 and its extensions).
//!
//! One set of types serves three needs: a parsed packet borrows from the datagram, a packet to be sent owns or
//! shares its bytes (`Packet<'static>`), and in simulations user data can be [`Payload::Virtual`], which has a
//! length and a recognisable content but occupies no memory until it is encoded.
//!
//! ```
//! use polypath_wire::{Cause, Causes, Checksum, ChecksumPolicy, Chunk, Packet, PacketView};
//!
//! let causes = Causes::build([Cause::NoUserData { tsn: 7 }]);
//! let packet = Packet {
//!     source_port: 5001,
//!     destination_port: 5002,
//!     verification_tag: 0x1234_5678,
//!     chunks: [Chunk::Error(causes)].into_iter().collect(),
//! };
//! let mut buffer = [0; 1500];
//! let len = packet.encode_into(&mut buffer, Checksum::Crc32c)?;
//!
//! let view = PacketView::parse(&buffer[..len], ChecksumPolicy::Verify)?;
//! assert_eq!(view.destination_port(), 5002);
//! for chunk in view.chunks() {
//!     let Chunk::Error(causes) = chunk? else { panic!("an ERROR chunk was written") };
//!     assert!(causes.iter().eq([Cause::NoUserData { tsn: 7 }]));
//! }
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! Nothing that arrives makes this crate panic, or allocate before it was checked: lengths and lists are checked while
//! a chunk is read, and the same code then hands out what is in them.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod cause;
mod checksum;
mod chunk;
mod codes;
mod error;
mod joined;
mod packet;
mod parameter;
mod pattern;
mod payload;
mod raw;
mod tlv;
mod view;

pub use cause::{Cause, CauseIter};
pub use checksum::{COMMON_HEADER_LEN, Checksum, ChecksumPolicy, packet_checksum, write_checksum};
pub use chunk::*;
pub use codes::{UnknownAction, cause_code, chunk_type, error_detection, parameter_type};
pub use error::{ChunkError, ChunkErrorReason, EncodeError, ParseError, TlvError, TlvErrorReason};
pub use joined::JoinedPayload;
pub use packet::{ChunkList, Packet};
pub use parameter::{NextTsns, Parameter, ParameterIter};
pub use payload::{Payload, VirtualPayload};
pub use raw::{Causes, Parameters, Raw};
pub use tlv::U16List;
pub use view::{Chunks, PacketView};
