//! Heartbeat state of a path (RFC 9260 sections 5.4 and 8.3).

use smallvec::SmallVec;

use crate::{Duration, Instant};

/// Most bytes of the Heartbeat Info that this side sends: path id, nonce, size of a probe.
const INFO_LEN: usize = 13;

/// A path over UDP that has delivered this many chunks of data is expected to deliver more.
const FLOW: u8 = 16;
/// If it does not within this time, it is probed.
const SILENCE: Duration = Duration::from_millis(500);

/// Heartbeats of one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heartbeat {
    /// When the next one is sent and the last one counts as unanswered.
    pub(crate) due: Option<Instant>,
    /// The one that was sent and not answered.
    pub(crate) outstanding: Option<SentHeartbeat>,
    /// The one before, which was not answered in time, but may be still.
    pub(crate) expired: Option<SentHeartbeat>,
    /// When the first one was sent that was not answered and has not counted as an error yet.
    uncounted_since: Option<Instant>,
    /// Chunks of data received, up to [`FLOW`].
    heard: u8,
    /// When the last one arrived.
    heard_at: Instant,
    /// It has fallen silent, and no heartbeat has been answered since.
    is_silent: bool,
}

/// Whether a path that has brought data still does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inflow {
    /// Nothing was expected.
    None,
    /// It does; the next check is then.
    GoesOn(Instant),
    /// It has fallen silent.
    Silent,
}

impl Heartbeat {
    /// The last one counts as unanswered from now on. Returns it if there was one.
    pub(crate) fn expire(&mut self) -> Option<SentHeartbeat> {
        let unanswered = self.outstanding.take();
        self.expired = unanswered.or(self.expired);
        unanswered
    }

    /// One that was sent at `sent_at` was not answered. Returns whether that is an error, where the timer has backed off to `rto`: of
    /// several that are sent meanwhile one is.
    pub(crate) fn counts(&mut self, now: Instant, sent_at: Instant, rto: Duration) -> bool {
        let since = *self.uncounted_since.get_or_insert(sent_at);
        let counts = now.since(since) >= rto;
        if counts {
            self.uncounted_since = None;
        }
        counts
    }

    /// The one that has this nonce.
    pub(crate) fn answered(&self, nonce: u64) -> Option<SentHeartbeat> {
        self.outstanding.into_iter().chain(self.expired).find(|sent| sent.nonce == nonce)
    }

    /// Data arrived over a path whose peer an address translator may have forgotten, so that nothing else arrives until
    /// we send: a path that falls silent is probed, since the other side would only see that its data is lost (RFC 6951
    /// section 5.4).
    #[inline]
    pub(crate) fn heard_data(&mut self, now: Instant) {
        self.heard_at = now;
        if self.heard < FLOW {
            self.is_silent = false;
            self.heard += 1;
            if self.heard == FLOW {
                self.not_after(now + SILENCE);
            }
        }
    }

    /// The timer expired: what has become of the data that was expected.
    pub(crate) fn take_flow(&mut self, now: Instant, rto: Duration) -> Inflow {
        match self.flow_checked_at(rto) {
            None => Inflow::None,
            Some(at) if now < at => Inflow::GoesOn(at),
            // The heartbeat counts as unanswered, and the next one probes.
            Some(_) if self.outstanding.is_some() => Inflow::None,
            Some(_) => {
                self.heard = 0;
                self.is_silent = true;
                Inflow::Silent
            }
        }
    }

    /// When to look whether the data that is expected comes: when it has been silent, but while a heartbeat is on its way, once that
    /// should have been answered.
    pub(crate) fn flow_checked_at(&self, rto: Duration) -> Option<Instant> {
        let at = self.outstanding.map_or(self.heard_at + SILENCE, |sent| sent.at + rto);
        (self.heard == FLOW).then_some(at)
    }

    /// Whether data was expected that did not come. One probe may be lost, or its answer: the next is due soon.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// The last one was answered.
    pub(crate) fn settle(&mut self) {
        (self.outstanding, self.expired) = (None, None);
        self.is_silent = false;
    }

    /// It becomes due at `at`, if not before.
    pub(crate) fn not_after(&mut self, at: Instant) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
}

/// A heartbeat on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SentHeartbeat {
    /// Proves that the answer comes from the destination of the heartbeat.
    pub(crate) nonce: u64,
    /// When it was sent.
    pub(crate) at: Instant,
}

/// What a heartbeat is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Confirming or watching the path.
    Reachability,
    /// Tests whether an IP packet of this many bytes passes.
    Mtu(u32),
}

/// What a Heartbeat Info says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Info {
    pub(crate) path: u8,
    pub(crate) nonce: u64,
    pub(crate) purpose: Purpose,
}

impl Info {
    /// The value of the Heartbeat Info parameter.
    pub(crate) fn encode(&self) -> SmallVec<[u8; INFO_LEN]> {
        let mut info = SmallVec::new();
        info.push(self.path);
        info.extend_from_slice(&self.nonce.to_be_bytes());
        if let Purpose::Mtu(size) = self.purpose {
            info.extend_from_slice(&size.to_be_bytes());
        }
        info
    }

    /// What was echoed, if it can be ours.
    pub(crate) fn decode(info: &[u8]) -> Option<Self> {
        let (&path, info) = info.split_first()?;
        let (nonce, size) = info.split_first_chunk()?;
        let purpose = match size {
            [] => Purpose::Reachability,
            // What address join adds.
            [0, 0, 0, _, ..] if 9 + size.len() > INFO_LEN => Purpose::Reachability,
            _ => Purpose::Mtu(u32::from_be_bytes(size.try_into().ok()?)),
        };
        Some(Self { path, nonce: u64::from_be_bytes(*nonce), purpose })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extension::address_join::JoinSecrets;

    const RTO: Duration = Duration::from_millis(1000);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn begin_flow(heartbeat: &mut Heartbeat) {
        for chunk in 0..u64::from(FLOW) {
            let before = (heartbeat.due, heartbeat.take_flow(at(chunk), RTO));
            assert_eq!(before, (None, Inflow::None));
            heartbeat.heard_data(at(chunk));
        }
        assert_eq!(heartbeat.due, Some(at(515)));
    }

    #[test]
    fn a_flow_that_stops_is_noticed() {
        let mut heartbeat = Heartbeat::default();
        begin_flow(&mut heartbeat);
        heartbeat.heard_data(at(400));
        assert_eq!(heartbeat.take_flow(at(515), RTO), Inflow::GoesOn(at(900)));
        assert!(!heartbeat.is_silent());
        assert_eq!(heartbeat.take_flow(at(900), RTO), Inflow::Silent);
        assert!(heartbeat.is_silent());
        assert_eq!(heartbeat.take_flow(at(900), RTO), Inflow::None, "once");
        heartbeat.settle();
        assert!(!heartbeat.is_silent());
    }

    #[test]
    fn data_ends_the_silence() {
        let mut heartbeat = Heartbeat::default();
        begin_flow(&mut heartbeat);
        assert_eq!(heartbeat.take_flow(at(515), RTO), Inflow::Silent);
        heartbeat.heard_data(at(600));
        assert!(!heartbeat.is_silent());
    }

    /// A heartbeat that was on its way when the flow began, or is sent in its midst, does not hide that it stops.
    #[test]
    fn a_flow_that_stops_is_noticed_beside_a_heartbeat() {
        let mut heartbeat = Heartbeat {
            outstanding: Some(SentHeartbeat { nonce: 1, at: Instant::ZERO }),
            ..Heartbeat::default()
        };
        begin_flow(&mut heartbeat);
        assert_eq!(heartbeat.take_flow(at(515), RTO), Inflow::GoesOn(at(1000)), "not judged early");
        assert_eq!(heartbeat.take_flow(at(1000), RTO), Inflow::None, "it was not answered");
        heartbeat.settle();
        assert_eq!(heartbeat.flow_checked_at(RTO), Some(at(515)));
        assert_eq!(heartbeat.take_flow(at(1000), RTO), Inflow::Silent);
    }

    #[test]
    fn what_is_echoed_says_what_was_sent() {
        for purpose in [Purpose::Reachability, Purpose::Mtu(1500), Purpose::Mtu(0)] {
            let info = Info { path: 3, nonce: 0x0102_0304_0506_0708, purpose };
            assert_eq!(Info::decode(&info.encode()), Some(info));
        }
        let info = Info { path: 3, nonce: 7, purpose: Purpose::Reachability };
        let joined = JoinSecrets::heartbeat_info(&info.encode(), Some(&[9; 32]), None);
        assert_eq!(Info::decode(&joined), Some(info));
        for len in [0, 8, 10, 12, 14] {
            assert_eq!(Info::decode(&[1; 14][..len]), None, "{len}");
        }
    }
}
