//! AsconfAnswers to the requests of the peer (RFC 5061 section 5.2).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use polypath_wire::{Causes, Parameter, Parameters};

/// Number of answers that are kept for repeated chunks. A peer may repeat a packet with several chunks (section 5.5).
const MOST_KEPT: usize = 4;

/// Maximum size of the answers in a chunk in bytes, so that it fits any path.
const MOST_BYTES: usize = 448;

/// How to treat a chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AsconfTurn {
    /// It is the next one (rule E4).
    Next,
    /// It was answered with these parameters (rule E2).
    Again(Parameters<'static>),
    /// It is too old, or from nowhere (rules E2 and E5).
    Discard,
}

/// Serial numbers of the peer's chunks, and their answers.
#[derive(Debug)]
pub(crate) struct AsconfAnswers {
    last_serial: u32,
    /// The latest last.
    kept: VecDeque<Parameters<'static>>,
}

impl AsconfAnswers {
    /// State for a peer whose first TSN is `initial_tsn`, which is also its first serial number.
    pub(crate) fn new(initial_tsn: u32) -> Self {
        Self { last_serial: initial_tsn.wrapping_sub(1), kept: VecDeque::new() }
    }

    /// How to treat a chunk with this serial number.
    pub(crate) fn turn(&self, serial: u32) -> AsconfTurn {
        if serial == self.last_serial.wrapping_add(1) {
            return AsconfTurn::Next;
        }
        let age = self.last_serial.wrapping_sub(serial) as usize;
        let kept = self.kept.iter().rev().nth(age);
        kept.map_or(AsconfTurn::Discard, |answer| AsconfTurn::Again(answer.clone()))
    }

    /// Records `parameters` as the answer to the next chunk.
    pub(crate) fn keep(&mut self, parameters: Parameters<'static>) {
        self.last_serial = self.last_serial.wrapping_add(1);
        if self.kept.len() >= MOST_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(parameters);
    }
}

/// The parameters of an ASCONF-ACK under construction.
#[derive(Debug, Default)]
pub(crate) struct AsconfResponses {
    list: Vec<(u32, Option<Causes<'static>>)>,
    bytes: usize,
}

impl AsconfResponses {
    /// Adds a granted request. Before the first refusal, this need not be reported (rule A7).
    pub(crate) fn granted(&mut self, correlation_id: u32) {
        if !self.list.is_empty() {
            self.push(correlation_id, None);
        }
    }

    /// Adds a refused or unrecognised request.
    pub(crate) fn refused(&mut self, correlation_id: u32, causes: Causes<'static>) {
        self.push(correlation_id, Some(causes));
    }

    fn push(&mut self, correlation_id: u32, causes: Option<Causes<'static>>) {
        self.bytes += 8 + causes.as_ref().map_or(0, |causes| causes.as_slice().len());
        self.list.push((correlation_id, causes));
    }

    /// Whether no more answers fit. Further requests are not performed, which their missing answers say.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= MOST_BYTES
    }

    pub(crate) fn into_parameters(self) -> Parameters<'static> {
        Parameters::build(self.list.into_iter().map(|(correlation_id, causes)| match causes {
            None => Parameter::SuccessIndication { correlation_id },
            Some(causes) => Parameter::ErrorCauseIndication { correlation_id, causes },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn answer(number: u32) -> Parameters<'static> {
        Parameters::build([Parameter::SuccessIndication { correlation_id: number }])
    }

    #[test]
    fn each_chunk_is_worked_off_once_and_answered_as_often_as_it_comes() {
        for first in [7, 0, u32::MAX, u32::MAX - 2] {
            let mut answers = AsconfAnswers::new(first);
            let serial = |number: u32| first.wrapping_add(number);
            assert_eq!(answers.turn(serial(0)), AsconfTurn::Next);
            for (ahead, turn) in [(1, "gap"), (u32::MAX, "old"), (1 << 31, "far")] {
                assert_eq!(answers.turn(serial(ahead)), AsconfTurn::Discard, "{turn}");
            }
            for number in 0..6 {
                assert_eq!(answers.turn(serial(number)), AsconfTurn::Next);
                answers.keep(answer(number));
            }
            let kept: Vec<_> = (0..8).map(|number| answers.turn(serial(number))).collect();
            let again = |number| AsconfTurn::Again(answer(number));
            let expected = [
                AsconfTurn::Discard,
                AsconfTurn::Discard,
                again(2),
                again(3),
                again(4),
                again(5),
                AsconfTurn::Next,
                AsconfTurn::Discard,
            ];
            assert_eq!(kept, expected, "{first}");
        }
    }

    #[test]
    fn success_is_said_only_behind_a_failure() {
        let mut responses = AsconfResponses::default();
        responses.granted(1);
        responses.refused(2, Causes::empty());
        responses.granted(3);
        let list = responses.into_parameters();
        let list: Vec<_> = list.iter().collect();
        let error = Parameter::ErrorCauseIndication { correlation_id: 2, causes: Causes::empty() };
        assert_eq!(list, [error, Parameter::SuccessIndication { correlation_id: 3 }]);
    }

    #[test]
    fn an_answer_fits_any_path() {
        let mut responses = AsconfResponses::default();
        let tlv = [0; 28];
        let cause = polypath_wire::Cause::ResourceShortage(&tlv);
        while !responses.is_full() {
            responses.refused(1, Causes::build([cause.clone()]));
        }
        assert!(responses.into_parameters().as_slice().len() < 576 - 20 - 8 - 12 - 8 - 40);
    }
}
