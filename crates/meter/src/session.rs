//! A measurement under way, at either end.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use polypath::{Association, IdleWatch};
use tokio::time::sleep_until;

use crate::channel::{self, ControlChannel};
use crate::clock::ClockRelation;
use crate::control::Control;
use crate::document::{Delay, Interval, SideReport};
use crate::error::SessionError;
use crate::payload::Role;
use crate::processor::ProcessorTime;
use crate::proposal::Proposal;
use crate::sender::Senders;
use crate::snapshot::{Snapshot, Span, delay};
use crate::tally::Tally;

/// One end of a measurement that has started.
#[derive(Debug)]
pub(crate) struct Session {
    association: Association,
    plan: Arc<Proposal>,
    role: Role,
    tally: Arc<Tally>,
    started: Instant,
    /// Counters when the part began that counts.
    base: Snapshot,
    /// Counters at the last report.
    last: Snapshot,
    /// Messages that the peer sent, by flow, when it has said so.
    peer_sent: Option<Vec<u64>>,
    /// When this side had sent all.
    sending_ended: Arc<OnceLock<Duration>>,
}

impl Session {
    /// Starts now.
    pub fn start(
        association: Association,
        plan: Arc<Proposal>,
        role: Role,
        tally: Arc<Tally>,
        clock: ClockRelation,
    ) -> Self {
        tally.set_clock(clock);
        // What the peer sent when it started may have come already.
        let zero = Snapshot { processor: ProcessorTime::now(), ..Snapshot::zero(&plan) };
        Self {
            association,
            plan,
            role,
            tally,
            started: Instant::now(),
            base: zero.clone(),
            last: zero,
            peer_sent: None,
            sending_ended: Arc::default(),
        }
    }

    /// Sends and receives until both sides have sent all; `observe` is called for each interval. Fails when the peer makes
    /// no progress for the time `idle`, beside the pauses that are planned.
    pub async fn run(
        &mut self,
        channel: &mut ControlChannel,
        idle: Duration,
        mut observe: impl FnMut(Interval),
    ) -> Result<(), SessionError> {
        let sends = self.send_all();
        let (mut sends, mut is_sending) = (pin!(sends), true);
        let longest = idle + self.plan.longest_pause(idle);
        let mut watch = IdleWatch::new(longest, self.association.progress_bytes());
        let mut looked = Instant::now();
        while is_sending || self.peer_sent.is_none() {
            let tick = self.next_tick();
            let look = looked + watch.next_look();
            tokio::select! {
                // Each report that is due has its turn, however late this task is.
                biased;
                () = sleep_until(tick.unwrap_or(looked).into()), if tick.is_some() => self.tick(&mut observe),
                sent = &mut sends, if is_sending => {
                    sent?;
                    is_sending = false;
                }
                received = channel.receive() => match received? {
                    Control::Finished(sent) if self.peer_sent.is_none() => self.peer_sent = Some(sent),
                    _ => {
                        let what = "it speaks out of turn";
                        return Err(SessionError::OutOfTurn { who: "peer", what });
                    }
                },
                () = sleep_until(look.into()) => {
                    if watch.look(looked.elapsed(), self.association.progress_bytes()) {
                        return Err(SessionError::Silent(watch.limit()));
                    }
                    looked = Instant::now();
                }
            }
        }
        while self.next_tick().is_some_and(|tick| tick <= Instant::now()) {
            self.tick(&mut observe);
        }
        self.last_tick(&mut observe);
        Ok(())
    }

    /// What this side has measured so far.
    pub fn report(&self) -> SideReport {
        let now = self.snapshot();
        let counts = self.tally.lock().clone();
        let delays: Vec<_> = counts.received.iter().map(|count| delay(&count.delays)).collect();
        let planned = self.plan.end().unwrap_or_default();
        let until = |at: Duration| Snapshot { at: at.max(self.base.at), ..now.clone() };
        let sent_until = self.sending_ended.get().copied().unwrap_or(now.at);
        let arrived = counts
            .last_arrival
            .map_or(Duration::ZERO, |last| last.saturating_duration_since(self.started));
        let sent = until(sent_until);
        let last_data = until(arrived.max(planned.min(now.at)));
        let span = |after| Span {
            plan: &self.plan,
            role: self.role,
            before: &self.base,
            after,
            origin: self.base.at,
            // Where it ended before anything counted, there is nothing else to tell.
            omitted: self.is_omitted(),
        };
        let mut received = span(&last_data).received(&delays);
        for stream in &mut received {
            let place = stream.socket as usize - 1;
            let sent = self.peer_sent.as_ref().and_then(|sent| sent.get(place).copied());
            stream.lost_messages =
                sent.map(|sent| sent.saturating_sub(counts.received[place].messages));
        }
        SideReport {
            sent: span(&sent).sent(),
            received,
            // What the last acknowledgements of a side took that only receives says nothing of its paths.
            paths: span(if self.plan.sends(self.role) { &now } else { &last_data }).paths(),
            blocked: span(&now).blocked(),
            processor: span(&now).processor(),
            malformed_messages: counts.malformed,
            output: None,
        }
    }

    /// Sends all, waits until it was acknowledged or abandoned, and notifies the peer.
    fn send_all(&self) -> impl Future<Output = Result<(), SessionError>> + use<> {
        let senders = Senders {
            association: self.association.clone(),
            plan: Arc::clone(&self.plan),
            role: self.role,
            tally: Arc::clone(&self.tally),
            started: self.started,
        };
        let (association, tally) = (self.association.clone(), Arc::clone(&self.tally));
        let (started, ended) = (self.started, Arc::clone(&self.sending_ended));
        async move {
            senders.run().await?;
            let _ = ended.set(started.elapsed());
            association.sender_dry().await?;
            let messages = tally.sent_counts().iter().map(|count| count.messages).collect();
            channel::send(&association, &Control::Finished(messages)).await
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::take(self.started.elapsed(), &self.tally, &self.association)
    }

    /// When the next report is due; nothing after the planned end, and where no reports are wanted.
    fn next_tick(&self) -> Option<Instant> {
        let (omit, last) = (self.plan.omit(), self.last.at);
        let end = self.plan.end().filter(|end| *end > last);
        if self.plan.end().is_some() && end.is_none() {
            return None;
        }
        let origin = if last < omit { Duration::ZERO } else { omit };
        let regular = self.plan.interval().map(|interval| {
            let passed = ((last - origin).as_secs_f64() / interval.as_secs_f64() + 0.5).floor();
            origin + interval.mul_f64(passed + 1.0)
        });
        let omit = (last < omit).then_some(omit);
        let next = [regular, omit, end.filter(|_| regular.is_some())].into_iter().flatten().min();
        next.map(|next| self.started + next)
    }

    fn tick(&mut self, observe: &mut impl FnMut(Interval)) {
        let mut now = self.snapshot();
        // Reports are of the times that were planned; the clock of the timer is a little late.
        if let Some(planned) = self.next_tick() {
            now.at = now.at.min(planned.saturating_duration_since(self.started)).max(self.last.at);
        }
        self.observe(now, observe);
    }

    /// What was not reported yet.
    fn last_tick(&mut self, observe: &mut impl FnMut(Interval)) {
        let mut now = self.snapshot();
        now.at = now.at.min(self.plan.end().unwrap_or(now.at));
        if self.plan.interval().is_some() && now.at > self.last.at {
            self.observe(now, observe);
        }
    }

    /// Whether nothing has counted up to the last report.
    fn is_omitted(&self) -> bool {
        self.last.at < self.plan.omit()
    }

    fn observe(&mut self, now: Snapshot, observe: &mut impl FnMut(Interval)) {
        let omitted = self.is_omitted();
        let origin = if omitted { Duration::ZERO } else { self.plan.omit() };
        let delays = self.recent_delays();
        if self.plan.interval().is_some() {
            let span = Span {
                plan: &self.plan,
                role: self.role,
                before: &self.last,
                after: &now,
                origin,
                omitted,
            };
            observe(span.interval(&delays));
        }
        if omitted && now.at >= self.plan.omit() {
            self.tally.forget_delays();
            self.base = now.clone();
        }
        self.last = now;
    }

    fn recent_delays(&self) -> Vec<Option<Delay>> {
        let mut counts = self.tally.lock();
        counts.received.iter_mut().map(|count| delay(&std::mem::take(&mut count.recent))).collect()
    }
}
