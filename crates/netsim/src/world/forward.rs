//! Packets from link to link.

use polypath_units::Instant;

use super::packets::Head;
use super::record::{find_hash, hash_of, hash_of_v4};
use super::{Course, Label, MAX_HOPS, Step, World};
use crate::event::{Key, Target};
use crate::impair::{Damage, Within};
use crate::node::NodeKind;
use crate::queue_discipline::scramble;
use crate::routing::AddressId;
use crate::{
    Arrival, ChannelId, Class, Departure, DropCause, Event, Fields, Frame, LinkEventKind,
    LinkObserver, NodeId, PacketId, QueueAct, Ticket, Verdict,
};

impl<F: Frame, O: LinkObserver> World<F, O> {
    /// Puts a new packet on its first link.
    pub(super) fn inject(&mut self, course: Course, frame: F) {
        let Course { source: from, destination: to, first_hop, v4 } = course;
        let (version, header) = if v4.is_some() { (4, 20) } else { (6, 40) };
        let bytes = u32::try_from(frame.wire_len().saturating_add(header)).unwrap_or(u32::MAX);
        let hasher = &mut self.packet_hasher;
        let hash = match v4 {
            Some(ends) => hash_of_v4(ends, bytes, &frame, hasher),
            None => {
                hash_of([from, to].map(|end| &self.routing.address(end).ip), bytes, &frame, hasher)
            }
        };
        let label = Label { version, hash };
        let (number, sent) = (self.sent, self.now);
        self.sent += 1;
        let head = Head { from, to, bytes, hops: 0, sent, number, label };
        let id = self.packets.insert(head, frame);
        if self.captures.any() {
            self.capture_sent(id, first_hop);
        }
        self.transmit(first_hop.index(), id, bytes, label);
    }

    /// An event of a channel has come. Returns the packet that has reached the node that it is for, if one has.
    #[inline]
    pub(super) fn on_channel(&mut self, index: usize, key: Key) -> Option<PacketId> {
        let wire = &mut self.wires[index];
        if wire.armed != Some(key) {
            self.events.remove_first();
            return None;
        }
        self.now = key.time;
        let sent = wire.channel.take_sent(key.time);
        wire.armed = wire.channel.next_key();
        match wire.armed {
            Some(next) => self.events.replace_first(next, Target::Channel(index as u32)),
            None => self.events.remove_first(),
        }
        let node = wire.to;
        // Nothing was sent where packets can overtake and one only started.
        let is_delivered = sent.is_some_and(|(ticket, _)| wire.channel.is_delivered(ticket));
        if wire.channel.has_acts() {
            self.settle_acts(index);
        }
        let (ticket, arrives) = sent?;
        self.processed += 1;
        if !is_delivered && !self.survives(index, ticket, arrives) {
            return None;
        }
        self.arrive(index, node, ticket)
    }

    /// Lets the medium judge a packet, and does to it what that says; whether it arrives.
    #[inline(never)]
    fn survives(&mut self, index: usize, ticket: Ticket, arrives: Instant) -> bool {
        let departure = self.wires[index].channel.judge_departure(ticket, arrives);
        let Departure { ticket, lost, damage, duplicated } = departure;
        if let Some(cause) = lost {
            self.discard(index, ticket, cause);
            return false;
        }
        if let Some(damage) = damage {
            self.damage(ticket.packet, damage);
        }
        if duplicated {
            self.duplicate(index, ticket);
        }
        true
    }

    /// A bit of a packet arrives wrong.
    #[cold]
    fn damage(&mut self, id: PacketId, damage: Damage) {
        let Some((head, frame)) = self.packets.get_mut(id) else { return };
        let bits = match damage.within {
            Within::Checksum => frame.checksum_bits(),
            Within::Anywhere => 0..8 * frame.wire_len() as u64,
        };
        if let Some(bit) = damage.bit(&bits) {
            frame.damage(bit);
        }
        find_hash(head, frame, &self.routing, &mut self.packet_hasher);
    }

    /// A packet at the far end of a channel arrives there once more.
    #[cold]
    fn duplicate(&mut self, index: usize, original: Ticket) {
        let Some((head, frame)) = self.packets.get(original.packet) else { return };
        let (head, frame) = (*head, frame.clone());
        let packet = self.packets.insert(head, frame);
        let copy = Ticket { packet, order: self.events.next_order(), ..original };
        self.wires[index].channel.repeat(self.now, copy);
        self.arm(index);
    }

    /// Makes an event for what a channel has to do next, unless it is pending.
    // As below: every packet comes by here at every hop.
    #[inline(always)]
    pub(super) fn arm(&mut self, index: usize) {
        let wire = &mut self.wires[index];
        let next = wire.channel.next_key();
        if wire.armed != next {
            wire.armed = next;
            if let Some(key) = next {
                self.events.push(key, Target::Channel(index as u32));
            }
        }
    }

    /// Takes a channel down.
    pub(super) fn cut(&mut self, index: usize) {
        let mut dropped = Vec::new();
        let wire = &mut self.wires[index];
        wire.channel.cut(self.now, |ticket| dropped.push(ticket));
        // The packet that was pending may be gone; its event is stale then.
        self.arm(index);
        self.settle_acts(index);
        self.record_turn(index, LinkEventKind::WentDown);
        for ticket in dropped {
            self.discard(index, ticket, DropCause::Outage);
        }
    }

    /// Puts a packet on a channel.
    // Part of both its callers: every packet comes by here at every hop.
    #[inline(always)]
    fn transmit(&mut self, index: usize, id: PacketId, bytes: u32, label: Label) {
        let ticket = Ticket { packet: id, bytes, order: self.events.next_order() };
        let channel = &mut self.wires[index].channel;
        if !channel.takes_plainly(bytes) {
            return self.transmit_with_care(index, ticket, label);
        }
        match channel.offer_plain(self.now, ticket) {
            Verdict::Accepted | Verdict::Marked => {
                self.arm(index);
                self.record_packet(index, LinkEventKind::Accepted { bytes }, label);
            }
            Verdict::Dropped(cause) => self.discard(index, ticket, cause),
        }
    }

    /// The same for a packet that may be too large, or a queue that looks at packets and may do something to them later.
    #[inline(never)]
    fn transmit_with_care(&mut self, index: usize, ticket: Ticket, label: Label) {
        let Ticket { packet, bytes, .. } = ticket;
        if self.wires[index].channel.is_too_large(bytes) && !self.may_fragment(packet) {
            self.wires[index].channel.drop_too_large(ticket);
            return self.discard(index, ticket, DropCause::TooLarge);
        }
        let class = self.class_of(index, packet);
        let verdict = self.wires[index].channel.offer_of(self.now, ticket, class);
        let accepted = LinkEventKind::Accepted { bytes };
        let label = match verdict {
            Verdict::Dropped(cause) => {
                self.settle_acts(index);
                self.discard(index, ticket, cause);
                return;
            }
            Verdict::Marked => self.mark(packet).unwrap_or(label),
            Verdict::Accepted => label,
        };
        self.arm(index);
        self.record_packet(index, accepted, label);
        if self.wires[index].channel.has_acts() {
            self.settle_acts(index);
        }
    }

    #[cold]
    fn may_fragment(&self, id: PacketId) -> bool {
        self.packets.get(id).is_some_and(|(_, frame)| frame.may_fragment())
    }

    /// What a queue may want to know of a packet.
    #[inline]
    fn class_of(&self, index: usize, id: PacketId) -> Class {
        match self.wires[index].channel.looks_at_class() {
            true => self.find_class(index, id),
            false => Class::default(),
        }
    }

    fn find_class(&self, index: usize, id: PacketId) -> Class {
        let Some((head, frame)) = self.packets.get(id) else { return Class::default() };
        let flow = match self.wires[index].channel.tells_flows_apart() {
            true => flow_of(head, frame),
            false => 0,
        };
        Class { flow, ect: matches!(frame.traffic_class() & 3, 1 | 2) }
    }

    /// Carries out what a queue did to packets that it had accepted.
    pub(super) fn settle_acts(&mut self, index: usize) {
        while let Some(act) = self.wires[index].channel.take_act() {
            match act {
                QueueAct::Dropped(ticket, cause) => self.discard(index, ticket, cause),
                QueueAct::Marked(ticket) => {
                    self.mark(ticket.packet);
                }
            }
        }
    }

    /// Marks a packet with "congestion experienced" and tells its new label.
    #[cold]
    fn mark(&mut self, id: PacketId) -> Option<Label> {
        let (head, frame) = self.packets.get_mut(id)?;
        frame.mark_ce();
        find_hash(head, frame, &self.routing, &mut self.packet_hasher);
        Some(head.label)
    }

    /// A packet reached the far end of a channel. Returns it if it is for the node there.
    #[inline]
    fn arrive(&mut self, index: usize, node: NodeId, ticket: Ticket) -> Option<PacketId> {
        let (head, frame) = self.packets.get_mut(ticket.packet)?;
        head.hops += 1;
        if frame.crossed_link() == Fields::Rebuilt {
            find_hash(head, frame, &self.routing, &mut self.packet_hasher);
        }
        let Head { from, to, hops, label, .. } = *head;
        let next = match self.next_step(index, node, from, to, hops) {
            Ok(next) => next,
            Err(cause) => {
                self.wires[index].channel.refuse(ticket, cause);
                self.discard(index, ticket, cause);
                return None;
            }
        };
        self.record_packet(index, LinkEventKind::Delivered { bytes: ticket.bytes }, label);
        match next {
            Some(channel) => {
                self.transmit(channel.index(), ticket.packet, ticket.bytes, label);
                None
            }
            None => Some(ticket.packet),
        }
    }

    /// Where a packet goes from the node at the far end of a channel: over a channel, or nowhere because it is for this
    /// host. Mostly that is where the one before it went.
    #[inline]
    fn next_step(
        &mut self,
        index: usize,
        node: NodeId,
        from: AddressId,
        to: AddressId,
        hops: u8,
    ) -> Result<Option<ChannelId>, DropCause> {
        if let Some(last) = self.wires[index].last_step
            && (last.from, last.to) == (from, to)
            && hops < MAX_HOPS
        {
            return Ok(last.next);
        }
        let next = self.find_step(node, from, to, hops)?;
        self.wires[index].last_step = Some(Step { from, to, next });
        Ok(next)
    }

    #[inline(never)]
    fn find_step(
        &self,
        node: NodeId,
        from: AddressId,
        to: AddressId,
        hops: u8,
    ) -> Result<Option<ChannelId>, DropCause> {
        match self.nodes[node.index()].kind {
            NodeKind::Host if self.routing.address(to).node == node => Ok(None),
            NodeKind::Host => Err(DropCause::NoRoute),
            NodeKind::Router if hops >= MAX_HOPS => Err(DropCause::HopLimit),
            NodeKind::Router => {
                self.routing.next_hop(node, from, to).map(Some).ok_or(DropCause::NoRoute)
            }
        }
    }

    /// Takes a packet that has come over a channel to the node that it is for out of the network.
    #[inline]
    pub(super) fn hand_over(&mut self, index: usize, id: PacketId) -> Option<Event<F>> {
        let (node, iface) = (self.wires[index].to, self.wires[index].iface);
        if self.captures.any() {
            self.capture_received(id, node, iface);
        }
        let Head { sent, from, to, .. } = *self.packets.head(id)?;
        let (from, to) = (self.routing.address(from).ip, self.routing.address(to).ip);
        // At the end, so that the frame is moved only once.
        let frame = self.packets.take(id)?;
        Some(Event::Arrival(Arrival { node, iface, from, to, sent, frame }))
    }

    /// The end of a packet that was dropped.
    fn discard(&mut self, index: usize, ticket: Ticket, cause: DropCause) {
        let Some((head, _)) = self.packets.get(ticket.packet) else { return };
        let Head { number, label, .. } = *head;
        self.packets.take(ticket.packet);
        let dropped = LinkEventKind::Dropped { bytes: ticket.bytes, cause };
        self.record_packet(index, dropped, label);
        if self.captures.any() {
            self.capture_dropped(number, index, cause);
        }
    }
}

/// A number that packets of one flow have in common.
fn flow_of<F: Frame>(head: &Head, frame: &F) -> u64 {
    let [source, destination] = frame.ports().map(u64::from);
    let ports = source << 32 | destination << 16 | u64::from(frame.protocol());
    let addresses = u64::from(head.from) << 32 | u64::from(head.to);
    scramble(scramble(addresses) ^ ports)
}
