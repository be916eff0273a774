//! The second face: the functions of usrsctp, for programs that are written for it. A `struct socket` of these programs is a [`Handle`] around
//! a descriptor of the service; numbers and structures are translated by `polypath_sockets::usrsctp`.
//!
//! Sockets whose packets the program carries itself (`AF_CONN`) are those of a service within the process (`crate::stack`).

mod calls;
mod carried;
mod dispatcher;
mod dump;
mod handle;
mod settings;
mod transfer;
