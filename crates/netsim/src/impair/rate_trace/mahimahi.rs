//! Traces of the link emulator Mahimahi.

use polypath_units::{ByteCount, Duration};

use super::{Opportunities, RateTrace, Service, TraceError};

pub(super) fn read(text: &str, opportunity: ByteCount) -> Result<RateTrace, TraceError> {
    let mut times: Vec<Duration> = Vec::new();
    let mut lines = 0;
    for (number, line) in (1..).zip(text.lines()) {
        lines = number;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Ok(millis) = line.parse::<u32>() else {
            return Err(TraceError::new(number, format!("`{line}` is no time in whole ms")));
        };
        let time = Duration::from_millis(millis.into());
        if let Some(last) = times.last().filter(|last| **last > time) {
            return Err(TraceError::new(number, format!("{time} comes after {last}")));
        }
        times.push(time);
    }
    let period = times.last().copied().filter(|last| !last.is_zero());
    let Some(period) = period else {
        return Err(TraceError::new(lines.max(1), "there is no time after zero"));
    };
    let bytes = u32::try_from(opportunity.as_bytes()).ok().filter(|bytes| *bytes > 0);
    let Some(bytes) = bytes else {
        return Err(TraceError::new(1, format!("an opportunity cannot carry {opportunity}")));
    };
    Ok(RateTrace {
        service: Service::Opportunities(Opportunities { times, period, bytes }),
        delays: Vec::new(),
        losses: Vec::new(),
        period: Some(period),
    })
}
