//! The content of INIT and INIT ACK: what this side announces, and what is accepted of the peer's (RFC 9260 sections
//! 3.3.2, 3.3.3, 5.1.1 and 5.1.2).

use alloc::vec::Vec;
use core::net::IpAddr;

use bitflags::bitflags;
use bytes::Bytes;
use polypath_wire::{
    Cause, Causes, Init, Parameter, Parameters, U16List, UnknownAction, chunk_type,
    error_detection, parameter_type,
};
use smallvec::SmallVec;

use crate::config::{
    AddressJoin, AddressReconfiguration, AssociationConfig, AuthDemand, ErrorDetection,
    ExplicitCongestionNotification, MessageInterleaving, NrSack, PacketDropReport,
    StreamReconfiguration,
};
use crate::extension::address_join;
use crate::extension::asconf::wildcard;
use crate::extension::auth::{AuthOffer, AuthParameters, AuthProblem};
use crate::types::address_scope::{is_meaningful, is_this_host};
use crate::types::{AddressList, Capabilities, MAX_ADDRESSES, PeerAddress, UserDataChunk};
use crate::{Duration, Encapsulation};

/// Least receive window that INIT and INIT ACK may announce, in bytes (RFC 9260 section 3.3.2).
pub(crate) const MIN_INITIAL_WINDOW: u32 = 1500;

/// Most bytes of unrecognized parameters that are reported, so that a report cannot outgrow a packet.
const MAX_REPORT_BYTES: usize = 512;

bitflags! {
    /// Address families.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
    pub(crate) struct AddressTypes: u8 {
        /// IPv4.
        const IPV4 = 1;
        /// IPv6.
        const IPV6 = 2;
    }
}

/// Which of the two chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InitKind {
    /// INIT.
    Init,
    /// INIT ACK.
    InitAck,
}

/// Limits of what is accepted from a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InitLimits<'a> {
    /// Most addresses to take; the source address is always one of them.
    pub(crate) max_addresses: usize,
    /// Addresses of this side: their families are the ones that can be used.
    pub(crate) local_addresses: &'a [IpAddr],
    /// What this side demands of authentication.
    pub(crate) authentication: AuthDemand,
}

/// The accepted content of a peer's INIT or INIT ACK.
#[derive(Clone, Debug)]
pub(crate) struct PeerInit {
    /// Verification tag for packets to the peer, not 0.
    pub(crate) tag: u32,
    /// Receive window in bytes, at least [`MIN_INITIAL_WINDOW`].
    pub(crate) a_rwnd: u32,
    /// Outbound streams that the peer wants, not 0.
    pub(crate) outbound_streams: u16,
    /// Inbound streams that the peer takes, not 0.
    pub(crate) inbound_streams: u16,
    /// First TSN of the peer.
    pub(crate) initial_tsn: u32,
    /// The source address, then the usable ones among those listed.
    pub(crate) addresses: AddressList,
    /// Listed addresses that were not taken: not usable here, or too many.
    pub(crate) ignored_addresses: u32,
    /// It named addresses, or types of them.
    pub(crate) knows_addresses: bool,
    /// Families that the peer can reach.
    pub(crate) address_types: AddressTypes,
    /// Extensions that the peer listed, whether or not they are known here how to use.
    pub(crate) capabilities: Capabilities,
    /// Its announcement on authentication, if this side has authentication.
    pub(crate) auth: Option<AuthOffer>,
    /// The adaptation code point of its program (RFC 5061 section 4.2.6).
    pub(crate) adaptation: Option<u32>,
    /// Its preferred primary address (section 4.2.4), if it is among the listed ones.
    pub(crate) preferred: Option<IpAddr>,
    /// Increase of the cookie's life that the peer wishes (INIT).
    pub(crate) life_extension: Duration,
    /// The state cookie (INIT ACK).
    pub(crate) cookie: Option<Bytes>,
    /// Parameters to be reported as not recognized.
    pub(crate) unrecognized: Unrecognized,
}

/// Parameters that were not recognized and ask to be reported, complete with type and length.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Unrecognized(Vec<Bytes>);

/// Why an INIT or INIT ACK cannot be accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum InitProblem {
    /// The initiate tag is 0: an INIT is dropped without an answer; an INIT ACK ends the attempt, without an ABORT, for
    /// which there is no tag.
    ZeroTag,
    /// The receive window is below [`MIN_INITIAL_WINDOW`].
    SmallWindow,
    /// One of the numbers of streams is 0.
    NoStreams,
    /// A host name address (the parameter).
    HostName(Bytes),
    /// INIT ACK without state cookie.
    MissingCookie,
    /// Authentication is required and the peer does not support it, or its announcement is invalid.
    Authentication(AuthProblem),
}

impl Capabilities {
    /// The capabilities of a side with this configuration, as announced to the peer.
    pub(crate) fn offered(config: &AssociationConfig) -> Self {
        let policies = &config.policies;
        let mut offered = Self::FORWARD_TSN;
        offered.set(Self::ADDRESS_JOIN, config.address_join == AddressJoin::On);
        let checked_below = config.error_detection == ErrorDetection::LowerLayerDtls;
        offered.set(Self::ZERO_CHECKSUM, checked_below);
        offered.set(Self::PACKET_DROP, policies.packet_drop_report == PacketDropReport::On);
        offered.set(Self::NR_SACK, policies.nr_sack != NrSack::Off);
        offered.set(Self::AUTH, AuthDemand::of(policies).offers);
        let moves = policies.address_reconfiguration != AddressReconfiguration::Off;
        offered.set(Self::ASCONF | Self::ASCONF_ACK, moves);
        let reconfigures = policies.stream_reconfiguration == StreamReconfiguration::On;
        offered.set(Self::RE_CONFIG, reconfigures);
        let interleaves = policies.message_interleaving == MessageInterleaving::On;
        offered.set(Self::I_DATA | Self::I_FORWARD_TSN, interleaves);
        let marks = policies.explicit_congestion_notification;
        offered.set(Self::ECN, marks == ExplicitCongestionNotification::On);
        offered
    }

    /// The chunk that carries user data, where both sides can do this.
    pub(crate) fn user_data_chunk(self) -> UserDataChunk {
        if self.contains(Self::I_DATA) { UserDataChunk::IData } else { UserDataChunk::Data }
    }

    /// Whether messages may be abandoned, if both sides support it: I-FORWARD-TSN requires I-DATA, and FORWARD-TSN
    /// requires DATA (RFC 8260 section 2.3.1).
    pub(crate) fn may_abandon(self) -> bool {
        match self.user_data_chunk() {
            UserDataChunk::Data => self.contains(Self::FORWARD_TSN),
            UserDataChunk::IData => self.contains(Self::I_FORWARD_TSN),
        }
    }

    /// What stacks of WebRTC can do.
    fn of_webrtc() -> Self {
        Self::RE_CONFIG
            | Self::FORWARD_TSN
            | Self::I_DATA
            | Self::I_FORWARD_TSN
            | Self::ZERO_CHECKSUM
    }

    const CHUNKS: [(Self, u8); 9] = [
        (Self::AUTH, chunk_type::AUTH),
        (Self::ASCONF, chunk_type::ASCONF),
        (Self::ASCONF_ACK, chunk_type::ASCONF_ACK),
        (Self::RE_CONFIG, chunk_type::RE_CONFIG),
        (Self::FORWARD_TSN, chunk_type::FORWARD_TSN),
        (Self::I_DATA, chunk_type::I_DATA),
        (Self::I_FORWARD_TSN, chunk_type::I_FORWARD_TSN),
        (Self::NR_SACK, chunk_type::NR_SACK),
        (Self::PACKET_DROP, chunk_type::PACKET_DROP),
    ];

    /// Those of a list of supported extensions (RFC 5061 section 4.2.7); unknown chunk types are passed over.
    pub(crate) fn from_extensions(chunk_types: &[u8]) -> Self {
        let known = Self::CHUNKS.iter().filter(|(_, chunk)| chunk_types.contains(chunk));
        known.map(|(capability, _)| *capability).collect()
    }

    /// The chunk types to list for a peer that packets are `carried` to like this.
    ///
    /// FORWARD-TSN has a parameter of its own (RFC 3758 section 3.1), too, but the stacks of WebRTC look only here, as RFC 8260
    /// and RFC 6525 do for their chunks. These run over UDP.
    fn extensions(self, carried: Encapsulation) -> SmallVec<[u8; 12]> {
        let without_chunk = Self::ADDRESS_JOIN | Self::ZERO_CHECKSUM | Self::ECN;
        let others = self - Self::FORWARD_TSN - without_chunk;
        let listed = match carried {
            Encapsulation::None if others.is_empty() => others,
            _ => self,
        };
        let told = Self::CHUNKS.iter().filter(|(capability, _)| listed.contains(*capability));
        told.map(|(_, chunk)| *chunk).collect()
    }
}

impl AddressTypes {
    /// The families among `addresses`.
    pub(crate) fn among(addresses: &[IpAddr]) -> Self {
        addresses.iter().map(|address| Self::of(*address)).collect()
    }

    /// The family of `address`.
    pub(crate) fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::IPV4 } else { Self::IPV6 }
    }

    fn from_list(types: U16List<'_>) -> Self {
        types
            .iter()
            .map(|parameter_type| match parameter_type {
                parameter_type::IPV4 => Self::IPV4,
                parameter_type::IPV6 => Self::IPV6,
                _ => Self::empty(),
            })
            .collect()
    }
}

/// The addresses of this side that a peer seen at `peer` can use, in the order of `local`.
///
/// Loopback addresses are for peers on this host only, link-local ones for peers on the link.
pub(crate) fn usable_addresses(local: &[IpAddr], peer: IpAddr) -> AddressList {
    let usable = local.iter().copied().filter(|address| is_meaningful(*address, peer));
    let mut list = AddressList::new();
    for address in usable.take(MAX_ADDRESSES) {
        if !list.contains(&address) {
            list.push(address);
        }
    }
    list
}

/// The parameters of an INIT sent from `from` to `to`.
///
/// `offered` are the supported extensions. `life_extension` is the requested increase of the cookie's life after a
/// stale cookie (RFC 9260 section 5.2.6).
///
/// RFC 9260 does not define an order of parameters, but stacks of WebRTC, which use UDP, depend on it: pion (1.12)
/// drops an INIT with the supported address types, which may be omitted, and rtc-sctp (0.21) one that ends with a
/// parameter without a value.
pub(crate) fn init_parameters(
    local: &[IpAddr],
    from: IpAddr,
    to: PeerAddress,
    life_extension: Option<Duration>,
    offered: Capabilities,
    auth: Option<&AuthOffer>,
) -> Parameters<'static> {
    let families = AddressTypes::among(local);
    let types: &[u16] =
        match (families.contains(AddressTypes::IPV4), families.contains(AddressTypes::IPV6)) {
            (true, false) => &[parameter_type::IPV4],
            (false, true) => &[parameter_type::IPV6],
            // Without the parameter, every type is supported.
            _ => &[],
        };
    let PeerAddress { address: to, encapsulation: carried } = to;
    let types = (!types.is_empty() && carried == Encapsulation::None)
        .then_some(Parameter::SupportedAddressTypes(U16List::Numbers(types)));
    let extension = life_extension.map(|wish| {
        let milliseconds = wish.as_nanos().div_ceil(1_000_000);
        Parameter::CookiePreservative(u32::try_from(milliseconds).unwrap_or(u32::MAX))
    });
    let extensions = offered.extensions(carried);
    let addresses = told_addresses(local, from, to, AddressTypes::all());
    Parameters::build(
        addresses
            .into_iter()
            .map(Parameter::from)
            .chain(extension)
            .chain(types)
            .chain(address_join_supported(offered))
            .chain(zero_checksum_acceptable(offered))
            .chain(ecn_capable(offered))
            .chain(forward_tsn_supported(offered))
            .chain(supported_extensions(&extensions))
            .chain(auth.into_iter().flat_map(AuthOffer::parameters)),
    )
}

/// The parameters of an INIT ACK with `cookie`, sent from `from` to `to` in answer to `peer`.
pub(crate) fn init_ack_parameters(
    local: &[IpAddr],
    from: IpAddr,
    to: PeerAddress,
    peer: &PeerInit,
    cookie: &[u8],
    offered: Capabilities,
    auth: Option<&AuthOffer>,
) -> Parameters<'static> {
    let PeerAddress { address: to, encapsulation: carried } = to;
    let extensions = offered.extensions(carried);
    let local = if peer.has_one_path(carried) { &[from][..] } else { local };
    let addresses = told_addresses(local, from, to, peer.address_types);
    Parameters::build(
        core::iter::once(Parameter::StateCookie(cookie))
            .chain(addresses.into_iter().map(Parameter::from))
            .chain(address_join_supported(offered))
            .chain(zero_checksum_acceptable(offered))
            .chain(ecn_capable(offered))
            .chain(forward_tsn_supported(offered))
            .chain(supported_extensions(&extensions))
            .chain(auth.into_iter().flat_map(AuthOffer::parameters))
            .chain(peer.unrecognized.0.iter().map(|tlv| Parameter::Unrecognized(tlv))),
    )
}

/// What programs and users of both sides announce in the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Indications {
    /// For the peer's program (RFC 5061 section 4.2.6).
    pub(crate) adaptation: Option<u32>,
    /// The address of this side that the peer should prefer (section 4.2.4).
    pub(crate) preferred: Option<IpAddr>,
}

impl Indications {
    /// The announcements of a side with this configuration.
    pub(crate) fn of(config: &AssociationConfig) -> Self {
        let changes = config.policies.address_reconfiguration != AddressReconfiguration::Off;
        let preferred = config.preferred_address.filter(|_| changes);
        Self { adaptation: config.adaptation_layer, preferred }
    }

    /// These parameters of a packet that leaves `from`, and the indications that there are.
    pub(crate) fn added_to(
        self,
        parameters: Parameters<'static>,
        from: IpAddr,
    ) -> Parameters<'static> {
        let adaptation = self.adaptation.map(Parameter::AdaptationIndication);
        let preferred = self.preferred.and_then(|address| set_primary(&parameters, from, address));
        if adaptation.is_none() && preferred.is_none() {
            return parameters;
        }
        Parameters::build(parameters.iter().chain(adaptation).chain(preferred))
    }
}

/// Requests the use of an address that the peer learns: a listed one, or the source of the packet. The latter is not
/// named, since a translator may replace it.
fn set_primary(
    parameters: &Parameters<'_>,
    from: IpAddr,
    address: IpAddr,
) -> Option<Parameter<'static>> {
    let is_listed = || parameters.iter().any(|it| it.address() == Some(address));
    let told = if address == from { Some(wildcard(from)) } else { is_listed().then_some(address) };
    told.map(|address| Parameter::SetPrimary { correlation_id: 0, address })
}

/// The addresses to list. None if the source address of the packet is the only one: without a list, an association
/// survives address translation (RFC 9260 section 3.3.2.1.2).
fn told_addresses(local: &[IpAddr], from: IpAddr, to: IpAddr, types: AddressTypes) -> AddressList {
    let mut list = usable_addresses(local, to);
    list.retain(|address| types.contains(AddressTypes::of(*address)));
    if list.as_slice() == [from] {
        list.clear();
    }
    list
}

/// RFC 3758 section 3.1.
fn forward_tsn_supported(offered: Capabilities) -> Option<Parameter<'static>> {
    offered.contains(Capabilities::FORWARD_TSN).then_some(Parameter::ForwardTsnSupported)
}

fn address_join_supported(offered: Capabilities) -> Option<Parameter<'static>> {
    let parameter = Parameter::Unknown { parameter_type: address_join::SUPPORTED, value: &[] };
    offered.contains(Capabilities::ADDRESS_JOIN).then_some(parameter)
}

/// RFC 9653 section 4.
fn zero_checksum_acceptable(offered: Capabilities) -> Option<Parameter<'static>> {
    let parameter = Parameter::ZeroChecksumAcceptable(error_detection::SCTP_OVER_DTLS);
    offered.contains(Capabilities::ZERO_CHECKSUM).then_some(parameter)
}

/// draft-stewart-tsvwg-sctpecn section 4.1.
fn ecn_capable(offered: Capabilities) -> Option<Parameter<'static>> {
    offered.contains(Capabilities::ECN).then_some(Parameter::EcnCapable)
}

fn supported_extensions(chunk_types: &[u8]) -> Option<Parameter<'_>> {
    (!chunk_types.is_empty()).then_some(Parameter::SupportedExtensions(chunk_types))
}

impl PeerInit {
    /// Reads an INIT or INIT ACK from `source`. An invalid one leaves no state.
    pub(crate) fn parse(
        init: &Init<'_>,
        kind: InitKind,
        source: IpAddr,
        limits: &InitLimits<'_>,
    ) -> Result<Self, InitProblem> {
        if init.initiate_tag == 0 {
            return Err(InitProblem::ZeroTag);
        }
        if init.a_rwnd < MIN_INITIAL_WINDOW {
            return Err(InitProblem::SmallWindow);
        }
        if init.outbound_streams == 0 || init.inbound_streams == 0 {
            return Err(InitProblem::NoStreams);
        }
        let mut peer = Self {
            tag: init.initiate_tag,
            a_rwnd: init.a_rwnd,
            outbound_streams: init.outbound_streams,
            inbound_streams: init.inbound_streams,
            initial_tsn: init.initial_tsn,
            addresses: SmallVec::from_slice(&[source]),
            ignored_addresses: 0,
            knows_addresses: false,
            address_types: AddressTypes::empty(),
            capabilities: Capabilities::empty(),
            auth: None,
            adaptation: None,
            preferred: None,
            life_extension: Duration::ZERO,
            cookie: None,
            unrecognized: Unrecognized::default(),
        };
        peer.read_parameters(&init.parameters, limits)?;
        if kind == InitKind::InitAck {
            // At any position: an unknown parameter that stops the reading does not remove the cookie (RFC 9260 section
            // 3.2.1).
            let cookie = init.parameters.state_cookie().ok_or(InitProblem::MissingCookie)?;
            peer.cookie = Some(Bytes::copy_from_slice(cookie));
        }
        Ok(peer)
    }

    fn read_parameters(
        &mut self,
        parameters: &Parameters<'_>,
        limits: &InitLimits<'_>,
    ) -> Result<(), InitProblem> {
        let mut seen = AddressTypes::of(self.addresses[0]);
        let mut listed = None;
        let mut auth = AuthParameters::default();
        for parameter in parameters {
            match parameter {
                Parameter::Ipv4(_) | Parameter::Ipv6(_) => {
                    self.knows_addresses = true;
                    if let Some(address) = parameter.address() {
                        seen |= AddressTypes::of(address);
                        self.take_address(address, limits);
                    }
                }
                Parameter::HostName(_) => {
                    return Err(InitProblem::HostName(with_header(parameter)));
                }
                Parameter::SupportedAddressTypes(types) => {
                    self.knows_addresses = true;
                    listed = Some(AddressTypes::from_list(types));
                }
                Parameter::CookiePreservative(milliseconds) => {
                    self.life_extension = Duration::from_millis(milliseconds.into());
                }
                Parameter::Unknown { parameter_type: address_join::SUPPORTED, .. } => {
                    self.capabilities |= Capabilities::ADDRESS_JOIN;
                }
                Parameter::ZeroChecksumAcceptable(error_detection::SCTP_OVER_DTLS) => {
                    self.capabilities |= Capabilities::ZERO_CHECKSUM;
                }
                Parameter::AdaptationIndication(code) => self.adaptation = Some(code),
                Parameter::SetPrimary { address, .. } => {
                    let source = self.addresses[0];
                    self.preferred = Some(if address.is_unspecified() { source } else { address });
                }
                Parameter::ForwardTsnSupported => self.capabilities |= Capabilities::FORWARD_TSN,
                Parameter::EcnCapable => self.capabilities |= Capabilities::ECN,
                Parameter::SupportedExtensions(chunk_types) => {
                    self.capabilities |= Capabilities::from_extensions(chunk_types);
                }
                Parameter::StateCookie(_) | Parameter::Unrecognized(_) | Parameter::Padding(_) => {}
                other if auth.take(&other) => {}
                unrecognized => {
                    let action = UnknownAction::of_parameter(unrecognized.parameter_type());
                    if action.reports() {
                        self.unrecognized.push(with_header(unrecognized));
                    }
                    if !action.continues() {
                        break;
                    }
                }
            }
        }
        // RFC 9260 section 5.1.2: a family that the peer uses is supported, listed or not.
        self.address_types = listed.map_or(AddressTypes::all(), |types| types | seen);
        let offer = auth.offer(limits.authentication);
        self.auth = offer.map_err(InitProblem::Authentication)?;
        Ok(())
    }

    /// Whether the peer is a stack of WebRTC, according to its parameters. These have one path, and pion and sctp-proto
    /// reject chunks that list an address (its type stops the reading if unknown).
    fn has_one_path(&self, carried: Encapsulation) -> bool {
        // ECN is no sign: usrsctp offers it wherever it runs.
        let of_others = Capabilities::all() - Capabilities::of_webrtc() - Capabilities::ECN;
        carried != Encapsulation::None
            && !self.knows_addresses
            && self.capabilities.contains(Capabilities::RE_CONFIG)
            && !self.capabilities.intersects(of_others)
    }

    /// Adds a listed address if packets can be sent to it, and if the peer may mean itself by it.
    fn take_address(&mut self, address: IpAddr, limits: &InitLimits<'_>) {
        if self.addresses.contains(&address) {
            return;
        }
        let source = self.addresses[0];
        let local = limits.local_addresses;
        // An address of ours, listed by another host, would make us send to ourselves. Endpoints of one host share its
        // addresses, for example `::1`, which exists only once.
        let ours = local.contains(&address) && !is_this_host(source, local);
        let reachable = AddressTypes::among(local).contains(AddressTypes::of(address));
        let space = self.addresses.len() < limits.max_addresses.min(MAX_ADDRESSES);
        if is_meaningful(address, source) && !ours && reachable && space {
            self.addresses.push(address);
        } else {
            self.ignored_addresses = self.ignored_addresses.saturating_add(1);
        }
    }
}

impl Unrecognized {
    /// Whether there is nothing to report.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The content of an ERROR that reports the parameters of an INIT ACK (RFC 9260 section 3.3.10.8).
    pub(crate) fn to_causes(&self) -> Causes<'static> {
        let mut list = Vec::new();
        for tlv in &self.0 {
            list.resize(list.len().next_multiple_of(4), 0);
            list.extend_from_slice(tlv);
        }
        Causes::build([Cause::UnrecognizedParameters(&list)])
    }

    fn push(&mut self, tlv: Bytes) {
        let size: usize = self.0.iter().map(|tlv| tlv.len().next_multiple_of(4) + 4).sum();
        if size + tlv.len() + 4 <= MAX_REPORT_BYTES {
            self.0.push(tlv);
        }
    }
}

impl InitProblem {
    /// The error causes of the ABORT that answers it.
    pub(crate) fn causes(&self) -> Causes<'static> {
        match self {
            Self::ZeroTag | Self::SmallWindow | Self::NoStreams => {
                Causes::build([Cause::InvalidParameter])
            }
            Self::HostName(parameter) => Causes::build([Cause::UnresolvableAddress(parameter)]),
            Self::MissingCookie => {
                let missing = U16List::Numbers(&[parameter_type::STATE_COOKIE]);
                Causes::build([Cause::MissingParameters(missing)])
            }
            Self::Authentication(AuthProblem::Missing(types)) => {
                Causes::build([Cause::MissingParameters(U16List::Numbers(types))])
            }
            Self::Authentication(AuthProblem::Violation(what)) => {
                Causes::build([Cause::ProtocolViolation(what.as_bytes())])
            }
        }
    }
}

/// A parameter as encoded, without padding.
fn with_header(parameter: Parameter<'_>) -> Bytes {
    Bytes::copy_from_slice(Parameters::build([parameter]).as_slice())
}

#[cfg(test)]
mod tests;
