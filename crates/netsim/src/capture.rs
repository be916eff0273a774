//! Packet captures at hosts.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;

use polypath_units::Instant;

use crate::pcapng::{PacketDirection, PacketRecord, PcapngWriter};
use crate::{IfaceId, NodeId};

type Output = Box<dyn io::Write + Send>;

/// All captures of a world.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    running: Vec<Capture>,
    error: Option<io::Error>,
}

/// What a host does with a packet that is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// Sends it; what becomes of packet `number` will be told later.
    Sent { number: u64 },
    /// Receives it.
    Received,
}

/// The capture of one host.
///
/// A packet that was sent is held back until its fate is known, and so is what comes after it, because the file is in
/// order of time. No more is held than the network holds packets, and what was received meanwhile.
struct Capture {
    node: NodeId,
    writer: PcapngWriter<Output>,
    held: VecDeque<Held>,
    /// Records written, which is the position of the first that is held.
    written: u64,
    /// Position of the records whose packet is on the way, by its number.
    on_the_way: BTreeMap<u64, u64>,
}

struct Held {
    time: Instant,
    iface: IfaceId,
    direction: PacketDirection,
    data: Vec<u8>,
    fate: Fate,
}

enum Fate {
    Unknown,
    Known(Option<String>),
}

impl Captures {
    /// Whether there is anything to record.
    #[inline]
    pub fn any(&self) -> bool {
        !self.running.is_empty()
    }

    /// Whether packets of this node are recorded.
    pub fn of(&self, node: NodeId) -> bool {
        self.running.iter().any(|capture| capture.node == node)
    }

    pub fn start(&mut self, node: NodeId, iface_names: &[String], out: Output) {
        match Capture::start(node, iface_names, out) {
            Ok(capture) => self.running.push(capture),
            Err(error) => self.keep(error),
        }
    }

    /// Records a packet at `node`.
    pub fn record(&mut self, node: NodeId, iface: IfaceId, flow: Flow, time: Instant, data: &[u8]) {
        self.for_each(|capture| {
            if capture.node == node { capture.record(iface, flow, time, data) } else { Ok(()) }
        });
    }

    /// Tells what became of a packet: `None` if it arrived, else what to remark.
    pub fn settle(&mut self, number: u64, comment: Option<&str>) {
        self.for_each(|capture| capture.settle(number, comment));
    }

    pub fn finish(&mut self) -> io::Result<()> {
        for capture in std::mem::take(&mut self.running) {
            if let Err(error) = capture.finish() {
                self.keep(error);
            }
        }
        self.error.take().map_or(Ok(()), Err)
    }

    /// A capture that failed ends there.
    fn for_each(&mut self, mut action: impl FnMut(&mut Capture) -> io::Result<()>) {
        let mut first_error = None;
        self.running.retain_mut(|capture| match action(capture) {
            Ok(()) => true,
            Err(error) => {
                first_error.get_or_insert(error);
                false
            }
        });
        if let Some(error) = first_error {
            self.keep(error);
        }
    }

    fn keep(&mut self, error: io::Error) {
        self.error.get_or_insert(error);
    }
}

impl Capture {
    fn start(node: NodeId, iface_names: &[String], out: Output) -> io::Result<Self> {
        let mut writer = PcapngWriter::new(out, "Polypath network simulator")?;
        for name in iface_names {
            writer.add_interface(name)?;
        }
        Ok(Self { node, writer, held: VecDeque::new(), written: 0, on_the_way: BTreeMap::new() })
    }

    fn record(&mut self, iface: IfaceId, flow: Flow, time: Instant, data: &[u8]) -> io::Result<()> {
        let (direction, fate) = match flow {
            Flow::Sent { number } => {
                self.on_the_way.insert(number, self.written + self.held.len() as u64);
                (PacketDirection::Outbound, Fate::Unknown)
            }
            Flow::Received => (PacketDirection::Inbound, Fate::Known(None)),
        };
        self.held.push_back(Held { time, iface, direction, data: data.to_vec(), fate });
        self.write_known()
    }

    fn settle(&mut self, number: u64, comment: Option<&str>) -> io::Result<()> {
        let Some(position) = self.on_the_way.remove(&number) else { return Ok(()) };
        if let Some(held) = self.held.get_mut((position - self.written) as usize) {
            held.fate = Fate::Known(comment.map(str::to_owned));
        }
        self.write_known()
    }

    fn finish(mut self) -> io::Result<()> {
        for held in &mut self.held {
            if matches!(held.fate, Fate::Unknown) {
                held.fate = Fate::Known(Some("on the way when the capture ended".to_owned()));
            }
        }
        self.write_known()?;
        self.writer.finish()?;
        Ok(())
    }

    fn write_known(&mut self) -> io::Result<()> {
        while let Some(Held { time, iface, direction, data, fate: Fate::Known(comment) }) =
            self.held.front()
        {
            let interface = iface.index() as u32;
            let comment = comment.as_deref();
            self.writer.add_packet(&PacketRecord {
                interface,
                time: *time,
                direction: *direction,
                data,
                comment,
            })?;
            self.held.pop_front();
            self.written += 1;
        }
        Ok(())
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("node", &self.node)
            .field("held", &self.held.len())
            .finish_non_exhaustive()
    }
}
