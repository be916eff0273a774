//! Checks of sockets.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use polypath::{BindError, Carriers, ENCAPSULATION_PORT, Endpoint, SocketAbilities};

use super::loopback::with_runtime;
use super::{Check, Finding};

pub(super) fn examine_udp_port() -> Finding {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, ENCAPSULATION_PORT));
    judge_udp_port(socket.map(drop))
}

fn judge_udp_port(bound: io::Result<()>) -> Finding {
    let (check, port) = (Check::UdpPort, ENCAPSULATION_PORT);
    match bound {
        Ok(()) => Finding::ok(check, format!("UDP port {port} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Finding::warn(
            check,
            format!("another program has UDP port {port}"),
            "receive with --encapsulation-port and another number, and send with the same",
        ),
        Err(error) => Finding::warn(
            check,
            format!("UDP port {port} cannot be bound: {error}"),
            "find out what denies it to this user",
        ),
    }
}

pub(super) fn examine_offload() -> Finding {
    judge(Check::Offload, judge_offload)
}

pub(super) fn examine_buffers() -> Finding {
    judge(Check::Buffers, judge_buffers)
}

pub(super) fn examine_kernel() -> Finding {
    judge(Check::KernelSctp, judge_kernel)
}

fn judge(check: Check, by: impl FnOnce(&SocketAbilities) -> Finding) -> Finding {
    match SocketAbilities::probe() {
        Ok(abilities) => by(&abilities),
        Err(error) => Finding::warn(
            check,
            format!("no UDP socket can be had: {error}"),
            "find out what denies it to this user",
        ),
    }
}

fn judge_offload(abilities: &SocketAbilities) -> Finding {
    let (sent, received) = (abilities.segments_sent, abilities.segments_received);
    let missing = match (sent > 1, received > 1) {
        (true, true) => {
            let found = format!(
                "one system call sends up to {sent} UDP packets and receives up to {received}"
            );
            return Finding::ok(Check::Offload, found);
        }
        (false, true) => "segmentation offload (GSO)",
        (true, false) => "receive offload (GRO)",
        (false, false) => "segmentation and receive offload (GSO, GRO)",
    };
    Finding::warn(
        Check::Offload,
        format!("UDP has no {missing}: fast links cost more processor time"),
        "use Linux 5.0 or later",
    )
}

fn judge_buffers(abilities: &SocketAbilities) -> Finding {
    let wanted = abilities.buffer_bytes_wanted;
    let (sending, receiving) = (abilities.send_buffer_bytes, abilities.receive_buffer_bytes);
    let found = format!("sockets get {receiving} bytes for receiving and {sending} for sending");
    if sending >= wanted && receiving >= wanted {
        return Finding::ok(Check::Buffers, found);
    }
    Finding::warn(
        Check::Buffers,
        format!("{found}, of {wanted} wanted: fast links may lose packets here"),
        format!("sysctl -w net.core.rmem_max={wanted} net.core.wmem_max={wanted}"),
    )
}

fn judge_kernel(abilities: &SocketAbilities) -> Finding {
    if abilities.kernel_sctp {
        return Finding::warn(
            Check::KernelSctp,
            "the kernel's own SCTP is loaded: it aborts associations over IP",
            "modprobe -r sctp, or use UDP",
        );
    }
    Finding::ok(Check::KernelSctp, "the kernel's own SCTP is not loaded")
}

/// Opens a socket as `--raw` does: a check of capabilities alone would miss other obstacles.
pub(super) fn examine_raw() -> Finding {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let bound = with_runtime(async {
        Endpoint::builder([address]).carriers(Carriers::RawIp).bind().map(drop)
    });
    match bound {
        Ok(Ok(())) => Finding::ok(Check::Raw, "raw sockets can be opened"),
        // That case has a check of its own.
        Ok(Err(BindError::KernelSctp)) => Finding::warn(
            Check::Raw,
            "not tried, since the kernel's own SCTP is in the way",
            "see kernel-sctp",
        ),
        Ok(Err(_)) => Finding::warn(
            Check::Raw,
            "raw sockets cannot be opened: no SCTP over IP (--raw)",
            "run as root, give the capability to the program (setcap cap_net_raw+ep polypath), or use UDP",
        ),
        Err(error) => Finding::warn(Check::Raw, format!("not tried: {error}"), "see loopback"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    fn abilities() -> SocketAbilities {
        let mut abilities = SocketAbilities::probe().unwrap();
        abilities.segments_sent = 64;
        abilities.segments_received = 64;
        abilities.send_buffer_bytes = abilities.buffer_bytes_wanted;
        abilities.receive_buffer_bytes = abilities.buffer_bytes_wanted;
        abilities.kernel_sctp = false;
        abilities
    }

    #[test]
    fn a_port_is_free_or_taken_or_forbidden() {
        assert_eq!(judge_udp_port(Ok(())).verdict, Verdict::Ok);
        let taken = judge_udp_port(Err(ErrorKind::AddrInUse.into()));
        assert_eq!(taken.verdict, Verdict::Warn);
        assert!(taken.remedy.is_some_and(|remedy| remedy.contains("--encapsulation-port")));
        let forbidden = judge_udp_port(Err(ErrorKind::PermissionDenied.into()));
        assert!(forbidden.found.contains("denied"), "{forbidden:?}");
    }

    #[test]
    fn offload_needs_both_directions() {
        assert_eq!(judge_offload(&abilities()).verdict, Verdict::Ok);
        for (sent, received, says) in [(1, 64, "(GSO)"), (64, 1, "(GRO)"), (1, 1, "(GSO, GRO)")] {
            let mut abilities = abilities();
            (abilities.segments_sent, abilities.segments_received) = (sent, received);
            let finding = judge_offload(&abilities);
            assert_eq!(finding.verdict, Verdict::Warn);
            assert!(finding.found.contains(says), "{finding:?}");
        }
    }

    #[test]
    fn buffers_are_compared_with_what_was_asked_for() {
        assert_eq!(judge_buffers(&abilities()).verdict, Verdict::Ok);
        let mut small = abilities();
        small.receive_buffer_bytes = 212_992;
        let finding = judge_buffers(&small);
        assert_eq!(finding.verdict, Verdict::Warn);
        assert!(finding.found.contains("212992"), "{finding:?}");
        assert!(finding.remedy.is_some_and(|remedy| remedy.contains("net.core.rmem_max=8388608")));
    }

    #[test]
    fn the_kernels_own_sctp_is_in_the_way() {
        assert_eq!(judge_kernel(&abilities()).verdict, Verdict::Ok);
        let mut loaded = abilities();
        loaded.kernel_sctp = true;
        assert_eq!(judge_kernel(&loaded).verdict, Verdict::Warn);
    }
}
