//! Reports of ICMP about the packets of associations (RFC 9260 section 10).

use std::sync::Arc;

use polypath_proto::PeerAddress;

use super::router::touch;
use super::shard::Shard;
use crate::socket::Meaning;

/// Passes the reports of all sockets to their associations.
pub(super) fn follow(shard: &mut Shard) {
    let Shard { shared, index, sockets, touched, stats, .. } = shard;
    let now = shared.clock.now();
    for (_, socket) in sockets.iter() {
        for report in socket.take_reports() {
            let Some(ports) = report.ports() else { continue };
            let (remote, carried) = (report.remote().ip(), socket.encapsulation(report.remote()));
            let Some(meaning) = report.meaning(carried) else { continue };
            let association = {
                let state = shared.state();
                let peer = PeerAddress { address: remote, encapsulation: carried };
                let id = state.protocol.association_with(ports, peer);
                id.and_then(|id| state.table.get(&id).map(Arc::clone))
            };
            let Some(association) = association else { continue };
            let mut inner = association.lock();
            if !inner.protocol.has_sent(report.packet()) {
                continue;
            }
            let pair = (socket.address(), remote);
            if inner.follow_report(now, pair, carried, meaning, report.packet()) {
                match meaning {
                    Meaning::TooBig { .. } => stats.path_mtu_reports += 1,
                    Meaning::SctpUnreachable => stats.unreachable_reports += 1,
                }
                drop(inner);
                touch(*index, touched, &association);
            }
        }
    }
}
