//! Which association a packet belongs to.

use alloc::collections::{BTreeMap, BTreeSet};
use core::net::{IpAddr, Ipv4Addr};

use polypath_wire::ChecksumPolicy;
use rand_core::Rng;

use crate::types::address_scope::is_private;
use crate::types::{AddressList, MAX_ADDRESSES};
use crate::{AssociationId, Body, Encapsulation};

/// Most addresses of a peer, those included that it has left without a word.
const MOST_ADDRESSES: usize = 2 * MAX_ADDRESSES;

/// Index of the associations of an endpoint: by verification tag and by the peer's transport addresses.
///
/// Ordered maps, so that no walk over them depends on anything but their content.
#[derive(Debug, Default)]
pub(super) struct AssociationTable {
    by_tag: BTreeMap<u32, TableEntry>,
    by_peer: BTreeMap<Contact, AssociationId>,
    /// Where a peer only says that it is.
    claimed: BTreeSet<Contact>,
    tags: BTreeMap<AssociationId, u32>,
    next_id: u32,
}

/// SCTP ports of this side and of the peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Ports {
    pub(super) local: u16,
    pub(super) remote: u16,
}

/// The address of a peer, for packets without the tag of an association.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Contact {
    ports: Ports,
    address: IpAddr,
    /// UDP port of the peer when the association began. Behind one translator, hosts differ in nothing else.
    udp_port: Option<u16>,
}

/// What speaks for an address of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AddressProof {
    /// The peer claims the address, which may belong to another host (RFC 5062 section 2): it blocks no one.
    Claimed,
    /// The peer has answered from there, or the user says that it is the peer's.
    Confirmed,
}

/// What is known of one association.
#[derive(Debug)]
pub(super) struct TableEntry {
    pub(super) id: AssociationId,
    ports: Ports,
    udp_port: Option<u16>,
    addresses: AddressList,
    /// Whether its peer may use addresses that it has not listed.
    takes_newcomers: bool,
    /// Whether its peer was told that a checksum of zero is accepted.
    accepts_zero_checksum: bool,
    /// Whether its peer may send ASCONF from addresses that it is about to add.
    takes_address_changes: bool,
}

impl TableEntry {
    /// Whether its peer may use addresses that it has not listed, if it proves itself.
    pub(super) fn takes_newcomers(&self) -> bool {
        self.takes_newcomers
    }

    /// Whether its peer may send ASCONF from addresses that it is about to add.
    pub(super) fn takes_address_changes(&self) -> bool {
        self.takes_address_changes
    }

    /// Whether the peer of the association may send from this transport address.
    pub(super) fn has_peer(&self, ports: Ports, address: IpAddr) -> bool {
        self.ports == ports && self.addresses.contains(&address)
    }

    /// SCTP ports.
    pub(super) fn ports(&self) -> Ports {
        self.ports
    }

    fn contact(&self, address: IpAddr) -> Contact {
        Contact { ports: self.ports, address, udp_port: self.udp_port }
    }
}

impl AssociationTable {
    /// Adds an association whose peer is at `confirmed`, and says that it has the addresses `claimed`, too. Confirmed addresses of
    /// another association with the same ports stay there.
    pub(super) fn insert(
        &mut self,
        tag: u32,
        ports: Ports,
        (confirmed, claimed): (&[IpAddr], &[IpAddr]),
        carried: Encapsulation,
    ) -> AssociationId {
        let mut id = AssociationId(self.next_id);
        while self.tags.contains_key(&id) {
            id = AssociationId(id.0.wrapping_add(1));
        }
        self.next_id = id.0.wrapping_add(1);
        self.tags.insert(id, tag);
        self.by_tag.insert(
            tag,
            TableEntry {
                id,
                ports,
                udp_port: udp_port(carried),
                addresses: AddressList::new(),
                takes_newcomers: false,
                accepts_zero_checksum: false,
                takes_address_changes: false,
            },
        );
        self.add_addresses(id, confirmed, claimed);
        id
    }

    fn add_addresses(&mut self, id: AssociationId, confirmed: &[IpAddr], claimed: &[IpAddr]) {
        confirmed
            .iter()
            .for_each(|address| self.add_address(id, *address, AddressProof::Confirmed));
        claimed.iter().for_each(|address| self.add_address(id, *address, AddressProof::Claimed));
    }

    /// Adds an address of the peer, or confirms it. If another association with the same port has it, as behind a translator that
    /// both peers share, only packets with the right tag are found by it; but if that one only claims an address that is
    /// confirmed here, the address leaves it.
    pub(super) fn add_address(&mut self, id: AssociationId, address: IpAddr, proof: AddressProof) {
        let Some(entry) = self.tags.get(&id).and_then(|tag| self.by_tag.get_mut(tag)) else {
            return;
        };
        let contact = entry.contact(address);
        if !entry.addresses.contains(&address) && entry.addresses.len() < MOST_ADDRESSES {
            entry.addresses.push(address);
        }
        match (self.by_peer.get(&contact).copied(), proof) {
            (None, AddressProof::Claimed) => {
                self.claimed.insert(contact);
                self.by_peer.insert(contact, id);
            }
            (None, AddressProof::Confirmed) => {
                self.by_peer.insert(contact, id);
            }
            (Some(_), AddressProof::Claimed) => {}
            (Some(owner), AddressProof::Confirmed) => {
                if self.settle_claim(&contact) && owner != id {
                    self.by_peer.insert(contact, id);
                    self.leave(owner, address);
                }
            }
        }
    }

    /// A claim is no claim any more; whether it was one.
    fn settle_claim(&mut self, contact: &Contact) -> bool {
        let was_claimed = self.claimed.remove(contact);
        if was_claimed && self.claimed.is_empty() {
            // An empty set would keep memory.
            self.claimed = BTreeSet::new();
        }
        was_claimed
    }

    /// Releases an address that belongs to another host.
    fn leave(&mut self, id: AssociationId, address: IpAddr) {
        if let Some(entry) = self.tags.get(&id).and_then(|tag| self.by_tag.get_mut(tag)) {
            entry.addresses.retain(|known| *known != address);
        }
    }

    /// The peer has left an address.
    pub(super) fn remove_address(&mut self, id: AssociationId, address: IpAddr) {
        let Some(entry) = self.tags.get(&id).and_then(|tag| self.by_tag.get_mut(tag)) else {
            return;
        };
        entry.addresses.retain(|known| *known != address);
        let key = entry.contact(address);
        self.vacate(&key, id);
    }

    fn vacate(&mut self, contact: &Contact, id: AssociationId) {
        if self.by_peer.get(contact) == Some(&id) {
            self.by_peer.remove(contact);
            self.settle_claim(contact);
        }
    }

    /// Allows the peer of an association to use addresses that it has not listed.
    pub(super) fn take_newcomers(&mut self, id: AssociationId) {
        if let Some(entry) = self.tags.get(&id).and_then(|tag| self.by_tag.get_mut(tag)) {
            entry.takes_newcomers = true;
        }
    }

    /// The peer of an association may send packets with a checksum of zero (RFC 9653 section 5.3).
    pub(super) fn accept_zero_checksum(&mut self, id: AssociationId) {
        if let Some(entry) = self.tags.get(&id).and_then(|tag| self.by_tag.get_mut(tag)) {
            entry.accepts_zero_checksum = true;
        }
    }

    /// The correct checksum of a packet. Zero checksums are checked only if they occur.
    #[inline]
    pub(super) fn checksum_policy(&self, body: &Body<'_>) -> ChecksumPolicy {
        if body.has_zero_checksum()
            && let Some(entry) = body.verification_tag().and_then(|tag| self.by_tag(tag))
            && entry.accepts_zero_checksum
        {
            return ChecksumPolicy::AcceptZero;
        }
        ChecksumPolicy::Verify
    }

    /// The peer of an association may send ASCONF from addresses that it is about to add.
    pub(super) fn take_address_changes(&mut self, id: AssociationId) {
        if let Some(entry) = self.tags.get(&id).and_then(|tag| self.by_tag.get_mut(tag)) {
            entry.takes_address_changes = true;
        }
    }

    /// Gives an association another tag and other addresses: its peer restarted.
    pub(super) fn renew(
        &mut self,
        id: AssociationId,
        tag: u32,
        (confirmed, claimed): (&[IpAddr], &[IpAddr]),
        carried: Encapsulation,
    ) {
        let Some(entry) = self.take_entry(id) else { return };
        self.tags.insert(id, tag);
        let (addresses_yet, udp_port) = (AddressList::new(), udp_port(carried));
        self.by_tag.insert(tag, TableEntry { addresses: addresses_yet, udp_port, ..entry });
        self.add_addresses(id, confirmed, claimed);
    }

    /// Removes an association. Returns its tag, if it has one.
    pub(super) fn remove(&mut self, id: AssociationId) -> Option<u32> {
        let tag = self.tags.get(&id).copied();
        self.take_entry(id);
        tag
    }

    /// A random tag, not 0, that no association has (RFC 9260 section 5.3.1).
    pub(super) fn draw_tag(&self, rng: &mut dyn Rng) -> u32 {
        let mut tag = rng.next_u32();
        while tag == 0 || self.by_tag.contains_key(&tag) {
            // Not drawn again, so that a generator that repeats itself cannot keep us here.
            tag = tag.wrapping_add(1);
        }
        tag
    }

    pub(super) fn by_tag(&self, tag: u32) -> Option<&TableEntry> {
        self.by_tag.get(&tag)
    }

    /// The association of the peer at this address, or else one whose peer has another UDP port there, which a
    /// translator may have changed.
    pub(super) fn by_peer(
        &self,
        ports: Ports,
        address: IpAddr,
        carried: Encapsulation,
    ) -> Option<AssociationId> {
        self.exactly(ports, address, carried).or_else(|| {
            let least = Contact { ports, address, udp_port: None };
            let most = Contact { udp_port: Some(u16::MAX), ..least };
            self.by_peer.range(least..=most).next().map(|(_, id)| *id)
        })
    }

    /// The association whose peer is, and initially was, at this address.
    fn exactly(
        &self,
        ports: Ports,
        address: IpAddr,
        carried: Encapsulation,
    ) -> Option<AssociationId> {
        let contact = Contact { ports, address, udp_port: udp_port(carried) };
        self.by_peer.get(&contact).copied()
    }

    /// Whether an association has this SCTP port on this side.
    pub(super) fn has_local_port(&self, port: u16) -> bool {
        let least = Contact {
            ports: Ports { local: port, remote: 0 },
            address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            udp_port: None,
        };
        let next = self.by_peer.range(least..).next();
        next.is_some_and(|(contact, _)| contact.ports.local == port)
    }

    /// The association of the first of these addresses that is confirmed for one. The first address is the source of
    /// the packet. If that is public and the packets are carried in UDP, as behind translators, private addresses are
    /// ignored: hosts of many networks have the same.
    ///
    /// Another UDP port means another peer: one behind the same translator, or one that has restarted.
    pub(super) fn by_any_peer(
        &self,
        ports: Ports,
        addresses: &[IpAddr],
        carried: Encapsulation,
    ) -> Option<AssociationId> {
        let (source, listed) = addresses.split_first()?;
        let all_tell = carried == Encapsulation::None || is_private(*source);
        let listed = listed.iter().filter(|address| all_tell || !is_private(**address));
        core::iter::once(source)
            .chain(listed)
            .map(|address| Contact { ports, address: *address, udp_port: udp_port(carried) })
            .filter(|contact| !self.claimed.contains(contact))
            .find_map(|contact| self.by_peer.get(&contact).copied())
    }

    pub(super) fn len(&self) -> usize {
        self.tags.len()
    }

    /// Whether nothing at all is kept.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.by_tag.is_empty()
            && self.by_peer.is_empty()
            && self.claimed.is_empty()
            && self.tags.is_empty()
    }

    fn take_entry(&mut self, id: AssociationId) -> Option<TableEntry> {
        let tag = self.tags.remove(&id)?;
        let entry = self.by_tag.remove(&tag)?;
        for address in &entry.addresses {
            let key = entry.contact(*address);
            self.vacate(&key, id);
        }
        Some(entry)
    }
}

/// UDP port of a peer whose packets are carried like this.
fn udp_port(carried: Encapsulation) -> Option<u16> {
    match carried {
        Encapsulation::None | Encapsulation::LowerLayer => None,
        Encapsulation::Udp { remote_port, .. } => Some(remote_port),
    }
}
