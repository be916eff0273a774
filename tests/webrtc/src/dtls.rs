//! DTLS over a UDP socket, as the lower layer of an endpoint (RFC 8261).

use std::io;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use dimpl::{Dtls, DtlsCertificate, Output};
use polypath::ChannelLayer;
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep_until;

/// Most bytes of an SCTP packet: what RFC 8261 section 5 advises where nothing is known of the path.
pub const MTU: u16 = 1200;
/// Packets that wait in either direction.
const QUEUE: usize = 256;
/// Room for a datagram.
const BUFFER: usize = 1 << 16;

/// Whether this side begins the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It does (`a=setup:active`).
    Client,
    /// The peer does (`a=setup:passive`).
    Server,
}

/// A DTLS connection that has been established.
#[derive(Debug)]
pub struct Connection {
    /// What carries SCTP packets through it.
    pub layer: ChannelLayer,
    /// Fingerprint of the peer's certificate, for the program to compare with what it knows by other means (`a=fingerprint`).
    pub peer_fingerprint: String,
}

/// Shakes hands with the peer that `socket` is connected to, and serves the connection from then on in a task of its own. That ends
/// when the layer is dropped, or the peer closes the connection.
///
/// # Errors
///
/// If the handshake fails.
pub async fn connect(
    socket: UdpSocket,
    role: Role,
    certificate: DtlsCertificate,
) -> io::Result<Connection> {
    let (to_peer, outgoing) = mpsc::channel(QUEUE);
    let (to_us, incoming) = mpsc::channel(QUEUE);
    let (established, is_established) = oneshot::channel();
    let mut dtls = Dtls::new_12(Arc::new(dimpl::Config::default()), certificate, Instant::now());
    dtls.set_active(role == Role::Client);
    let task =
        Task { socket, dtls, to_us, fingerprint: String::new(), established: Some(established) };
    let task = tokio::spawn(task.run(outgoing));
    match is_established.await {
        Ok(peer_fingerprint) => {
            Ok(Connection { layer: ChannelLayer::new(to_peer, incoming), peer_fingerprint })
        }
        Err(_) => Err(task
            .await
            .unwrap_or_else(|_| Ok(()))
            .err()
            .unwrap_or(io::ErrorKind::ConnectionReset.into())),
    }
}

struct Task {
    socket: UdpSocket,
    dtls: Dtls,
    to_us: mpsc::Sender<Bytes>,
    fingerprint: String,
    established: Option<oneshot::Sender<String>>,
}

impl Task {
    async fn run(mut self, mut outgoing: mpsc::Receiver<Bytes>) -> io::Result<()> {
        let mut datagram = vec![0; BUFFER];
        let mut output = vec![0; BUFFER];
        self.dtls.handle_timeout(Instant::now()).map_err(io::Error::other)?;
        while let Some(due) = self.drain(&mut output)? {
            let is_connected = self.established.is_none();
            tokio::select! {
                received = self.socket.recv(&mut datagram) => match received {
                    Ok(length) => {
                        self.dtls.handle_packet(&datagram[..length]).map_err(io::Error::other)?;
                    }
                    // Nobody is there yet.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                    Err(error) => return Err(error),
                },
                packet = outgoing.recv(), if is_connected => match packet {
                    Some(packet) => {
                        self.dtls.send_application_data(&packet).map_err(io::Error::other)?;
                    }
                    // Nobody sends any more.
                    None => {
                        self.dtls.close().map_err(io::Error::other)?;
                        self.drain(&mut output)?;
                        return Ok(());
                    }
                },
                () = sleep_until(due.into()) => {
                    self.dtls.handle_timeout(Instant::now()).map_err(io::Error::other)?;
                }
            }
        }
        Ok(())
    }

    /// Does what is to be done, and says until when there is time; `None` when the peer has closed the connection.
    fn drain(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<Instant>> {
        loop {
            match self.dtls.poll_output(buffer) {
                // A datagram that cannot be sent is lost.
                Output::Packet(packet) => drop(self.socket.try_send(packet)),
                Output::BufferTooSmall { needed } => buffer.resize(needed, 0),
                Output::Timeout(due) => return Ok(Some(due)),
                Output::PeerCert(der) => {
                    let fingerprint = dimpl::certificate::calculate_fingerprint(der);
                    self.fingerprint = dimpl::certificate::format_fingerprint(&fingerprint);
                }
                Output::Connected => {
                    if let Some(established) = self.established.take() {
                        // Whoever waited may have gone: then the channel of packets is closed, too.
                        let _ = established.send(std::mem::take(&mut self.fingerprint));
                    }
                }
                // A packet for which there is no room is lost, as it would be in a network.
                Output::ApplicationData(packet) => {
                    drop(self.to_us.try_send(Bytes::copy_from_slice(packet)));
                }
                Output::CloseNotify => return Ok(None),
                _ => {}
            }
        }
    }
}
