//! A peer that says what a test wants.

use std::net::IpAddr;
use std::path::Path;
use std::process::Child;

use bytes::{BufMut, Bytes, BytesMut};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use polypath::{Association, AssociationConfig, Endpoint, Message, Peer, ReceivedMessage};
use sha2::{Digest, Sha256};

use crate::support::{Receiver, names};

pub(crate) const OFFER: u32 = 0x5046_5401;
pub(crate) const ANSWER: u32 = 0x5046_5402;
pub(crate) const DATA: u32 = 0x5046_5403;
pub(crate) const END: u32 = 0x5046_5404;
pub(crate) const VERDICT: u32 = 0x5046_5405;
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

pub(crate) fn offer(size: u64, name: &[u8]) -> Message {
    offer_with_more(0, size, name)
}

pub(crate) fn offer_with_more(following: u32, size: u64, name: &[u8]) -> Message {
    let mut content = BytesMut::new();
    content.put_u8(1);
    content.put_u32(following);
    content.put_u64(size);
    content.put_slice(name);
    Message::new(0, content.freeze()).ppid(OFFER)
}

pub(crate) fn data(content: &'static [u8]) -> Message {
    Message::new(0, Bytes::from_static(content)).ppid(DATA)
}

pub(crate) fn end(content: &[u8]) -> Message {
    Message::new(0, Sha256::digest(content).to_vec()).ppid(END)
}

/// The reason of a refusal.
pub(crate) fn refusal(message: Option<ReceivedMessage>, ppid: u32) -> String {
    let message = message.expect("a reply");
    assert_eq!(message.ppid(), ppid);
    let content = message.into_bytes();
    assert_eq!(content[0], 1, "not refused");
    String::from_utf8(content[1..].to_vec()).unwrap()
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
