//! The functions of the log without the feature `tracing`: they do nothing.

use std::net::IpAddr;

use polypath_proto::{Association as Protocol, AssociationId, Event, Instant, Probe, ProbeEvent};

use crate::error::AssociationError;

/// The log of one association.
#[derive(Clone, Debug)]
pub(crate) struct Log;

impl Log {
    pub(crate) fn begin(_id: AssociationId, _protocol: &Protocol) -> Self {
        Self
    }

    pub(crate) fn probe(&self) -> Option<LogProbe> {
        None
    }

    pub(crate) fn event(&self, _event: &Event) {}

    pub(crate) fn ended(&self, _error: Option<&AssociationError>) {}

    pub(crate) fn fault(&self, _local: IpAddr, _remote: IpAddr, _fault: &str) {}
}

/// The probe that logs the events of the protocol; never made.
#[derive(Debug)]
pub(crate) enum LogProbe {}

impl Probe for LogProbe {
    fn on(&mut self, _now: Instant, _event: ProbeEvent) {}
}
