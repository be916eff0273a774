//! SCTP sockets for programs that know nothing of Polypath: the service that owns their associations, and what it and the
//! programs say to each other.
//!
//! A program's socket is one end of a pair of connected `AF_UNIX` sockets that keep the borders of messages (`SOCK_SEQPACKET`); the
//! service has the other end. So the descriptor is a real one: `poll`, `select` and `epoll` work on it, and so do `dup`, `fork`, `exec`,
//! `O_NONBLOCK` and time limits. Through it go messages, notifications and accepted sockets, each with a [head](frame::Head). Calls that need
//! an answer, such as `setsockopt`, go over a [connection of their own](control). What calls need to know all the time, the service posts in
//! [memory](board) that programs read.
//!
//! The service's end has a [name](names) in the abstract name space, which `getpeername` tells: any process that has come to the descriptor, by `fork`
//! or `exec`, finds out so that it is an SCTP socket, and which.
//!
//! Where a program carries the packets itself, the service runs in a thread of the program (`service::Carried`).
//!
//! `polypath-capi` has the other side: the functions of the sockets API that programs call.

#![forbid(unsafe_code)]

pub mod abi;
pub mod address;
pub mod annex;
pub mod board;
pub mod control;
pub mod control_buffer;
pub mod frame;
pub mod init;
pub mod layout;
pub mod names;
pub mod support;
pub mod usrsctp;

#[cfg(feature = "service")]
pub mod service;
