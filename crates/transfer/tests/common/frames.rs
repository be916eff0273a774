//! Frames of the transfer protocol, written by hand: what a test says with them need not make sense.
// Each test binary says only some of them.
#![allow(dead_code)]

use bytes::{BufMut, Bytes, BytesMut};
use polypath::{Association, Message, ReceivedMessage};
use sha2::{Digest, Sha256};

pub(crate) const OFFER: u32 = 0x5046_5401;
pub(crate) const ANSWER: u32 = 0x5046_5402;
pub(crate) const DATA: u32 = 0x5046_5403;
pub(crate) const END: u32 = 0x5046_5404;
pub(crate) const VERDICT: u32 = 0x5046_5405;
pub(crate) const PROOF: u32 = 0x5046_5406;
pub(crate) const WORKING: u32 = 0x5046_5407;

/// Kind of an offer.
pub(crate) const FILE: u8 = 0;
/// The same.
pub(crate) const DIRECTORY: u8 = 1;
/// Flag of an offer whose content follows at once.
pub(crate) const EAGER: u8 = 1;
/// Flag of an offer of version 3 whose content comes after other offers.
pub(crate) const AHEAD: u8 = 2;

/// An offer of the first version.
pub(crate) fn offer(following: u32, size: u64, name: &[u8]) -> Message {
    offer_of(1, (following, size), &[], name)
}

/// An offer of the second version, with permissions and a time that no file has.
pub(crate) fn second_offer(
    following: u32,
    size: u64,
    (kind, flags): (u8, u8),
    name: &[u8],
) -> Message {
    offer_of(2, (following, size), &metadata(kind, flags), name)
}

/// An offer of version 3 of a file whose content comes after other offers.
pub(crate) fn offer_ahead(following: u32, size: u64, name: &[u8]) -> Message {
    offer_of(3, (following, size), &metadata(FILE, AHEAD), name)
}

/// An offer of version 4, which may be of any size.
pub(crate) fn large_offer_ahead(following: u32, size: u64, name: &[u8]) -> Message {
    offer_of(4, (following, size), &metadata(FILE, AHEAD), name)
}

fn metadata(kind: u8, flags: u8) -> Vec<u8> {
    let mut more = vec![kind, flags];
    more.put_u32(0o7777);
    more.put_i64(i64::MIN);
    more.put_u32(0);
    more
}

fn offer_of(version: u8, (following, size): (u32, u64), more: &[u8], name: &[u8]) -> Message {
    let mut content = BytesMut::new();
    content.put_u8(version);
    content.put_u32(following);
    content.put_u64(size);
    content.put_slice(more);
    content.put_slice(name);
    Message::new(0, content.freeze()).ppid(OFFER)
}

pub(crate) fn data(content: &'static [u8]) -> Message {
    Message::new(0, Bytes::from_static(content)).ppid(DATA)
}

pub(crate) fn end(content: &[u8]) -> Message {
    Message::new(0, Sha256::digest(content).to_vec()).ppid(END)
}

/// The next answer or verdict, without signs of life.
pub(crate) async fn reply(association: &Association) -> ReceivedMessage {
    loop {
        let message = association.receive().await.expect("an association").expect("a reply");
        if message.ppid() != WORKING {
            return message;
        }
    }
}

/// The reason of an answer or verdict.
pub(crate) fn reason(reply: &Bytes) -> String {
    assert_eq!(reply.first(), Some(&1), "not refused");
    String::from_utf8(reply[1..].to_vec()).expect("text")
}
