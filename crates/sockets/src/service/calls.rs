//! Calls of programs that need an answer.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use tokio::time::timeout;

use super::options::{self, Options};
use super::socket::{Socket, Theirs};
use super::{Service, status};
use crate::address;
use crate::control::{Abort, Operation, Reply, Request};
use crate::init::InitMessage;
use crate::layout::Fields;
use crate::names::Style;

/// How long a program waits for the port of a socket that it has closed.
const LEAVING_LIMIT: Duration = Duration::from_secs(1);

/// What a call gives, and a descriptor for the program.
pub(super) type Answer = (Reply, Option<Theirs>);

/// Answers a call of a process, with which a descriptor may have come.
pub(super) async fn answer(
    service: &Arc<Service>,
    process: i32,
    (request, passed): (&Request, Option<OwnedFd>),
) -> Answer {
    match attempt(service, process, (request, passed)).await {
        Ok(answer) => answer,
        Err(errno) => (Reply::value(-errno.raw_os_error()), None),
    }
}

async fn attempt(
    service: &Arc<Service>,
    process: i32,
    (request, passed): (&Request, Option<OwnedFd>),
) -> Result<Answer, Errno> {
    match request.operation {
        Operation::Open => return open(service, process, request),
        Operation::Status => {
            let text = status::text(service);
            return Ok((Reply { value: 0, bytes: text.into_bytes() }, None));
        }
        Operation::Board => {
            // Only for one of this service.
            service.socket(request.socket).ok_or(Errno::NOTCONN)?;
            let descriptor = service.board.descriptor().ok_or(Errno::NOPROTOOPT)?;
            return Ok((Reply::value(0), Some(descriptor.into())));
        }
        _ => {}
    }
    let socket = service.socket(request.socket).ok_or(Errno::NOTCONN)?;
    let done = Reply::value(0);
    Ok(match request.operation {
        Operation::Bind => {
            let addresses = listed(&request.bytes)?;
            match request.first {
                0 => once_free(service, &addresses, || socket.bind(&addresses)).await?,
                1 => once_free(service, &addresses, || socket.bind_more(&addresses)).await?,
                2 => socket.bind_fewer(&addresses)?,
                _ => return Err(Errno::INVAL),
            }
            (done, None)
        }
        Operation::Listen => {
            socket.listen(request.first)?;
            (done, None)
        }
        Operation::Connect => {
            let fields = Fields(&request.bytes);
            let init = InitMessage::read(fields, 0).ok_or(Errno::INVAL)?;
            let peer = listed(fields.rest(InitMessage::BYTES))?;
            let id = socket.connect(&peer, init)?;
            if request.second != 0 {
                socket.connected().await?;
            }
            (Reply::value(id), None)
        }
        Operation::GetOption => {
            let bytes = options::get(&socket, request.first, request.second, &request.bytes)?;
            (Reply { value: 0, bytes }, None)
        }
        Operation::SetOption => {
            options::set(&socket, request.first, request.second, &request.bytes)?;
            (Reply::value(socket.state().options.wanted().into()), None)
        }
        Operation::LocalName => (Reply { value: 0, bytes: local_name(&socket) }, None),
        Operation::PeerName => (Reply { value: 0, bytes: peer_name(&socket)? }, None),
        Operation::PeelOff => {
            let fd = socket.peel_off(request.first, passed.as_ref())?;
            (done, Some(fd.into()))
        }
        Operation::CheckKey => {
            let peer = address::read(&request.bytes).map(|(peer, _)| peer);
            options::check_key(&socket, request.first, peer, request.second)?;
            (done, None)
        }
        Operation::Abort => {
            let abort = Abort::decode(&request.bytes).ok_or(Errno::INVAL)?;
            socket.abort((request.first, request.second != 0), abort).await?;
            (done, None)
        }
        Operation::Settle => {
            socket.wait_for_settlement().await;
            (done, None)
        }
        Operation::Shutdown => {
            socket.shut_behind(request.first.cast_unsigned());
            (done, None)
        }
        Operation::Outlook => {
            if request.second == 0 {
                socket.wait_for_farewells().await;
            }
            (Reply::value(socket.outlook(request.first != 0, request.second)), None)
        }
        Operation::CheckSize => {
            let peer = address::read(&request.bytes).map(|(peer, _)| peer);
            options::check_size(&socket, request.first, peer, request.second)?;
            (done, None)
        }
        Operation::IsListening => (Reply::value(socket.is_listening().into()), None),
        Operation::Open | Operation::Status | Operation::Board => return Err(Errno::INVAL),
    })
}

/// Binds. Where the port is that of a socket which its program has closed just now, as soon as the service has given it back: for the
/// program it is free.
async fn once_free(
    service: &Service,
    addresses: &[SocketAddr],
    bind: impl Fn() -> Result<(), Errno>,
) -> Result<(), Errno> {
    let port = addresses.first().map_or(0, SocketAddr::port);
    let freed = async {
        loop {
            let is_free = service.port_is_free.notified();
            match bind() {
                // The socket may have to send first what waits.
                Err(Errno::ADDRINUSE) if !service.has_port_in_use(port) => is_free.await,
                done => return done,
            }
        }
    };
    timeout(LEAVING_LIMIT, freed).await.unwrap_or(Err(Errno::ADDRINUSE))
}

fn open(service: &Arc<Service>, process: i32, request: &Request) -> Result<Answer, Errno> {
    let text = std::str::from_utf8(&request.bytes).map_err(|_| Errno::INVAL)?;
    let settings = match (service.read_settings)(text) {
        Ok(settings) => settings,
        Err(reason) => {
            let reply = Reply { value: -Errno::INVAL.raw_os_error(), bytes: reason.into_bytes() };
            return Ok((reply, None));
        }
    };
    let style = if request.second == 1 { Style::OneToMany } else { Style::OneToOne };
    let options = Options::new(settings);
    let (socket, fd) = Socket::open(service, (style, request.first == 6), process, options)?;
    Ok((Reply::value(0), Some(Theirs::of(&socket, fd))))
}

fn listed(packed: &[u8]) -> Result<Vec<SocketAddr>, Errno> {
    address::read_all(packed).filter(|all| !all.is_empty()).ok_or(Errno::INVAL)
}

/// The address that it is bound to; a wildcard if these are all.
fn local_name(socket: &Arc<Socket>) -> Vec<u8> {
    let state = socket.state();
    let name = state.names().map_or_else(
        || {
            let bound = state.bound_addresses().first().copied();
            let ip = bound.unwrap_or_else(|| address::wildcard(socket.name.is_ipv6));
            SocketAddr::new(ip, Socket::local_port(&state))
        },
        |[local, _]| local,
    );
    address::written(name, socket.name.is_ipv6)
}

fn peer_name(socket: &Arc<Socket>) -> Result<Vec<u8>, Errno> {
    let [_, peer] = socket.state().names().ok_or(Errno::NOTCONN)?;
    Ok(address::written(peer, socket.name.is_ipv6))
}
