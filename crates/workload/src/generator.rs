//! Messages of a flow, one after the other.

use polypath_units::{ByteCount, Instant};

use crate::{Delivery, FlowError, FlowSpec, Source};

/// Produces the messages of a flow.
///
/// Ask [`peek`](Self::peek) for the next message, offer it to the transport, and call [`taken`](Self::taken) if that took
/// it; a message that was refused stays the next.
#[derive(Clone, Debug)]
pub struct Generator {
    spec: FlowSpec,
    /// Messages taken.
    messages: u64,
    /// Bytes of them.
    bytes: ByteCount,
}

/// A message to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Counts the messages of the flow from 0.
    pub number: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether it may overtake others.
    pub delivery: Delivery,
}

impl Generator {
    /// A generator at the start of the flow.
    ///
    /// # Errors
    /// A flow that [makes no sense](FlowSpec::check).
    pub fn new(spec: FlowSpec) -> Result<Self, FlowError> {
        spec.check()?;
        Ok(Self { spec, messages: 0, bytes: ByteCount::ZERO })
    }

    /// The message to offer at `now`, if there is one.
    pub fn peek(&self, now: Instant) -> Option<Message> {
        if now < self.start() || self.stop().is_some_and(|stop| now >= stop) {
            return None;
        }
        let bytes = self
            .remaining()
            .map_or(self.spec.message_size, |left| left.min(self.spec.message_size));
        if bytes.is_zero() {
            return None;
        }
        let bytes = u32::try_from(bytes.as_bytes()).unwrap_or(u32::MAX);
        Some(Message { number: self.messages, bytes, delivery: self.spec.delivery })
    }

    /// The transport took the message that [`peek`](Self::peek) gave.
    pub fn taken(&mut self, message: Message) {
        self.messages += 1;
        self.bytes += ByteCount::from_bytes(u64::from(message.bytes));
    }

    /// Whether nothing will follow after `now`.
    pub fn is_finished(&self, now: Instant) -> bool {
        self.remaining().is_some_and(ByteCount::is_zero)
            || self.stop().is_some_and(|stop| now >= stop)
    }

    /// Whether all that the flow is to carry was taken: the whole file, or at least something until the stop of a flow
    /// without other end. A flow that was stopped before it began carried nothing.
    pub fn is_exhausted(&self, now: Instant) -> bool {
        match self.remaining() {
            Some(left) => left.is_zero(),
            None => self.messages > 0 && self.is_finished(now),
        }
    }

    /// When the first message may be offered.
    pub fn start(&self) -> Instant {
        Instant::ZERO + self.spec.start
    }

    /// When no more messages are offered.
    pub fn stop(&self) -> Option<Instant> {
        self.spec.stop.map(|stop| Instant::ZERO + stop)
    }

    /// Messages that the transport took.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Bytes of the messages that the transport took.
    pub fn bytes(&self) -> ByteCount {
        self.bytes
    }

    /// Bytes of the file that are not yet taken; `None` for a flow without end.
    fn remaining(&self) -> Option<ByteCount> {
        match self.spec.source {
            Source::Saturated => None,
            Source::File(size) => Some(size - self.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use polypath_units::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn all(generator: &mut Generator, now: Instant, limit: usize) -> Vec<u32> {
        let next = || {
            let message = generator.peek(now)?;
            generator.taken(message);
            Some(message.bytes)
        };
        std::iter::from_fn(next).take(limit).collect()
    }

    #[test]
    fn a_file_is_cut_into_messages() {
        let size = |n| ByteCount::from_bytes(n);
        for (file, message, cut) in [
            (3_000, 1_000, vec![1_000, 1_000, 1_000]),
            (2_500, 1_000, vec![1_000, 1_000, 500]),
            (1, 1_000, vec![1]),
        ] {
            let spec = FlowSpec::new(Source::File(size(file)), size(message));
            let mut generator = Generator::new(spec).unwrap();
            assert_eq!(all(&mut generator, at(0), 100), cut);
            assert!(generator.is_finished(at(0)));
            assert_eq!((generator.messages(), generator.bytes()), (cut.len() as u64, size(file)));
        }
    }

    #[test]
    fn a_refused_message_stays_the_next() {
        let spec = FlowSpec::new(Source::Saturated, ByteCount::from_bytes(1_452));
        let mut generator = Generator::new(spec).unwrap();
        let first = generator.peek(at(0));
        assert_eq!(generator.peek(at(9)), first);
        generator.taken(first.unwrap());
        assert_eq!(generator.peek(at(9)).map(|m| m.number), Some(1));
    }

    #[test]
    fn a_saturated_source_lasts_from_start_to_stop() {
        let mut spec = FlowSpec::new(Source::Saturated, ByteCount::from_bytes(1_452));
        spec.start = SECOND;
        spec.stop = Some(SECOND * 3);
        let mut generator = Generator::new(spec).unwrap();
        let messages = [0, 1, 2, 3, 4].map(|seconds| all(&mut generator, at(seconds), 10).len());
        assert_eq!(messages, [0, 10, 10, 0, 0]);
        assert_eq!(
            [0, 2, 3].map(|seconds| generator.is_finished(at(seconds))),
            [false, false, true]
        );
    }

    #[test]
    fn a_flow_that_was_stopped_before_it_began_carried_nothing() {
        let stopped = |source| FlowSpec {
            stop: Some(SECOND * 3),
            ..FlowSpec::new(source, ByteCount::from_bytes(1_000))
        };
        for source in [Source::Saturated, Source::File(ByteCount::from_bytes(2_000))] {
            let generator = Generator::new(stopped(source)).unwrap();
            assert!(generator.is_finished(at(3)) && !generator.is_exhausted(at(3)));
        }
        let mut part = Generator::new(stopped(Source::File(ByteCount::from_bytes(2_000)))).unwrap();
        assert_eq!(all(&mut part, at(0), 1).len(), 1);
        assert!(part.is_finished(at(3)) && !part.is_exhausted(at(3)));
        assert_eq!(all(&mut part, at(0), 1).len(), 1);
        assert!(part.is_exhausted(at(0)));
        let mut endless = Generator::new(stopped(Source::Saturated)).unwrap();
        all(&mut endless, at(0), 1);
        assert_eq!([2, 3].map(|seconds| endless.is_exhausted(at(seconds))), [false, true]);
    }

    #[test]
    fn senseless_flows_are_refused() {
        let some = ByteCount::from_bytes(10);
        let error = |spec: FlowSpec| Generator::new(spec).unwrap_err();
        assert_eq!(
            error(FlowSpec::new(Source::Saturated, ByteCount::ZERO)),
            FlowError::EmptyMessages
        );
        assert_eq!(error(FlowSpec::new(Source::File(ByteCount::ZERO), some)), FlowError::EmptyFile);
        let large = ByteCount::from_bytes(1 << 32);
        assert_eq!(error(FlowSpec::new(Source::Saturated, large)), FlowError::LargeMessages(large));
        let backwards = FlowSpec {
            start: SECOND,
            stop: Some(SECOND),
            ..FlowSpec::new(Source::Saturated, some)
        };
        assert_eq!(error(backwards), FlowError::StopsBeforeStart { start: SECOND, stop: SECOND });
    }

    #[cfg(feature = "serde")]
    #[test]
    fn reads_from_files() {
        let text = r#"{"source": {"file": "8 MiB"}, "message_size": "1452 B", "delivery": "unordered", "start": "1 s"}"#;
        let spec: FlowSpec = serde_json::from_str(text).unwrap();
        assert_eq!(spec.source, Source::File(ByteCount::from_mib(8)));
        assert_eq!((spec.delivery, spec.start, spec.stop), (Delivery::Unordered, SECOND, None));
        let minimal: FlowSpec =
            serde_json::from_str(r#"{"source": "saturated", "message_size": "1 kB"}"#).unwrap();
        assert_eq!(minimal, FlowSpec::new(Source::Saturated, ByteCount::from_bytes(1_000)));
        assert!(
            serde_json::from_str::<FlowSpec>(r#"{"source": "saturated", "size": "1 kB"}"#).is_err()
        );
    }
}
