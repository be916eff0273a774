//! Any bytes as frames of the transfer protocol, and as names of files.
#![no_main]
#![allow(dead_code)]

use libfuzzer_sys::fuzz_target;
use polypath_proto::{Delivery, Piece, ReceivedMessage};
use polypath_wire::Payload;

#[path = "../../crates/transfer/src/frame.rs"]
mod frame;
#[path = "../../crates/transfer/src/name.rs"]
mod name;

use frame::{Answer, Frame};

// The first byte says which frame it is to be: one of those that there are, or another one.
fuzz_target!(|bytes: &[u8]| {
    let Some((first, content)) = bytes.split_first() else { return };
    let ppid = 0x5046_5400 + u32::from(first % 9);
    let Ok(read) = decode(ppid, content) else { return };
    let written = match &read {
        Frame::Offer(offer) => {
            names(&offer.name);
            frame::offer(offer)
        }
        Frame::Answer(answer) => {
            if let Answer::Refused(text) | Answer::There(text) = answer {
                assert!(!text.chars().any(polypath::text::steers_terminal), "{text:?}");
            }
            frame::answer(answer)
        }
        Frame::End(digest) => frame::end(digest),
        Frame::Verdict(reply) => frame::verdict(reply),
        Frame::Proof(digests) => frame::proof(digests),
        Frame::Data(_) | Frame::Working(_) => return,
    };
    // What was understood is what the peer would understand.
    let again = decode(ppid, &written.payload).expect("what this side writes");
    assert_eq!(format!("{read:?}"), format!("{again:?}"));
});

fn decode(ppid: u32, content: &[u8]) -> Result<Frame, frame::FrameError> {
    let message = ReceivedMessage {
        stream: 0,
        ppid,
        delivery: Delivery::Ordered,
        ssn: 0,
        piece: Piece::Whole,
        fragments: [Payload::Shared(content.to_vec().into())].into_iter().collect(),
    };
    Frame::decode(message.into())
}

/// A name that is accepted leads nowhere else.
fn names(bytes: &[u8]) {
    let _ = (name::shown(bytes), name::shown_briefly(bytes));
    let Ok(path) = name::check_path(bytes) else { return };
    assert_eq!(path.as_bytes(), bytes);
    let mut parts = std::path::Path::new(path).components();
    assert!(parts.all(|part| matches!(part, std::path::Component::Normal(_))), "{path:?}");
    assert!(path.split('/').all(|part| name::check(part.as_bytes()) == Ok(part)), "{path:?}");
}
