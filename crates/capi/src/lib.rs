//! The sockets API of SCTP in C (RFC 6458), over the service of `polypath-sockets`.
//!
//! A program that is started with this library preloaded, or is linked with it, gets its SCTP sockets from the service; all
//! other descriptors and calls go to the system as ever. Of each function of the C library that takes a descriptor there is one here
//! that asks first whether the descriptor is an SCTP socket ([`table`]).
//!
//! All unsafe code of the project is in this crate: the functions of C take pointers that only the caller can vouch for. Each function
//! here reads and writes what its counterpart in the C library does, and no more.

#![cfg(target_os = "linux")]
#![allow(clippy::missing_safety_doc)] // the contracts are those of the C functions of the same name

mod calls;
mod client;
mod complaint;
mod connecting;
mod descriptors;
mod errors;
mod facts;
mod fault;
mod fork;
mod frames;
mod info;
mod io;
mod memory;
mod messages;
mod patience;
mod peeling;
mod peers;
mod places;
mod real;
mod receiving;
mod rests;
mod sctp;
mod stack;
mod start;
mod table;
#[cfg(test)]
mod testing;
mod usrsctp;
