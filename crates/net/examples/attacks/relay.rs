//! Somebody on the way between a client and a server: passes on what they send, and what the client sent before again, in another
//! order, from another port, or damaged with a checksum that is right.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::field::Counts;

#[derive(clap::Args)]
pub struct Options {
    /// Address of the relay; clients send to its UDP port 9899.
    #[arg(long)]
    local: IpAddr,
    /// Address of the server.
    #[arg(long)]
    to: IpAddr,
    /// UDP port of the server.
    #[arg(long, default_value_t = 9899)]
    udp: u16,
    /// How long.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Old packets for each one that is passed on.
    #[arg(long, default_value_t = 2)]
    again: u32,
    /// Change a byte in each old packet, and make its checksum right.
    #[arg(long)]
    damage: bool,
    /// Send old packets from another port.
    #[arg(long)]
    elsewhere: bool,
    /// Pass on, and change nothing but the parameters of INIT that authentication is negotiated with, which get lost.
    #[arg(long)]
    strip: bool,
}

/// Packets that the relay remembers.
const REMEMBERED: usize = 5_000;

/// Takes RANDOM, CHUNKS and HMAC-ALGO out of INIT and INIT ACK: makes them unknown parameters that are skipped.
fn strip(packet: &mut [u8]) {
    if !matches!(packet.get(12), Some(1 | 2)) {
        return;
    }
    let mut at = 32;
    while at + 4 <= packet.len() {
        let kind = u16::from_be_bytes([packet[at], packet[at + 1]]);
        let len = usize::from(u16::from_be_bytes([packet[at + 2], packet[at + 3]]));
        if (0x8002..=0x8004).contains(&kind) {
            packet[at..at + 2].copy_from_slice(&0x80FE_u16.to_be_bytes());
        }
        at += len.max(4).next_multiple_of(4);
    }
    polypath_wire::write_checksum(packet);
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let near = UdpSocket::bind((options.local, 9899))?;
    let far = UdpSocket::bind((options.local, 0))?;
    let other = UdpSocket::bind((options.local, 0))?;
    for socket in [&near, &far, &other] {
        socket.set_nonblocking(true)?;
    }
    let server = SocketAddr::new(options.to, options.udp);
    println!("ready");
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let (mut old, mut clients) = (VecDeque::<Vec<u8>>::new(), Vec::<SocketAddr>::new());
    let (mut counts, mut buffer, mut state) =
        (Counts::default(), vec![0; 65_536], 88_172_645_463_325_252_u64);
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    while Instant::now() < until {
        let mut is_idle = true;
        while let Ok((len, from)) = near.recv_from(&mut buffer) {
            is_idle = false;
            if !clients.contains(&from) {
                clients.push(from);
            }
            if options.strip {
                strip(&mut buffer[..len]);
            }
            let _ = far.send_to(&buffer[..len], server);
            old.push_back(buffer[..len].to_vec());
            if old.len() > REMEMBERED {
                old.pop_front();
            }
            for _ in 0..options.again {
                let mut packet = old[random() % old.len()].clone();
                if options.damage && packet.len() > 12 {
                    let at = 12 + random() % (packet.len() - 12);
                    packet[at] ^= 1 << (random() % 8);
                    polypath_wire::write_checksum(&mut packet);
                }
                let by = if options.elsewhere { &other } else { &far };
                if by.send_to(&packet, server).is_ok() {
                    counts.sent_packets += 1;
                    counts.sent_bytes += packet.len() as u64;
                }
            }
        }
        while let Ok((len, _)) = far.recv_from(&mut buffer) {
            is_idle = false;
            if options.strip {
                strip(&mut buffer[..len]);
            }
            // The client that sent last: there is one.
            if let Some(client) = clients.last() {
                let _ = near.send_to(&buffer[..len], *client);
            }
        }
        while let Ok((len, _)) = other.recv_from(&mut buffer) {
            counts.got_packets += 1;
            counts.got_bytes += len as u64;
        }
        if is_idle {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    println!("{counts}");
    Ok(())
}
