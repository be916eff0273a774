//! Records the events of a host's association during a run.

use std::fmt;

use polypath_proto::{
    Association, EarlyEvents, NoProbe, PathId, PathStatus, Probe, ProbeEvent, Tsn,
};
use polypath_units::Instant;

use super::blocking::{BlockedLog, Hold};
use super::changes::{ChangeSeries, Changes};
use super::chunks::Chunks;
use super::life::{Arrival, Carried};
use super::observer::Observing;
use super::streak::Streaks;
use crate::frame::SctpFrame;
use crate::scenario::{Detail, Record, Switch};

/// The probes of a host: none, unless the scenario records something or the simulation has an observer.
#[derive(Debug)]
pub(crate) struct Watch {
    eyes: Eyes,
    observing: Option<Observing>,
    /// Events of an association whose probe is not known yet.
    early: EarlyEvents,
    nobody: NoProbe,
}

/// The probes of the most recent association.
struct Eyes {
    recorder: Option<Box<Recorder>>,
    /// The probe of the observer.
    observer: Option<Box<dyn Probe + Send>>,
}

/// The record of a host's most recent association.
#[derive(Debug)]
pub(crate) struct Recorder {
    record: Record,
    /// Its own chunks, if TSNs or blocking are recorded.
    pub(super) chunks: Chunks,
    /// Chunks of the other side that arrived.
    pub(super) arrivals: Vec<Arrival>,
    /// Chunks of the current packet.
    packet: Vec<(Tsn, Carried)>,
    pub(super) blocked: BlockedLog,
    pub(super) streaks: Streaks,
    pub(super) timeouts: Vec<(Instant, PathId)>,
    pub(super) states: Vec<(Instant, PathId, PathStatus)>,
    changes: Option<Changes>,
}

impl Watch {
    pub fn new(record: &Record) -> Self {
        let recorder = record.needs_probe().then(|| Box::new(Recorder::new(*record)));
        let eyes = Eyes { recorder, observer: None };
        Self { eyes, observing: None, early: EarlyEvents::default(), nobody: NoProbe }
    }

    /// Sets the observer of future associations.
    pub fn observe(&mut self, observing: Observing) {
        self.observing = Some(observing);
    }

    /// The probe to pass to an association; `is_latest` says whether results are about it.
    #[inline]
    pub fn probe_if(&mut self, is_latest: bool) -> &mut dyn Probe {
        match &mut self.eyes {
            _ if !is_latest => &mut self.nobody,
            Eyes { recorder: None, observer: None } => &mut self.nobody,
            Eyes { recorder: Some(recorder), observer: None } => recorder.as_mut(),
            eyes => eyes,
        }
    }

    /// The probe to pass to the endpoint, which may begin an association.
    #[inline]
    pub fn early(&mut self) -> &mut dyn Probe {
        if self.observing.is_some() { &mut self.early } else { &mut self.nobody }
    }

    /// Whether deliveries of messages are recorded.
    pub fn wants_deliveries(record: &Record) -> bool {
        record.tsns != Detail::Off || record.timeouts != Detail::Off
    }

    /// Notes a new association.
    pub fn begin(&mut self, association: &Association) {
        if let Some(recorder) = &mut self.eyes.recorder {
            **recorder = Recorder::new(recorder.record);
        }
        if let Some(observing) = &self.observing {
            self.eyes.observer = observing.begin(association);
        }
        self.early.hand_over(&mut self.eyes);
    }

    /// Notes a packet that the stack is about to handle.
    #[inline]
    pub fn on_packet(&mut self, frame: &SctpFrame) {
        if let Some(recorder) = &mut self.eyes.recorder {
            recorder.on_packet(frame);
        }
    }

    /// Notes that the association has no further output.
    #[inline]
    pub fn look(&mut self, now: Instant, association: &Association) {
        if let Some(recorder) = &mut self.eyes.recorder {
            recorder.look(now, association);
        }
    }

    /// The record, if anything is recorded.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.eyes.recorder.as_deref()
    }
}

impl Recorder {
    fn new(record: Record) -> Self {
        Self {
            record,
            chunks: Chunks::default(),
            arrivals: Vec::new(),
            packet: Vec::new(),
            blocked: BlockedLog::default(),
            streaks: Streaks::default(),
            timeouts: Vec::new(),
            states: Vec::new(),
            changes: (record.changes == Switch::On).then(Changes::default),
        }
    }

    /// Series of every change, if recorded; `name` returns the name of a path.
    pub fn changes(&self, name: impl Fn(usize) -> String) -> Option<ChangeSeries> {
        self.changes.as_ref().map(|changes| changes.series(name))
    }

    fn wants_chunks(&self) -> bool {
        self.record.tsns != Detail::Off || self.record.blocking != Detail::Off
    }

    fn on_packet(&mut self, frame: &SctpFrame) {
        self.packet.clear();
        if self.record.tsns != Detail::Off {
            frame.for_each_chunk_of_data(|tsn, begins| {
                let carried = match begins {
                    None => Carried::Continues,
                    Some(None) => Carried::Unknown,
                    Some(Some(message)) => Carried::Begins(message),
                };
                self.packet.push((Tsn(tsn), carried));
            });
        }
    }

    fn on_received(&mut self, at: Instant, path: PathId, tsn: Tsn) {
        if self.record.tsns != Detail::Off {
            let carried = self.packet.iter().find(|(known, _)| *known == tsn);
            let carried = carried.map_or(Carried::Unknown, |(_, carried)| *carried);
            self.arrivals.push(Arrival { at, tsn, path, carried });
        }
    }

    fn look(&mut self, now: Instant, association: &Association) {
        if self.record.blocking != Detail::Off {
            let hold = Hold::of(association.blocked_by(), self.chunks.lowest_outstanding());
            self.blocked.set(now, hold);
            self.blocked.note_window(association.stats().peer_window_bytes);
        }
        if let Some(changes) = &mut self.changes {
            changes.look(now, association);
        }
    }
}

impl Probe for Eyes {
    fn on(&mut self, now: Instant, event: ProbeEvent) {
        if let Some(recorder) = &mut self.recorder {
            recorder.on(now, event);
        }
        if let Some(observer) = &mut self.observer {
            observer.on(now, event);
        }
    }

    fn wants_packets(&self) -> bool {
        self.observer.as_ref().is_some_and(|observer| observer.wants_packets())
    }
}

impl fmt::Debug for Eyes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let observer = self.observer.is_some();
        f.debug_struct("Eyes")
            .field("recorder", &self.recorder)
            .field("observer", &observer)
            .finish()
    }
}

impl Probe for Recorder {
    fn on(&mut self, now: Instant, event: ProbeEvent) {
        match event {
            ProbeEvent::ChunkSent { path, tsn, cause } if self.wants_chunks() => {
                self.chunks.on_sent(now, path, tsn, cause);
            }
            ProbeEvent::ChunkAcked { path, tsn } => {
                self.streaks.on_sign_of_life(path);
                self.chunks.on_acked(now, tsn);
            }
            ProbeEvent::ChunkAbandoned { tsn, .. } => self.chunks.on_abandoned(now, tsn),
            ProbeEvent::Rtt { path, sample, .. } => {
                self.streaks.on_sign_of_life(path);
                if let Some(changes) = &mut self.changes {
                    changes.on_sample(path, sample);
                }
            }
            ProbeEvent::Timeout { path, .. } => {
                self.streaks.on_timeout(path, now);
                self.timeouts.push((now, path));
            }
            ProbeEvent::Reachability { path, status } => {
                self.states.push((now, path, status));
                if status == PathStatus::Active {
                    self.streaks.on_sign_of_life(path);
                }
            }
            ProbeEvent::ChunkReceived { path, tsn } => self.on_received(now, path, tsn),
            // Each look reads these values from the association.
            _ => {}
        }
    }

    fn wants_packets(&self) -> bool {
        false
    }
}
