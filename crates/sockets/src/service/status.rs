//! What sockets, associations and paths there are, as text.

use std::fmt::Write;
use std::net::SocketAddr;

use super::socket::Socket;
use super::{Service, lock};
use crate::abi::{IPPROTO_SCTP, option};
use crate::control::MAX_REPLY_BYTES;
use crate::names::Style;

/// Most bytes of it.
const MAX_TEXT_BYTES: usize = MAX_REPLY_BYTES - 64;

/// A line for each socket, association and path, and for each unsupported option that programs
/// requested.
pub(super) fn text(service: &Service) -> String {
    let mut text = String::new();
    let sockets: Vec<_> = lock(&service.sockets).values().cloned().collect();
    for socket in sockets {
        // Writing to a string does not fail.
        let _ = write_socket(&mut text, &socket);
        if text.len() > MAX_TEXT_BYTES {
            return cut(text);
        }
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

/// The lines for which there is room, and one that says that there are more.
fn cut(mut text: String) -> String {
    // Bytes are searched, since a character may be at the limit.
    let end = text.as_bytes()[..MAX_TEXT_BYTES].iter().rposition(|byte| *byte == b'\n');
    text.truncate(end.map_or(0, |end| end + 1));
    text.push_str("... and more, which are not shown\n");
    text
}

fn write_socket(text: &mut String, socket: &Socket) -> std::fmt::Result {
    let state = socket.state();
    let style = match socket.name.style {
        Style::OneToOne | Style::PeeledOff => "one-to-one",
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
        if text.len() > MAX_TEXT_BYTES {
            break;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_ends_with_a_whole_line_and_says_so() {
        let lines = "a line of text\n".repeat(MAX_TEXT_BYTES / 15 + 10);
        let text = cut(lines);
        assert!(text.len() <= MAX_REPLY_BYTES - 4, "{}", text.len());
        assert!(text.ends_with("a line of text\n... and more, which are not shown\n"));
        assert_eq!(cut("x".repeat(MAX_TEXT_BYTES + 1)), "... and more, which are not shown\n");
    }
}
