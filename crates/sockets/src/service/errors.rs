//! Error numbers of Linux for what can go wrong.

use polypath::{AssociationError, BindError, ConnectError, ConnectRefusal, SendError, SendRefusal};
use rustix::io::Errno;

/// What `connect` fails with.
pub(super) fn of_connect(error: &ConnectError) -> Errno {
    match error {
        ConnectError::Invalid(ConnectRefusal::NoUsablePath) => Errno::NETUNREACH,
        ConnectError::Invalid(ConnectRefusal::AlreadyConnected) => Errno::ADDRNOTAVAIL,
        ConnectError::Invalid(ConnectRefusal::TooManyAssociations) => Errno::NOBUFS,
        ConnectError::NotUnicast(_) | ConnectError::Invalid(_) => Errno::INVAL,
        ConnectError::Carrier => Errno::PROTONOSUPPORT,
        ConnectError::Ended(AssociationError::AbortedByPeer(_)) => Errno::CONNREFUSED,
        ConnectError::Ended(ended) => of_end(ended),
        _ => Errno::NETDOWN,
    }
}

/// What calls on a socket fail with whose association has ended so.
pub(super) fn of_end(error: &AssociationError) -> Errno {
    match error {
        AssociationError::AbortedByPeer(_) | AssociationError::PeerRestarted => Errno::CONNRESET,
        AssociationError::HandshakeRefused(_) | AssociationError::ProtocolUnreachable => {
            Errno::CONNREFUSED
        }
        AssociationError::CannotConnect
        | AssociationError::ShutdownTimeout
        | AssociationError::Unreachable => Errno::TIMEDOUT,
        AssociationError::ChunkTooLarge { .. } => Errno::MSGSIZE,
        AssociationError::ProtocolViolation(_) => Errno::PROTO,
        AssociationError::EndpointClosed => Errno::NETDOWN,
        _ => Errno::CONNABORTED,
    }
}

/// What `bind` fails with.
pub(super) fn of_bind(error: &BindError) -> Errno {
    match error {
        BindError::NotLocal(_) => Errno::ADDRNOTAVAIL,
        BindError::PortInUse(_) | BindError::NoFreePort => Errno::ADDRINUSE,
        _ => Errno::NETDOWN,
    }
}

/// Why a message was not sent.
pub(super) fn of_send(error: &SendError) -> Errno {
    match error {
        SendError::Ended(ended) => of_end(ended),
        SendError::Refused(SendRefusal::Closed) => Errno::PIPE,
        SendError::Refused(SendRefusal::MessageTooLarge { .. }) => Errno::MSGSIZE,
        _ => Errno::INVAL,
    }
}
