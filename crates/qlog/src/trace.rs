//! One trace: a header and records, as a sequence of JSON texts (RFC 7464).

use std::io::{self, Write};
use std::net::IpAddr;
use std::time::SystemTime;

use jiff::Timestamp;
use polypath_proto::{Instant, ProbeEvent};
use serde::Serialize;

use crate::event::{Data, MISSED, data_of, milliseconds, name_of};

/// The schema of a sequential qlog file.
const FILE_SCHEMA: &str = "urn:ietf:params:qlog:file:sequential";
/// Its serialization.
const FORMAT: &str = "application/qlog+json-seq";
/// The schema of the events, described in docs/qlog.md.
const EVENT_SCHEMA: &str = "urn:polypath:qlog:events:sctp";
/// Precedes each JSON text (RFC 7464 section 2.2).
const RECORD_SEPARATOR: u8 = 0x1E;

/// The end of an association that a trace was taken at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VantagePoint {
    /// The end that began it.
    Client,
    /// The end that accepted it.
    Server,
}

/// Ports and addresses of an association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ends {
    /// SCTP port of the end that writes the trace.
    pub local_port: u16,
    /// SCTP port of the peer.
    pub remote_port: u16,
    /// Addresses of the peer.
    pub remote_addresses: Vec<IpAddr>,
}

/// The properties of a whole trace.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TraceHeader {
    /// Title of the trace.
    pub title: String,
    /// The end that it was taken at.
    pub vantage_point: VantagePoint,
    /// Name of the host, if it has one.
    pub host: Option<String>,
    /// The association's ends, if they are known.
    pub ends: Option<Ends>,
    /// The instant that is time 0 of the trace.
    pub origin: Instant,
    /// Wall-clock time of that instant; `None` in a simulation.
    pub wall_clock: Option<SystemTime>,
}

impl TraceHeader {
    /// A header with a title; times count from [`Instant::ZERO`].
    pub fn new(title: impl Into<String>, vantage_point: VantagePoint) -> Self {
        Self {
            title: title.into(),
            vantage_point,
            host: None,
            ends: None,
            origin: Instant::ZERO,
            wall_clock: None,
        }
    }
}

/// Writes one trace.
#[derive(Debug)]
pub struct TraceWriter<W> {
    out: W,
    origin: Instant,
    /// The text of the record that is being written, so that it goes out in one piece.
    record: Vec<u8>,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// The header could not be written.
    pub fn new(out: W, header: &TraceHeader) -> io::Result<Self> {
        let mut writer = Self { out, origin: header.origin, record: Vec::with_capacity(256) };
        writer.put(&File::of(header))?;
        Ok(writer)
    }

    /// Writes an event that happened at `now`; an instant before the origin counts as time 0.
    ///
    /// # Errors
    /// The record could not be written.
    pub fn record(&mut self, now: Instant, event: &ProbeEvent) -> io::Result<()> {
        self.write(now, name_of(event), data_of(event))
    }

    /// Marks a gap: `count` events before `now` are not in the trace.
    ///
    /// # Errors
    /// The record could not be written.
    pub fn record_missed(&mut self, now: Instant, count: u64) -> io::Result<()> {
        self.write(now, MISSED, Data::Missed { count })
    }

    /// Its output.
    pub(crate) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Ends the trace, and returns its output.
    ///
    /// # Errors
    /// The last of it could not be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn write(&mut self, now: Instant, name: &'static str, data: Data) -> io::Result<()> {
        let time = milliseconds(now.since(self.origin));
        self.put(&Record { time, name, data })
    }

    fn put(&mut self, text: &impl Serialize) -> io::Result<()> {
        self.record.clear();
        self.record.push(RECORD_SEPARATOR);
        serde_json::to_writer(&mut self.record, text)?;
        self.record.push(b'\n');
        self.out.write_all(&self.record)
    }
}

#[derive(Serialize)]
struct Record {
    time: f64,
    name: &'static str,
    data: Data,
}

/// The header, as written.
#[derive(Serialize)]
struct File<'a> {
    file_schema: &'static str,
    serialization_format: &'static str,
    title: &'a str,
    trace: Trace<'a>,
}

#[derive(Serialize)]
struct Trace<'a> {
    common_fields: CommonFields<'a>,
    vantage_point: Vantage<'a>,
    event_schemas: [&'static str; 1],
}

#[derive(Serialize)]
struct CommonFields<'a> {
    time_format: &'static str,
    reference_time: ReferenceTime,
    protocol_types: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    local_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remote_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remote_addresses: Option<&'a [IpAddr]>,
}

#[derive(Serialize)]
struct ReferenceTime {
    clock_type: &'static str,
    epoch: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_clock_time: Option<String>,
}

#[derive(Serialize)]
struct Vantage<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'static str,
}

/// A date and time as in RFC 3339; `None` before 1970 and at the end of the year 9999.
pub(crate) fn date(time: SystemTime) -> Option<String> {
    let time = Timestamp::try_from(time).ok().filter(|time| *time >= Timestamp::UNIX_EPOCH)?;
    Some(format!("{time:.3}"))
}

impl<'a> File<'a> {
    fn of(header: &'a TraceHeader) -> Self {
        let ends = header.ends.as_ref();
        let wall_clock = header.wall_clock;
        Self {
            file_schema: FILE_SCHEMA,
            serialization_format: FORMAT,
            title: &header.title,
            trace: Trace {
                common_fields: CommonFields {
                    time_format: "relative_to_epoch",
                    reference_time: ReferenceTime {
                        // The protocol has no other clock.
                        clock_type: "monotonic",
                        epoch: "unknown",
                        wall_clock_time: wall_clock.and_then(date),
                    },
                    protocol_types: ["SCTP"],
                    local_port: ends.map(|ends| ends.local_port),
                    remote_port: ends.map(|ends| ends.remote_port),
                    remote_addresses: ends.map(|ends| &*ends.remote_addresses),
                },
                vantage_point: Vantage {
                    name: header.host.as_deref(),
                    kind: match header.vantage_point {
                        VantagePoint::Client => "client",
                        VantagePoint::Server => "server",
                    },
                },
                event_schemas: [EVENT_SCHEMA],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::event;
    use crate::event::tests::samples;

    /// The JSON texts of a trace.
    fn texts(trace: &[u8]) -> Vec<Value> {
        let mut texts = Vec::new();
        for text in trace.split(|byte| *byte == RECORD_SEPARATOR).skip(1) {
            assert_eq!(text.last(), Some(&b'\n'), "every text ends a line");
            texts.push(serde_json::from_slice(text).unwrap());
        }
        texts
    }

    #[test]
    fn the_header_says_what_the_records_need() {
        let header = TraceHeader {
            host: Some("a".to_owned()),
            ends: Some(Ends {
                local_port: 1,
                remote_port: 2,
                remote_addresses: vec![[192, 0, 2, 1].into()],
            }),
            wall_clock: Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250)),
            ..TraceHeader::new("polypath send", VantagePoint::Server)
        };
        let trace = TraceWriter::new(Vec::new(), &header).unwrap().finish().unwrap();
        let expected = json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": "polypath send",
            "trace": {
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": {
                        "clock_type": "monotonic",
                        "epoch": "unknown",
                        "wall_clock_time": "2023-11-14T22:13:20.250Z",
                    },
                    "protocol_types": ["SCTP"],
                    "local_port": 1,
                    "remote_port": 2,
                    "remote_addresses": ["192.0.2.1"],
                },
                "vantage_point": { "name": "a", "type": "server" },
                "event_schemas": ["urn:polypath:qlog:events:sctp"],
            },
        });
        assert_eq!(texts(&trace), [expected]);
    }

    #[test]
    fn every_event_is_a_record() {
        let origin = Instant::from_nanos(2_000_000);
        let header = TraceHeader { origin, ..TraceHeader::new("", VantagePoint::Client) };
        let mut writer = TraceWriter::new(Vec::new(), &header).unwrap();
        for (place, event) in samples().iter().enumerate() {
            writer.record(Instant::from_nanos(place as u64 * 1_000_001), event).unwrap();
        }
        writer.record_missed(Instant::from_nanos(40_000_000), 7).unwrap();
        let texts = texts(&writer.finish().unwrap());
        assert_eq!(
            texts.last(),
            Some(&json!({ "time": 38.0, "name": MISSED, "data": { "count": 7 } }))
        );
        let names: Vec<_> = texts[1..].iter().map(|text| text["name"].as_str().unwrap()).collect();
        assert!(names.iter().copied().eq(event::tests::names().into_iter().chain([MISSED])));
        let times: Vec<_> = texts[1..5].iter().map(|text| text["time"].as_f64().unwrap()).collect();
        assert_eq!(times, [0.0, 0.0, 0.000_002, 1.000_003]);
    }

    #[test]
    fn clocks_may_be_wrong() {
        let at = |seconds| date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(date(SystemTime::UNIX_EPOCH - Duration::from_secs(1)), None);
        assert_eq!(at(0).as_deref(), Some("1970-01-01T00:00:00.000Z"));
        // The calendar ends where every time zone still has the year 9999.
        assert_eq!(at(253_402_207_200).as_deref(), Some("9999-12-30T22:00:00.000Z"));
        assert_eq!(at(253_402_300_800), None);
    }

    #[test]
    fn errors_of_writing_are_told() {
        let header = TraceHeader::new("", VantagePoint::Client);
        let full = &mut [0; 10][..];
        assert_eq!(TraceWriter::new(full, &header).unwrap_err().kind(), io::ErrorKind::WriteZero);
    }
}
