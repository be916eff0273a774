//! The second face: the functions of usrsctp, for programs that are written for it. A `struct socket` of these programs is a [`Handle`] around
//! a descriptor of the service; numbers and structures are translated by `polypath_sockets::usrsctp`.
//!
//! Packets that a program carries itself (`AF_CONN`) are not there: such sockets fail with `EAFNOSUPPORT`.

mod calls;
mod dispatcher;
mod dump;
mod handle;
mod settings;
mod transfer;
