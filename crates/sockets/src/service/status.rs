//! What sockets, associations and paths there are, as text.

use std::fmt::Write;
use std::net::SocketAddr;

use super::socket::Socket;
use super::{Service, lock};
use crate::abi::{IPPROTO_SCTP, option};
use crate::names::Style;

/// A line for each socket, association and path, and for each unsupported option that programs
/// requested.
pub(super) fn text(service: &Service) -> String {
    let mut text = String::new();
    let sockets: Vec<_> = lock(&service.sockets).values().cloned().collect();
    for socket in sockets {
        // Writing to a string does not fail.
        let _ = write_socket(&mut text, &socket);
    }
    for ((level, number), count) in &*lock(&service.refused_options) {
        let known = option::ALL.iter().find(|(one, _)| one == number);
        let _ = match known.filter(|_| *level == IPPROTO_SCTP) {
            Some((_, name)) => writeln!(text, "unsupported option SCTP_{name}: {count} times"),
            None => writeln!(text, "unsupported option {number} of level {level}: {count} times"),
        };
    }
    text
}

fn write_socket(text: &mut String, socket: &Socket) -> std::fmt::Result {
    let state = socket.state();
    let style = match socket.name.style {
        Style::OneToOne => "one-to-one",
        Style::OneToMany => "one-to-many",
    };
    let condition = match (socket.is_listening_now(&state), state.links().next().is_some()) {
        (true, _) => "LISTEN",
        (false, true) => "ESTAB",
        (false, false) => "CLOSED",
    };
    let addresses: Vec<_> =
        socket.local_addresses(&state).iter().map(ToString::to_string).collect();
    let port = Socket::local_port(&state);
    writeln!(
        text,
        "{condition} {style} process {} port {port} at {}",
        socket.process,
        addresses.join(", ")
    )?;
    for link in state.links() {
        let Some(association) = link.association() else {
            writeln!(text, "  association {}: being set up", link.id)?;
            continue;
        };
        let stats = association.stats();
        writeln!(
            text,
            "  association {}: {:?}, {} messages sent, {} received, send buffer {} B, receive buffer {} B",
            link.id,
            association.state(),
            stats.messages_sent,
            stats.messages_received,
            stats.send_buffer_bytes,
            stats.receive_buffer_bytes,
        )?;
        for path in association.path_stats() {
            let peer = SocketAddr::new(path.remote, association.remote_port());
            let rtt = path.srtt.map_or_else(
                || "-".to_owned(),
                |srtt| format!("{:.1} ms", srtt.as_nanos() as f64 / 1e6),
            );
            writeln!(
                text,
                "    {} {} -> {peer}: {}, cwnd {} B, rtt {rtt}, mtu {} B, sent {} B, received {} B, retransmitted {}",
                path.path,
                path.local,
                path.status.name(),
                path.cwnd_bytes,
                path.mtu_bytes,
                path.data_bytes_sent,
                path.data_bytes_received,
                path.fast_retransmissions + path.timeout_retransmissions,
            )?;
        }
    }
    Ok(())
}
