//! Options of paths, by the address of the peer (RFC 6458 sections 8.1.12 and 8.2.2, RFC 7829).

use std::net::SocketAddr;
use std::sync::Arc;

use polypath::{
    Association, AssociationOptions, Duration, Heartbeats, PathId, PathOptions, PathStats,
    PathStatus, PmtuDiscovery,
};
use rustix::io::Errno;

use super::super::socket::Socket;
use super::{ALL, FUTURE, Targets, change, configure, current, established, ms};
use crate::abi::option;
use crate::address::{self, STORAGE_BYTES};
use crate::layout::{Building, Fields};

/// Flags of `spp_flags`.
mod spp {
    pub(super) const HB_ENABLE: u32 = 1;
    pub(super) const HB_DISABLE: u32 = 2;
    pub(super) const HB_DEMAND: u32 = 4;
    pub(super) const PMTUD_ENABLE: u32 = 8;
    pub(super) const PMTUD_DISABLE: u32 = 0x10;
    pub(super) const SACKDELAY_ENABLE: u32 = 0x20;
    pub(super) const SACKDELAY_DISABLE: u32 = 0x40;
    pub(super) const HB_TIME_IS_ZERO: u32 = 0x80;
    pub(super) const IPV6_FLOWLABEL: u32 = 0x100;
    pub(super) const DSCP: u32 = 0x200;
}

/// Offset of what follows the address in a packed structure that begins with an association.
const PACKED: usize = 4 + STORAGE_BYTES;
/// The same where the address is aligned to 8 bytes.
const ALIGNED: usize = 8 + STORAGE_BYTES;

/// `None` if the option is not one of these.
pub(super) fn set(
    socket: &Arc<Socket>,
    number: i32,
    value: Fields<'_>,
) -> Option<Result<(), Errno>> {
    Some(match number {
        option::PEER_ADDR_PARAMS => set_parameters(socket, value),
        option::PEER_ADDR_THLDS | option::PEER_ADDR_THLDS_V2 => {
            set_thresholds(socket, number, value)
        }
        option::PLPMTUD_PROBE_INTERVAL => set_probe_interval(socket, value),
        option::PRIMARY_ADDR => addressed(socket, value, 4).and_then(|(association, paths)| {
            let path = *paths.first().ok_or(Errno::INVAL)?;
            association.set_primary(path).map_err(|_| Errno::INVAL)
        }),
        option::SET_PEER_PRIMARY_ADDR => {
            let association = value.i32(0).ok_or(Errno::INVAL);
            let association = association.and_then(|id| established(socket, id));
            association.and_then(|association| {
                let peer = address::of_storage(value.rest(4)).ok_or(Errno::INVAL)?;
                association.set_peer_primary(peer.ip()).map_err(|_| Errno::PERM)
            })
        }
        _ => return None,
    })
}

/// `None` if the option is not one of these.
pub(super) fn get(
    socket: &Arc<Socket>,
    number: i32,
    given: Fields<'_>,
) -> Option<Result<Vec<u8>, Errno>> {
    let id = given.i32(0).unwrap_or(FUTURE);
    Some(match number {
        option::PEER_ADDR_PARAMS => parameters(socket, given),
        option::PEER_ADDR_THLDS | option::PEER_ADDR_THLDS_V2 => thresholds(socket, number, given),
        option::PLPMTUD_PROBE_INTERVAL => probe_interval(socket, given),
        option::PRIMARY_ADDR => established(socket, id).and_then(|association| {
            let paths = association.path_stats();
            let primary = paths.iter().find(|path| path.primary).ok_or(Errno::NOTCONN)?;
            let peer = SocketAddr::new(primary.remote, association.remote_port());
            Ok(Building::new().i32(id).bytes(&address::stored(peer, socket.name.is_ipv6)).0)
        }),
        option::GET_PEER_ADDR_INFO => {
            addressed(socket, given, 4).and_then(|(association, paths)| {
                let path = paths.first().ok_or(Errno::INVAL)?;
                let stats = association.path_stats();
                let path = stats.iter().find(|one| one.path == *path).ok_or(Errno::INVAL)?;
                let is_failing = path.status == PathStatus::PotentiallyFailed;
                if is_failing && socket.state().options.hides_potentially_failed() {
                    return Err(Errno::ACCESS);
                }
                Ok(info(socket, id, path, association.remote_port()))
            })
        }
        _ => return None,
    })
}

/// `struct sctp_paddrinfo`.
pub(super) fn info(socket: &Socket, id: i32, path: &PathStats, port: u16) -> Vec<u8> {
    let state = match path.status {
        PathStatus::PotentiallyFailed => 1,
        PathStatus::Active => 2,
        PathStatus::Unconfirmed => 3,
        _ => 0,
    };
    let peer = SocketAddr::new(path.remote, port);
    Building::new()
        .i32(id)
        .bytes(&address::stored(peer, socket.name.is_ipv6))
        .i32(state)
        .u32(u32::try_from(path.cwnd_bytes).unwrap_or(u32::MAX))
        .u32(path.srtt.map_or(0, ms))
        .u32(ms(path.rto))
        .u32(path.mtu_bytes)
        .0
}

/// The association of an option with an address at `offset`, and the paths to there: several if this host has several addresses.
fn addressed(
    socket: &Socket,
    value: Fields<'_>,
    offset: usize,
) -> Result<(Arc<Association>, Vec<PathId>), Errno> {
    let peer = address::of_storage(value.rest(offset)).ok_or(Errno::INVAL)?;
    let id = value.i32(0).ok_or(Errno::INVAL)?;
    let association = match established(socket, id) {
        // The address tells which one is meant, unless the identifier is that of another socket's association.
        Err(_) if !socket.is_one_to_one() && id <= ALL => {
            let link = socket.state().link_with(peer).ok_or(Errno::INVAL)?;
            link.association().cloned().ok_or(Errno::NOTCONN)?
        }
        found => found?,
    };
    let stats = association.path_stats();
    let there = stats.iter().filter(|path| path.remote == peer.ip()).map(|path| path.path);
    let paths: Vec<_> = there.collect();
    let is_peer = peer.port() == 0 || peer.port() == association.remote_port();
    if paths.is_empty() || !is_peer {
        return Err(Errno::INVAL);
    }
    Ok((association, paths))
}

/// `struct sctp_paddrparams`.
fn set_parameters(socket: &Socket, value: Fields<'_>) -> Result<(), Errno> {
    let at = |offset| value.u32(PACKED + offset).ok_or(Errno::INVAL);
    let (interval, mtu, sack_delay, flags) = (at(0)?, at(6)?, at(10)?, at(14)?);
    let max_retrans = value.u16(PACKED + 4).ok_or(Errno::INVAL)?;
    let both = |on, off| flags & on != 0 && flags & off != 0;
    if both(spp::HB_ENABLE, spp::HB_DISABLE)
        || both(spp::PMTUD_ENABLE, spp::PMTUD_DISABLE)
        || both(spp::SACKDELAY_ENABLE, spp::SACKDELAY_DISABLE)
        || sack_delay > 500
    {
        return Err(Errno::INVAL);
    }
    let every = match flags & (spp::HB_ENABLE | spp::HB_DISABLE) {
        spp::HB_DISABLE => Some(Heartbeats::Off),
        spp::HB_ENABLE if flags & spp::HB_TIME_IS_ZERO != 0 => {
            Some(Heartbeats::Every(Duration::ZERO))
        }
        spp::HB_ENABLE if interval > 0 => {
            Some(Heartbeats::Every(Duration::from_millis(interval.into())))
        }
        _ => None,
    };
    let delay = match flags & (spp::SACKDELAY_ENABLE | spp::SACKDELAY_DISABLE) {
        spp::SACKDELAY_DISABLE => Some(Duration::ZERO),
        spp::SACKDELAY_ENABLE if sack_delay > 0 => Some(Duration::from_millis(sack_delay.into())),
        _ => None,
    };
    let mtu = (mtu > 0).then(|| u16::try_from(mtu).unwrap_or(u16::MAX));
    let label = flags & spp::IPV6_FLOWLABEL != 0;
    let flow_label = if label { Some(at(18)? & 0xF_FFFF) } else { None };
    let marked = flags & spp::DSCP != 0;
    let dscp = if marked { Some(value.u8(PACKED + 22).ok_or(Errno::INVAL)? >> 2) } else { None };
    let path = PathOptions {
        heartbeats: every,
        max_retrans: (max_retrans > 0).then(|| max_retrans.into()),
        pmtu_discovery: match flags & (spp::PMTUD_ENABLE | spp::PMTUD_DISABLE) {
            spp::PMTUD_ENABLE => Some(PmtuDiscovery::Probe),
            spp::PMTUD_DISABLE => Some(PmtuDiscovery::Fixed),
            _ => None,
        },
        mtu_bytes: mtu.filter(|_| flags & spp::PMTUD_DISABLE != 0),
        sack_delay: delay,
        dscp,
        ipv6_flow_label: flow_label,
        ..PathOptions::default()
    };
    if address::of_storage(value.rest(4)).is_some() {
        let (association, paths) = addressed(socket, value, 4)?;
        for id in paths {
            association.set_path_options(id, &path).map_err(|_| Errno::INVAL)?;
            if flags & spp::HB_DEMAND != 0 {
                association.request_heartbeat(id).map_err(|_| Errno::INVAL)?;
            }
        }
        return Ok(());
    }
    if flags & spp::HB_DEMAND != 0 {
        return Err(Errno::INVAL);
    }
    let options = AssociationOptions {
        heartbeats: path.heartbeats,
        path_max_retrans: path.max_retrans,
        sack_delay: path.sack_delay,
        dscp: path.dscp,
        ipv6_flow_label: path.ipv6_flow_label,
        ..AssociationOptions::default()
    };
    change(socket, value.i32(0).ok_or(Errno::INVAL)?, &options)?;
    if let Some(discovery) = path.pmtu_discovery {
        configure(socket, |config| {
            config.pmtu_discovery = Some(discovery);
            config.mtu_bytes = path.mtu_bytes.unwrap_or(config.mtu_bytes);
            Ok(())
        })?;
    }
    Ok(())
}

fn parameters(socket: &Socket, given: Fields<'_>) -> Result<Vec<u8>, Errno> {
    let id = given.i32(0).ok_or(Errno::INVAL)?;
    let (path, mtu) = match address::of_storage(given.rest(4)) {
        Some(_) => {
            let (association, paths) = addressed(socket, given, 4)?;
            let path = *paths.first().ok_or(Errno::INVAL)?;
            let stats = association.path_stats();
            let mtu = stats.iter().find(|one| one.path == path).map_or(0, |one| one.mtu_bytes);
            (association.path_options(path).ok_or(Errno::INVAL)?, mtu)
        }
        None => {
            let now = current(socket, id)?;
            let to_come = socket.state().options.association.clone();
            let mtu = match to_come.pmtu_discovery {
                Some(PmtuDiscovery::Fixed) => to_come.mtu_bytes.into(),
                _ => 0,
            };
            let path = PathOptions {
                pmtu_discovery: to_come.pmtu_discovery,
                heartbeats: now.heartbeats,
                max_retrans: now.path_max_retrans,
                sack_delay: now.sack_delay,
                dscp: now.dscp,
                ipv6_flow_label: now.ipv6_flow_label,
                ..PathOptions::default()
            };
            (path, mtu)
        }
    };
    let (interval, heartbeat) = match path.heartbeats {
        Some(Heartbeats::Every(time)) => (ms(time), spp::HB_ENABLE),
        _ => (0, spp::HB_DISABLE),
    };
    let probes = !matches!(path.pmtu_discovery, Some(PmtuDiscovery::Fixed));
    let pmtud = if probes { spp::PMTUD_ENABLE } else { spp::PMTUD_DISABLE };
    let delay = path.sack_delay.map_or(0, ms);
    let sack = if delay > 0 { spp::SACKDELAY_ENABLE } else { spp::SACKDELAY_DISABLE };
    let max_retrans = u16::try_from(path.max_retrans.unwrap_or(0)).unwrap_or(u16::MAX);
    Ok(Building::new()
        .bytes(given.0.get(..PACKED).unwrap_or_default())
        .padded(PACKED)
        .u32(interval)
        .u16(max_retrans)
        .u32(mtu)
        .u32(delay)
        .u32(heartbeat | pmtud | sack)
        .u32(path.ipv6_flow_label.unwrap_or(0))
        .u8(path.dscp.unwrap_or(0) << 2)
        .padded(156)
        .0)
}

/// `struct sctp_paddrthlds` and its second form, which also has the threshold for another primary path.
fn set_thresholds(socket: &Socket, number: i32, value: Fields<'_>) -> Result<(), Errno> {
    let max_retrans = value.u16(ALIGNED).ok_or(Errno::INVAL)?;
    let pf_threshold = value.u16(ALIGNED + 2).ok_or(Errno::INVAL)?;
    let switchover = match number {
        option::PEER_ADDR_THLDS_V2 => Some(value.u16(ALIGNED + 4).ok_or(Errno::INVAL)?),
        _ => None,
    };
    let (max_retrans, pf_threshold) =
        ((max_retrans > 0).then(|| max_retrans.into()), Some(pf_threshold.into()));
    if address::of_storage(value.rest(8)).is_some() {
        let (association, paths) = addressed(socket, value, 8)?;
        let options = PathOptions { max_retrans, pf_threshold, ..PathOptions::default() };
        for path in paths {
            association.set_path_options(path, &options).map_err(|_| Errno::INVAL)?;
        }
        return Ok(());
    }
    let options = AssociationOptions {
        path_max_retrans: max_retrans,
        pf_threshold,
        primary_switchover: switchover.map(|count| match count {
            u16::MAX => u32::MAX,
            count => count.into(),
        }),
        ..AssociationOptions::default()
    };
    change(socket, value.i32(0).ok_or(Errno::INVAL)?, &options)
}

fn thresholds(socket: &Socket, number: i32, given: Fields<'_>) -> Result<Vec<u8>, Errno> {
    let now = current(socket, given.i32(0).ok_or(Errno::INVAL)?)?;
    let (mut max_retrans, mut pf_threshold) = (now.path_max_retrans, now.pf_threshold);
    if address::of_storage(given.rest(8)).is_some() {
        let (association, paths) = addressed(socket, given, 8)?;
        let path = paths.first().and_then(|path| association.path_options(*path));
        let path = path.ok_or(Errno::INVAL)?;
        max_retrans = path.max_retrans.or(max_retrans);
        pf_threshold = path.pf_threshold.or(pf_threshold);
    }
    let short = |count: Option<u32>| u16::try_from(count.unwrap_or(0)).unwrap_or(u16::MAX);
    let built = Building::new()
        .bytes(given.0.get(..ALIGNED).unwrap_or_default())
        .padded(ALIGNED)
        .u16(short(max_retrans))
        .u16(short(pf_threshold));
    Ok(match number {
        option::PEER_ADDR_THLDS_V2 => built.u16(short(now.primary_switchover)),
        _ => built,
    }
    .padded(144)
    .0)
}

/// Least `spi_interval`, in milliseconds, as in Linux.
const MIN_PROBE_INTERVAL_MS: u32 = 5000;

/// `struct sctp_probeinterval`: 0 ends the search for path MTUs by probes.
fn set_probe_interval(socket: &Socket, value: Fields<'_>) -> Result<(), Errno> {
    let id = value.i32(0).ok_or(Errno::INVAL)?;
    let interval = value.u32(ALIGNED).ok_or(Errno::INVAL)?;
    if (1..MIN_PROBE_INTERVAL_MS).contains(&interval) {
        return Err(Errno::INVAL);
    }
    let discovery = if interval == 0 { PmtuDiscovery::Icmp } else { PmtuDiscovery::Probe };
    let options = PathOptions { pmtu_discovery: Some(discovery), ..PathOptions::default() };
    let set = |association: &Association, path| {
        association.set_path_options(path, &options).map_err(|_| Errno::INVAL)
    };
    if address::of_storage(value.rest(8)).is_some() {
        let (association, paths) = addressed(socket, value, 8)?;
        return paths.into_iter().try_for_each(|path| set(&association, path));
    }
    let targets = Targets::of(socket, &socket.state(), id)?;
    for association in targets.links.iter().filter_map(|link| link.association()) {
        let paths = association.path_stats();
        paths.iter().try_for_each(|path| set(association, path.path))?;
    }
    if targets.future {
        socket.state().options.flags.probe_interval_ms = interval;
        configure(socket, |config| {
            config.pmtu_discovery = Some(discovery);
            Ok(())
        })?;
    }
    Ok(())
}

fn probe_interval(socket: &Socket, given: Fields<'_>) -> Result<Vec<u8>, Errno> {
    let id = given.i32(0).ok_or(Errno::INVAL)?;
    let kept = socket.state().options.flags.probe_interval_ms;
    let discovery = match address::of_storage(given.rest(8)) {
        Some(_) => {
            let (association, paths) = addressed(socket, given, 8)?;
            paths.first().and_then(|path| association.path_options(*path)?.pmtu_discovery)
        }
        None => match established(socket, id) {
            Ok(association) => {
                let first = association.path_stats().first().map(|path| path.path);
                first.and_then(|path| association.path_options(path)?.pmtu_discovery)
            }
            Err(_) if id == FUTURE || socket.is_one_to_one() => {
                socket.state().options.association.pmtu_discovery
            }
            Err(error) => return Err(error),
        },
    };
    // Where nothing is set, paths over networks are probed.
    let probes = discovery.is_none_or(|discovery| discovery == PmtuDiscovery::Probe);
    let interval = if probes { kept.max(MIN_PROBE_INTERVAL_MS) } else { 0 };
    let head = given.0.get(..ALIGNED).unwrap_or_default();
    Ok(Building::new().bytes(head).padded(ALIGNED).u32(interval).padded(144).0)
}
