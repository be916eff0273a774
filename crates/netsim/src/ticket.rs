//! What channels and queues know of packets.

/// A packet that its owner keeps, as a small number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketId(pub u32);

/// What a channel has to know of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// Which packet.
    pub packet: PacketId,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
    /// Handed back unchanged; the simulator keeps the order of events in it.
    pub order: u64,
}
