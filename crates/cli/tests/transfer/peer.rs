//! A peer that says what a test wants.

use std::net::IpAddr;
use std::path::Path;
use std::process::Child;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use polypath::{Association, AssociationConfig, Endpoint, Peer, ReceivedMessage};

use crate::frames::{ANSWER, reason};
use crate::support::{Receiver, names};

pub(crate) const PORT: u16 = 59899;

pub(crate) fn local(text: &str) -> [IpAddr; 1] {
    [text.parse().unwrap()]
}

/// A sender that says what a test wants.
pub(crate) async fn connect(receiver: &Receiver) -> (Endpoint, Association) {
    let endpoint = Endpoint::builder(local("127.0.0.6")).encapsulation_port(0).bind().unwrap();
    let peer =
        Peer::new(local("127.0.0.1"), PORT).encapsulation_port(receiver.port.parse().unwrap());
    let association = endpoint.connect(&peer, AssociationConfig::default()).await.unwrap();
    (endpoint, association)
}

/// The reason of a refusal.
pub(crate) fn refusal(message: Option<ReceivedMessage>, ppid: u32) -> String {
    let message = message.expect("a reply");
    assert_eq!(message.ppid(), ppid);
    reason(&message.into_bytes())
}

pub(crate) async fn accepted(association: &Association) {
    let message = association.receive().await.unwrap().unwrap();
    assert_eq!((message.ppid(), message.into_bytes().as_ref()), (ANSWER, [0].as_slice()));
}

/// Waits until a partial file is there.
pub(crate) async fn partial_file(directory: &Path) {
    while !names(directory).iter().any(|name| name.starts_with(".polypath-")) {
        tokio::task::yield_now().await;
    }
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
}
