use std::string::String;
use std::vec;
use std::vec::Vec;

use polypath_wire::{Data, DataFlags, IData, Payload, SkippedMessages};

use super::*;
use crate::receive::Incomplete;
use crate::receive::tsn_map::{Arrival, TsnMap};
use crate::types::UserDataChunk;
use crate::{Delivery, Piece, Tsn};

const B: DataFlags = DataFlags::BEGIN;
const E: DataFlags = DataFlags::END;
const U: DataFlags = DataFlags::UNORDERED;
const M: DataFlags = DataFlags::empty();

/// What a case does.
enum Step {
    /// A chunk of 10 bytes arrives: TSN, flags, stream, and SSN, or MID and FSN.
    Chunk(u32, DataFlags, u16, u32, u32),
    /// The buffer is full; whether that makes a delivery begin.
    Full(bool),
    /// FORWARD-TSN to a point, past the stream and SSN.
    Forward(u32, u16, u16),
    /// I-FORWARD-TSN to a point, past the stream and MID.
    IForward(u32, u16, u32),
    /// The peer resets streams.
    Reset(&'static [u16]),
    /// The user reads everything: stream, TSNs and piece of each.
    Read(&'static [(u16, &'static [u8], Piece)]),
    /// Streams of which deliveries have been aborted.
    Aborted(&'static [u16]),
}

use Step::{Aborted, Chunk, Forward, Full, IForward, Read, Reset};

struct Rig {
    tsns: TsnMap,
    reassembly: Reassembly,
    chunk: UserDataChunk,
}

impl Rig {
    fn new(chunk: UserDataChunk, incomplete: Incomplete, point: Option<u32>) -> Self {
        let mut reassembly = Reassembly::new(incomplete, chunk);
        reassembly.set_partial_delivery_point(point);
        Self { tsns: TsnMap::new(Tsn(1), u32::MAX), reassembly, chunk }
    }

    fn take(&mut self, tsn: u32, flags: DataFlags, stream: u16, number: u32, fsn: u32) {
        let Arrival::New(wide) = self.tsns.classify(Tsn(tsn)) else { panic!("{tsn} again") };
        let payload = Payload::Shared(vec![tsn as u8; 10].into());
        match self.chunk {
            UserDataChunk::Data => {
                let data = Data { flags, tsn, stream, ssn: number as u16, ppid: 5, payload };
                self.reassembly.on_data(wide, &data).unwrap();
            }
            UserDataChunk::IData => {
                let ppid_or_fsn = if flags.contains(B) { 5 } else { fsn };
                let data = IData { flags, tsn, stream, mid: number, ppid_or_fsn, payload };
                self.reassembly.on_i_data(wide, &data).unwrap();
            }
        }
        self.tsns.record(wide);
        if self.chunk == UserDataChunk::Data {
            self.reassembly.check_up_to(self.tsns.cumulative()).unwrap();
        }
    }

    fn read(&mut self) -> Vec<(u16, Vec<u8>, Piece)> {
        core::iter::from_fn(|| self.reassembly.receive())
            .map(|it| {
                assert_eq!(it.ppid, 5);
                assert!(it.fragments.iter().all(|fragment| fragment.len() == 10));
                let (stream, piece) = (it.stream, it.piece);
                (stream, it.into_bytes().chunks(10).map(|part| part[0]).collect(), piece)
            })
            .collect()
    }

    fn run(&mut self, name: &str, steps: &[Step]) {
        for (at, step) in steps.iter().enumerate() {
            let case: String = std::format!("{name}, step {at}");
            match *step {
                Chunk(tsn, flags, stream, number, fsn) => {
                    self.take(tsn, flags, stream, number, fsn);
                }
                Full(begins) => {
                    assert_eq!(self.reassembly.begin_partial_delivery(), begins, "{case}");
                }
                Forward(point, stream, ssn) => {
                    self.tsns.advance_to(Tsn(point));
                    self.reassembly.skip(stream, Ssn(ssn));
                    let point = self.tsns.wide(Tsn(point));
                    self.reassembly.drop_incomplete(point, self.tsns.cumulative());
                }
                IForward(point, stream, mid) => {
                    self.tsns.advance_to(Tsn(point));
                    self.reassembly.skip_messages(SkippedMessages { stream, flags: 0, mid });
                }
                Reset(streams) => {
                    self.reassembly.reset_streams(streams);
                }
                Read(expected) => {
                    let expected: Vec<_> = expected
                        .iter()
                        .map(|(id, tsns, piece)| (*id, tsns.to_vec(), *piece))
                        .collect();
                    assert_eq!(self.read(), expected, "{case}");
                }
                Aborted(expected) => {
                    let aborted = self.reassembly.take_aborted();
                    assert!(aborted.iter().all(|it| it.delivery == Delivery::Ordered));
                    let streams: Vec<_> = aborted.iter().map(|it| it.stream).collect();
                    assert_eq!(streams, expected, "{case}");
                }
            }
        }
    }
}

/// Name, partial delivery point and steps.
type Case<'a> = (&'a str, Option<u32>, &'a [Step]);

fn run_all(chunk: UserDataChunk, cases: &[Case<'_>]) {
    for (name, point, steps) in cases {
        Rig::new(chunk, Incomplete::MayBeAbandoned, *point).run(name, steps);
    }
}

use Piece::{First, Last, Middle, Whole};

#[test]
fn messages_in_data_chunks_are_delivered_in_pieces_one_at_a_time() {
    let cases: &[Case<'_>] = &[
        ("nothing is there", None, &[Full(false)]),
        (
            "one message of the buffer",
            None,
            &[
                Chunk(1, B, 0, 0, 0),
                Chunk(2, M, 0, 0, 0),
                Read(&[]),
                Full(true),
                Read(&[(0, &[1, 2], First)]),
                Full(false),
                Chunk(3, M, 0, 0, 0),
                Chunk(5, M, 0, 0, 0),
                Read(&[(0, &[3], Middle)]),
                Chunk(4, M, 0, 0, 0),
                Chunk(6, E, 0, 0, 0),
                // What was not read yet goes on.
                Read(&[(0, &[4, 5, 6], Last)]),
                Chunk(7, B | E, 0, 1, 0),
                Read(&[(0, &[7], Whole)]),
            ],
        ),
        (
            "nothing of it was read before its end",
            None,
            &[Chunk(1, B, 0, 0, 0), Full(true), Chunk(2, E, 0, 0, 0), Read(&[(0, &[1, 2], Whole)])],
        ),
        (
            "other messages wait",
            None,
            &[
                Chunk(1, B, 0, 0, 0),
                Full(true),
                Chunk(3, B | E, 1, 0, 0),
                Chunk(4, B | E | U, 0, 0, 0),
                Chunk(5, B | E, 0, 1, 0),
                Read(&[(0, &[1], First)]),
                Chunk(2, E, 0, 0, 0),
                Read(&[(0, &[2], Last), (1, &[3], Whole), (0, &[4], Whole), (0, &[5], Whole)]),
            ],
        ),
        (
            "not its turn",
            None,
            &[Chunk(2, B, 0, 1, 0), Full(false), Chunk(1, B | E, 0, 0, 0), Full(true)],
        ),
        ("its beginning is missing", None, &[Chunk(2, M, 0, 0, 0), Full(false)]),
        (
            "a delivery point",
            Some(20),
            &[
                Chunk(1, B, 0, 0, 0),
                Chunk(3, B, 1, 0, 0),
                Read(&[]),
                Chunk(2, E, 0, 0, 0),
                // At the point it was whole.
                Read(&[(0, &[1, 2], Whole)]),
                Chunk(4, M, 1, 0, 0),
                Read(&[(1, &[3, 4], First)]),
                Chunk(5, E, 1, 0, 0),
                Read(&[(1, &[5], Last)]),
            ],
        ),
        (
            "a delivery point while another message is under way",
            Some(10),
            &[
                Chunk(1, B, 0, 0, 0),
                Chunk(3, B, 1, 0, 0),
                Read(&[(0, &[1], First)]),
                Chunk(2, E, 0, 0, 0),
                Read(&[(0, &[2], Last), (1, &[3], First)]),
                Chunk(4, M, 1, 0, 0),
                Read(&[(1, &[4], Middle)]),
            ],
        ),
        (
            "a delivery point above a gap",
            Some(10),
            &[
                Chunk(1, B | U, 0, 0, 0),
                Read(&[(0, &[1], First)]),
                Chunk(3, B | U, 1, 0, 0),
                Chunk(4, M | U, 1, 0, 0),
                Read(&[]),
                Chunk(2, E | U, 0, 0, 0),
                Read(&[(0, &[2], Last), (1, &[3, 4], First)]),
            ],
        ),
        (
            "a delivery point above a gap that is skipped",
            Some(10),
            &[Chunk(2, B, 1, 0, 0), Read(&[]), Forward(1, 0, 0), Read(&[(1, &[2], First)])],
        ),
    ];
    run_all(UserDataChunk::Data, cases);
}

#[test]
fn messages_in_data_chunks_that_never_end_are_reported() {
    let cases: &[Case<'_>] = &[
        (
            "abandoned",
            None,
            &[
                Chunk(1, B, 0, 0, 0),
                Full(true),
                Chunk(4, B | E, 1, 0, 0),
                Aborted(&[]),
                Forward(3, 0, 0),
                Aborted(&[0]),
                Aborted(&[]),
                Read(&[(0, &[1], First), (1, &[4], Whole)]),
                Chunk(5, B | E, 0, 1, 0),
                Read(&[(0, &[5], Whole)]),
            ],
        ),
        (
            "given up without a word",
            None,
            &[
                Chunk(1, B, 0, 0, 0),
                Full(true),
                Chunk(2, B | E, 1, 0, 0),
                Aborted(&[0]),
                Read(&[(0, &[1], First), (1, &[2], Whole)]),
            ],
        ),
        (
            "reset",
            None,
            &[
                Chunk(1, B, 3, 0, 0),
                Full(true),
                Reset(&[2]),
                Aborted(&[]),
                Reset(&[3]),
                Aborted(&[3]),
                Read(&[(3, &[1], First)]),
                Chunk(2, B | E, 3, 0, 0),
                Read(&[(3, &[2], Whole)]),
            ],
        ),
    ];
    run_all(UserDataChunk::Data, cases);
}

#[test]
fn with_i_data_each_stream_has_one_message_under_way() {
    let cases: &[Case<'_>] = &[
        (
            "the largest first",
            None,
            &[
                Chunk(1, B, 0, 0, 0),
                Chunk(2, B, 1, 0, 0),
                Chunk(3, M, 1, 0, 1),
                Full(true),
                Read(&[(1, &[2, 3], First)]),
                Full(true),
                Read(&[(0, &[1], First)]),
                Full(false),
                // Each goes on by itself, and others pass.
                Chunk(4, M, 0, 0, 1),
                Chunk(5, M, 1, 0, 3),
                Chunk(6, B | E, 2, 0, 0),
                Read(&[(0, &[4], Middle), (2, &[6], Whole)]),
                Chunk(7, M, 1, 0, 2),
                Chunk(8, B | E, 1, 1, 0),
                Chunk(9, E, 1, 0, 4),
                Read(&[(1, &[7, 5, 9], Last), (1, &[8], Whole)]),
            ],
        ),
        ("not its turn", None, &[Chunk(1, B, 0, 1, 0), Full(false)]),
        (
            "unordered messages of one stream one by one",
            Some(10),
            &[
                Chunk(1, B | U, 0, 0, 0),
                Chunk(2, B | U, 0, 1, 0),
                Chunk(3, B, 0, 0, 0),
                Read(&[(0, &[1], First), (0, &[3], First)]),
                Chunk(4, E | U, 0, 0, 1),
                Read(&[(0, &[4], Last)]),
                Chunk(5, E | U, 0, 1, 1),
                Read(&[(0, &[2, 5], Whole)]),
            ],
        ),
        (
            "abandoned",
            None,
            &[
                Chunk(1, B, 0, 0, 0),
                Full(true),
                Chunk(3, B, 1, 0, 0),
                Full(true),
                IForward(2, 0, 0),
                Aborted(&[0]),
                Read(&[(0, &[1], First), (1, &[3], First)]),
                Chunk(4, B | E, 0, 1, 0),
                Read(&[(0, &[4], Whole)]),
            ],
        ),
        (
            "reset",
            None,
            &[
                Chunk(1, B, 0, 0, 0),
                Chunk(2, M, 0, 0, 2),
                Full(true),
                Reset(&[]),
                Aborted(&[0]),
                Read(&[(0, &[1], First)]),
                Chunk(3, B | E, 0, 0, 0),
                Read(&[(0, &[3], Whole)]),
            ],
        ),
    ];
    run_all(UserDataChunk::IData, cases);
}

#[test]
fn chunks_of_pieces_are_firm() {
    for chunk in [UserDataChunk::Data, UserDataChunk::IData] {
        let mut rig = Rig::new(chunk, Incomplete::Violation, None);
        rig.reassembly.follow_joined();
        rig.take(1, B, 0, 0, 0);
        rig.take(2, M, 0, 0, 1);
        let joined = |rig: &mut Rig| -> Vec<u32> {
            let joined = rig.reassembly.joined();
            joined
                .flat_map(|(first, count)| (0..count).map(move |n| first.plus(n).narrow().0))
                .collect()
        };
        assert!(joined(&mut rig).is_empty());
        rig.reassembly.begin_partial_delivery();
        assert_eq!(joined(&mut rig), [1, 2], "{chunk:?}");
        rig.take(3, M, 0, 0, 2);
        assert_eq!(joined(&mut rig), [3], "{chunk:?}");
        rig.take(4, E, 0, 0, 3);
        assert_eq!(joined(&mut rig), [4], "{chunk:?}");
    }
}
