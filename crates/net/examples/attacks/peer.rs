//! A peer that does by hand what a stack would do, or not.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use polypath_wire::{
    Checksum, ChecksumPolicy, Chunk, Data, DataFlags, Init, Packet, PacketView, Parameter,
    Parameters, Payload, Raw, chunk_type as t,
};

use crate::field::Field;

/// Extensions that attackers claim to have.
const EXTENSIONS: [u8; 8] = [
    t::RE_CONFIG,
    t::ASCONF,
    t::ASCONF_ACK,
    t::I_DATA,
    t::NR_SACK,
    t::PACKET_DROP,
    t::FORWARD_TSN,
    t::AUTH,
];

/// How long a handshake is waited for.
const PATIENCE: Duration = Duration::from_millis(300);

pub struct Peer {
    pub socket: UdpSocket,
    pub source_port: u16,
    /// The tag that the server wants to see.
    pub tag: u32,
    pub own_tag: u32,
    /// The next TSN.
    pub tsn: u32,
    /// The first TSN of the server, and the last one that came.
    pub first_tsn: u32,
    pub seen_tsn: u32,
    pub cookie: Vec<u8>,
    pub is_dead: bool,
    pub has_answered: bool,
    /// Whether the server takes messages as I-DATA.
    pub interleaves: bool,
    /// Streams that it accepts.
    pub streams: u16,
}

/// A socket at one address of the attackers.
pub fn socket_at(field: &Field, number: usize) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((IpAddr::from(field.address(number)), 0))?;
    socket.set_nonblocking(true)?;
    socket.connect(field.to)?;
    Ok(socket)
}

/// The bytes of a packet.
pub fn packet(ports: [u16; 2], tag: u32, chunks: Vec<Chunk<'_>>) -> Vec<u8> {
    let [source_port, destination_port] = ports;
    let packet =
        Packet { source_port, destination_port, verification_tag: tag, chunks: chunks.into() };
    let mut bytes = Vec::new();
    packet.append_to(&mut bytes, Checksum::Crc32c).expect("a packet that can be encoded");
    bytes
}

pub fn init(tag: u32, window: u32, parameters: Parameters<'_>) -> Chunk<'_> {
    Chunk::Init(Init {
        initiate_tag: tag,
        a_rwnd: window,
        outbound_streams: 2048,
        inbound_streams: 2048,
        initial_tsn: tag,
        parameters,
    })
}

/// Parameters of an INIT of a peer that has everything.
pub fn extended(further: &[IpAddr]) -> Parameters<'static> {
    let extensions = [
        Parameter::SupportedExtensions(&EXTENSIONS),
        Parameter::ForwardTsnSupported,
        Parameter::EcnCapable,
    ];
    Parameters::build(extensions.into_iter().chain(further.iter().map(|it| Parameter::from(*it))))
}

pub fn send_raw(field: &mut Field, socket: &UdpSocket, bytes: &[u8]) {
    // A full socket is the attacker's problem.
    if socket.send(bytes).is_ok() {
        field.counts.sent_packets += 1;
        field.counts.sent_bytes += bytes.len() as u64;
    }
}

impl Peer {
    pub fn new(field: &mut Field, number: usize) -> io::Result<Self> {
        Ok(Self::with(field, socket_at(field, number)?))
    }

    pub fn with(field: &mut Field, socket: UdpSocket) -> Self {
        let own_tag = field.random() | 1;
        Self {
            socket,
            source_port: (field.random() % 60_000 + 1024) as u16,
            tag: 0,
            own_tag,
            tsn: own_tag,
            first_tsn: 0,
            seen_tsn: 0,
            cookie: Vec::new(),
            is_dead: false,
            has_answered: false,
            interleaves: false,
            streams: 1,
        }
    }

    pub fn send(&self, field: &mut Field, chunks: Vec<Chunk<'_>>) {
        self.send_with(field, self.tag, chunks);
    }

    pub fn send_with(&self, field: &mut Field, tag: u32, chunks: Vec<Chunk<'_>>) {
        let bytes = packet([self.source_port, field.port], tag, chunks);
        send_raw(field, &self.socket, &bytes);
    }

    /// Reads what has come, and calls `with` for each chunk; answers what keeps the association alive.
    pub fn read(&mut self, field: &mut Field, mut with: impl FnMut(&Chunk<'_>)) {
        let mut buffer = [0; 65_536];
        while let Ok(len) = self.socket.recv(&mut buffer) {
            field.counts.got_packets += 1;
            field.counts.got_bytes += len as u64;
            let Ok(view) = PacketView::parse(&buffer[..len], ChecksumPolicy::Ignore) else {
                continue;
            };
            let Ok(packet) = view.to_packet() else { continue };
            for chunk in &packet.chunks {
                with(chunk);
                self.note(field, chunk);
            }
        }
    }

    fn note(&mut self, field: &mut Field, chunk: &Chunk<'_>) {
        match chunk {
            Chunk::InitAck(init) => {
                self.tag = init.initiate_tag;
                (self.first_tsn, self.seen_tsn) =
                    (init.initial_tsn, init.initial_tsn.wrapping_sub(1));
                self.streams = init.inbound_streams;
                self.cookie = init.parameters.state_cookie().unwrap_or_default().to_vec();
                self.interleaves = init.parameters.iter().any(
                    |it| matches!(it, Parameter::SupportedExtensions(all) if all.contains(&t::I_DATA)),
                );
            }
            Chunk::CookieAck => self.has_answered = true,
            Chunk::Abort(_) => {
                field.counts.aborted += u64::from(!self.is_dead && self.has_answered);
                self.is_dead = true;
            }
            Chunk::Heartbeat(info) => {
                self.send(field, vec![Chunk::HeartbeatAck(info.clone().into_owned())]);
            }
            Chunk::Data(Data { tsn, .. }) | Chunk::IData(polypath_wire::IData { tsn, .. })
                if (tsn.wrapping_sub(self.seen_tsn) as i32) > 0 =>
            {
                self.seen_tsn = *tsn;
            }
            _ => {}
        }
    }

    fn wait(&mut self, field: &mut Field, is_done: impl Fn(&Self) -> bool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while !is_done(self) && !self.is_dead && Instant::now() < deadline && !field.is_over() {
            self.read(field, |_| ());
            std::thread::sleep(Duration::from_micros(200));
        }
        is_done(self)
    }

    /// Sends an INIT and waits for the cookie.
    pub fn ask(&mut self, field: &mut Field, window: u32, parameters: Parameters<'_>) -> bool {
        self.send_with(field, 0, vec![init(self.own_tag, window, parameters)]);
        self.wait(field, |it| !it.cookie.is_empty())
    }

    /// Establishes the association.
    pub fn establish(
        &mut self,
        field: &mut Field,
        window: u32,
        parameters: Parameters<'_>,
    ) -> bool {
        if self.ask(field, window, parameters) {
            self.echo_cookie(field);
            if self.wait(field, |it| it.has_answered) {
                field.counts.established += 1;
                return true;
            }
        }
        field.counts.refused += 1;
        false
    }

    pub fn echo_cookie(&self, field: &mut Field) {
        self.send(field, vec![Chunk::CookieEcho(Raw::Shared(self.cookie.clone().into()))]);
    }

    /// A chunk with the next TSN, which is part of a message as `flags` say.
    pub fn data(
        &mut self,
        stream: u16,
        number: u32,
        flags: DataFlags,
        bytes: &'static [u8],
    ) -> Chunk<'static> {
        let tsn = self.tsn;
        self.tsn = self.tsn.wrapping_add(1);
        self.data_at(tsn, stream, number, flags, bytes)
    }

    pub fn data_at(
        &self,
        tsn: u32,
        stream: u16,
        number: u32,
        flags: DataFlags,
        bytes: &'static [u8],
    ) -> Chunk<'static> {
        let payload = Payload::Borrowed(bytes);
        if self.interleaves {
            let ppid_or_fsn = if flags.contains(DataFlags::BEGIN) { 0 } else { number };
            return Chunk::IData(polypath_wire::IData {
                flags,
                tsn,
                stream,
                mid: number,
                ppid_or_fsn,
                payload,
            });
        }
        Chunk::Data(Data { flags, tsn, stream, ssn: number as u16, ppid: 0, payload })
    }

    pub fn local(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }
}
