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
            self.heard += 1;
            if self.heard == FLOW && self.outstanding.is_none() {
                self.not_after(now + SILENCE);
            }
        }
    }

    /// The timer expired: what has become of the data that was expected.
    pub(crate) fn take_flow(&mut self, now: Instant) -> Inflow {
        if self.heard < FLOW || self.outstanding.is_some() {
            return Inflow::None;
        }
        let silent_at = self.heard_at + SILENCE;
        if now < silent_at {
            return Inflow::GoesOn(silent_at);
        }
        self.heard = 0;
        Inflow::Silent
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

    #[test]
    fn a_flow_that_stops_is_noticed() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut heartbeat = Heartbeat::default();
        for chunk in 0..u64::from(FLOW) {
            assert_eq!((heartbeat.due, heartbeat.take_flow(at(chunk))), (None, Inflow::None));
            heartbeat.heard_data(at(chunk));
        }
        assert_eq!(heartbeat.due, Some(at(515)));
        heartbeat.heard_data(at(400));
        assert_eq!(heartbeat.take_flow(at(515)), Inflow::GoesOn(at(900)));
        assert_eq!(heartbeat.take_flow(at(900)), Inflow::Silent);
        assert_eq!(heartbeat.take_flow(at(900)), Inflow::None, "once");
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
