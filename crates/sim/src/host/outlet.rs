//! Outgoing packets of a host.

use std::net::IpAddr;

use polypath_netsim::{Course, LinkObserver, NodeId, World};
use polypath_proto::PathId;

use crate::frame::{Form, SctpFrame, SimFrame};

/// Packets that the stack built but the network did not carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Unsent {
    /// There was no route between their addresses.
    pub unroutable: u64,
    /// They cannot be encoded; they were sent as structures.
    pub unencodable: u64,
}

/// Sends the packets of a host.
#[derive(Debug)]
pub(crate) struct Outlet {
    node: NodeId,
    form: Form,
    unsent: Unsent,
    /// By path: the addresses of its latest packet, and the route between them.
    courses: Vec<Option<([IpAddr; 2], Course)>>,
}

impl Outlet {
    /// For the packets of a node, which are sent in this form.
    pub fn new(node: NodeId, form: Form) -> Self {
        Self { node, form, unsent: Unsent::default(), courses: Vec::new() }
    }

    /// The form of its packets.
    #[inline]
    pub fn form(&self) -> Form {
        self.form
    }

    /// Packets that were built but not sent.
    pub fn unsent(&self) -> Unsent {
        self.unsent
    }

    /// Sends a packet. Without a route, it counts as unroutable and is lost.
    #[inline(always)]
    pub fn send<O: LinkObserver>(
        &mut self,
        world: &mut World<SimFrame, O>,
        path: Option<PathId>,
        ends: [&IpAddr; 2],
        frame: SctpFrame,
    ) {
        self.unsent.unencodable += u64::from(frame.form() != self.form);
        let known = path.and_then(|path| self.courses.get(usize::from(path.0))?.as_ref());
        let course = match known {
            Some((known, course)) if known.each_ref() == ends => Some(*course),
            _ => self.find(world, path, ends.map(|end| *end)),
        };
        match course {
            Some(course) => world.send_on(course, SimFrame::Sctp(frame)),
            None => self.unsent.unroutable += 1,
        }
    }

    /// The route between these addresses, cached for the path.
    #[cold]
    fn find<O: LinkObserver>(
        &mut self,
        world: &World<SimFrame, O>,
        path: Option<PathId>,
        ends: [IpAddr; 2],
    ) -> Option<Course> {
        let course = world.course(self.node, ends[0], ends[1]).ok()?;
        if let Some(path) = path.map(|path| usize::from(path.0)) {
            let paths = self.courses.len().max(path + 1);
            self.courses.resize(paths, None);
            self.courses[path] = Some((ends, course));
        }
        Some(course)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use polypath_netsim::topology::{DisjointPaths, IpVersion, PathConfig};
    use polypath_netsim::{ChannelConfig, NetworkBuilder, NoObserver};
    use polypath_proto::{Ecn, Fragmentation};
    use polypath_units::{BitRate, Duration, Instant};
    use polypath_wire::{Chunk, Packet, Raw};

    use super::*;
    const PORT: u16 = 9000;

    /// A packet with a chunk of this many bytes. The length field of a chunk cannot express 65,536 bytes or more.
    fn packet(padding: usize) -> Box<Packet<'static>> {
        let chunk = Chunk::Pad(Raw::Shared(Bytes::from(vec![0; padding])));
        Box::new(Packet {
            source_port: PORT,
            destination_port: PORT,
            verification_tag: 1,
            chunks: [chunk].into_iter().collect(),
        })
    }

    #[test]
    fn packets_that_no_network_carries_are_counted() {
        let channel = ChannelConfig::new(BitRate::from_mbit(100), Duration::from_millis(1));
        let paths = vec![PathConfig::direct("p", channel)];
        let mut builder = NetworkBuilder::new();
        let net = DisjointPaths { ip: IpVersion::V4, paths }.add_to(&mut builder).unwrap();
        let mut world: World<SimFrame> = builder.build(1, NoObserver).unwrap();
        let (here, there) = (net.paths[0].a_address, net.paths[0].b_address);
        let stranger: IpAddr = "192.0.2.1".parse().unwrap();
        let mut counted = |form, from, to, padding| {
            let mut outlet = Outlet::new(net.a, form);
            let frame = SctpFrame::new(Ecn::NotEct, Fragmentation::Avoided, packet(padding), form);
            outlet.send(&mut world, Some(PathId(0)), [&from, &to], frame);
            let Unsent { unroutable, unencodable } = outlet.unsent();
            (unroutable, unencodable)
        };
        for form in [Form::Structured, Form::Wire] {
            assert_eq!(counted(form, here, there, 100), (0, 0));
            assert_eq!(counted(form, here, stranger, 100), (1, 0));
            assert_eq!(counted(form, stranger, there, 100), (1, 0));
        }
        // Only the encoder detects that; the packet is sent all the same.
        assert_eq!(counted(Form::Structured, here, there, 70_000), (0, 0));
        assert_eq!(counted(Form::Wire, here, there, 70_000), (0, 1));
        assert_eq!(counted(Form::Wire, here, stranger, 70_000), (1, 1));
        let mut arrived = 0;
        while world.next_event(Instant::FAR_FUTURE).is_some() {
            arrived += 1;
        }
        assert_eq!(arrived, 4);
    }
}
