//! Reports about a path without proof that they are the peer's: from the system and ICMP (RFC 9260 section 10) packets too big for
//! it, a pair of addresses that is not served, and that a host does not accept SCTP at an address; and an ABORT that should have been
//! authenticated.

use alloc::vec::Vec;

use super::Association;
use super::handshake::HandshakeStep;
use super::state::{Connected, ConnectedPhase, State};
use crate::paths::Path;
use crate::paths::reach::{Reach, Signal, Transition};
use crate::{AssociationEnd, Cx, Duration, Encapsulation, Instant, PathError, PathId};

/// How long a host may say that it does not take SCTP, and nothing may be heard from it, until it is believed. Programs stand
/// still for seconds (a debugger, a machine that swaps), and a translator that has lost its table learns a new port from the next
/// packet of the host behind it; other paths are taken after the first timeout anyway.
const PATIENCE: Duration = Duration::from_secs(5);
/// Common header and the first bytes of an INIT up to its initiate tag.
const INIT_TYPE: usize = 12;
const INITIATE_TAG: usize = 16;
/// Chunk type of INIT.
const INIT: u8 = 1;

/// What a message quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quoted {
    Init,
    /// A packet with the peer's verification tag.
    Tagged,
}

/// What the association knows of the path that a message is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// INIT is sent.
    CookieWait,
    /// COOKIE ECHO is sent.
    CookieEchoed,
    /// The address was proved to be the peer's.
    Confirmed,
    /// The same, and it may have no room at the moment.
    Busy,
    /// The peer named the address, and nothing proves that it is the peer's.
    Unconfirmed,
    /// The association has ended.
    Closed,
}

/// A message that says that the host at the address of a path does not accept SCTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct View {
    quoted: Quoted,
    standing: Standing,
    /// Data can take another path.
    others_may_work: bool,
}

/// What becomes of the association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum IcmpAction {
    Ignore,
    /// Whether anybody is there is asked soon.
    Ask,
    /// The handshake goes on with another pair of addresses, if there is one.
    TryElsewhere,
    /// The path is inactive.
    LosePath,
    /// It ends as if ABORT had come.
    End,
}

/// ICMP8.
///
/// ```text
/// If the ICMP code is "Unrecognized Next Header Type Encountered" or "Protocol Unreachable", an implementation MUST treat
/// this message as an abort with the T bit set if it does not contain an INIT chunk.  If it does contain an INIT chunk and
/// the association is in the COOKIE-WAIT state, handle the ICMP message like an ABORT chunk.
/// ```
///
/// NOTE(deviation): while another path may work, only this one is lost. Its address may no longer be the peer's, who lives on
/// elsewhere; and behind an address that was never confirmed there may be somebody whom the peer named (RFC 5062 section 2).
///
/// NOTE(deviation): an address translator says the same of the ports that it has forgotten, and Linux of each packet that finds the
/// buffers of the peer's raw sockets full. So it is believed only after [`PATIENCE`]: if the host is gone, retransmissions hear it again, and heartbeats of who has none.
fn judge(view: View) -> IcmpAction {
    match (view.quoted, view.standing, view.others_may_work) {
        (_, Standing::Closed, _) => IcmpAction::Ignore,
        (Quoted::Init, Standing::CookieWait, _) => IcmpAction::TryElsewhere,
        (Quoted::Tagged, Standing::CookieEchoed, _) => IcmpAction::TryElsewhere,
        (Quoted::Init, _, _) | (_, Standing::CookieWait, _) => IcmpAction::Ignore,
        (Quoted::Tagged, Standing::Busy, _) => IcmpAction::Ask,
        (Quoted::Tagged, Standing::Unconfirmed, _) => IcmpAction::LosePath,
        (Quoted::Tagged, Standing::Confirmed, true) => IcmpAction::LosePath,
        (Quoted::Tagged, Standing::Confirmed, false) => IcmpAction::End,
    }
}

impl Association {
    pub(super) fn apply_path_error(&mut self, cx: &mut Cx<'_>, id: PathId, error: PathError) {
        if self.paths.get(id).is_none() {
            return;
        }
        match error {
            PathError::PacketTooBig { mtu_bytes } => self.packet_too_big(cx, id, mtu_bytes),
            PathError::Refused if self.state.is_handshake() => self.handshake_refused(cx.now, id),
            PathError::Refused => {
                self.path_refused(cx, id);
            }
        }
    }

    /// Nothing can be sent on the path. Returns what that changed.
    pub(super) fn path_refused(&mut self, cx: &mut Cx<'_>, id: PathId) -> Transition {
        let transition = self.lose_path(cx, id, Signal::Refused);
        if transition != Transition::None {
            let (transmitter, mut send_cx) = self.sending(cx);
            transmitter.on_path_lost(&mut send_cx, id);
            if self.state.is_connected() {
                self.schedule_heartbeat(cx, id);
            }
        }
        transition
    }

    pub(super) fn apply_protocol_unreachable(
        &mut self,
        cx: &mut Cx<'_>,
        id: PathId,
        carried: Encapsulation,
        quoted: &[u8],
    ) {
        // Another UDP port is one that the peer had before: it has moved on.
        let is_present = self.paths.get(id).is_some_and(|path| path.encapsulation == carried);
        if !is_present || !self.has_sent(quoted) {
            return;
        }
        let quoted = match word(quoted, 4) {
            Some(0) => Quoted::Init,
            _ => Quoted::Tagged,
        };
        self.peer_denied(cx, id, quoted, AssociationEnd::ProtocolUnreachable);
    }

    /// An ABORT that reflects the peer's tag arrived without the authentication that is demanded of ABORT. A peer that was restarted
    /// answers like that, since it has lost the key of the association with everything else (RFC 9260 section 8.4).
    ///
    /// NOTE(deviation): by RFC 4895 section 6.3 the chunk has no effect, and the association lasts until its retransmissions are used
    /// up. Here it is as good as the ICMP message, which nobody can authenticate either: it is believed only after nothing authentic
    /// has been heard over the path for [`PATIENCE`]. Whoever forges it cannot harm a path on which data or heartbeats are acknowledged.
    #[cold]
    pub(super) fn disowned(&mut self, cx: &mut Cx<'_>, id: PathId) {
        // To SHUTDOWN ACK, the answer is SHUTDOWN COMPLETE.
        if self.state.is_connected()
            && !matches!(self.state.phase(), Some(ConnectedPhase::ShutdownAckSent(_)))
        {
            let end = AssociationEnd::AbortedByPeer(Vec::new());
            self.peer_denied(cx, id, Quoted::Tagged, end);
        }
    }

    /// Somebody at the peer's address says that the peer does not have this association.
    fn peer_denied(&mut self, cx: &mut Cx<'_>, id: PathId, quoted: Quoted, end: AssociationEnd) {
        // One that was not confirmed yet may well work: its own messages will tell.
        let may_work = |other: &Path| !matches!(other.reach(), Reach::Inactive(_));
        let others_may_work = self.paths.iter().any(|other| other.id != id && may_work(other));
        let standing = self.standing(cx.now, id);
        match judge(View { quoted, standing, others_may_work }) {
            IcmpAction::Ignore => {}
            IcmpAction::Ask => self.ask_soon(cx.now, id),
            IcmpAction::TryElsewhere if self.has_handshake_path_besides(id) => {
                self.handshake_refused(cx.now, id);
            }
            IcmpAction::LosePath => {
                if self.path_refused(cx, id) != Transition::None {
                    // The peer may be gone altogether.
                    self.paths.ids().for_each(|other| self.ask_soon(cx.now, other));
                }
            }
            IcmpAction::TryElsewhere | IcmpAction::End => self.end(cx, end),
        }
    }

    fn standing(&mut self, now: Instant, id: PathId) -> Standing {
        let path = &mut self.paths[id];
        match &self.state {
            State::Closed(_) => Standing::Closed,
            State::Handshake(handshake) => match handshake.step {
                HandshakeStep::CookieWait => Standing::CookieWait,
                HandshakeStep::CookieEchoed(_) => Standing::CookieEchoed,
            },
            // All that the peer has left to do is to go.
            State::Connected(Connected { phase: ConnectedPhase::ShutdownAckSent(_), .. }) => {
                Standing::Confirmed
            }
            _ if now < *path.denied_since.get_or_insert(now) + PATIENCE => Standing::Busy,
            _ if !path.reach().is_confirmed() => Standing::Unconfirmed,
            _ => Standing::Confirmed,
        }
    }

    /// Whether this association has sent the packet that an ICMP message quotes the beginning of. Whoever cannot see its
    /// packets does not know their verification tag, so that only those on the way can tell of paths.
    ///
    /// ```text
    /// ICMP6) An implementation MUST validate that the Verification Tag contained in the ICMP message matches
    /// ```
    pub fn has_sent(&self, quoted: &[u8]) -> bool {
        let (Some(ports), Some(tag)) = (word(quoted, 0), word(quoted, 4)) else { return false };
        let own = u32::from(self.identity.local_port) << 16 | u32::from(self.identity.remote_port);
        if ports != own {
            return false;
        }
        if tag != 0 {
            return self.state.peer_tag() == Some(tag);
        }
        quoted.get(INIT_TYPE) == Some(&INIT)
            && word(quoted, INITIATE_TAG) == Some(self.identity.local_tag)
    }
}

/// Four bytes in network order.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_sctp_there() {
        use Quoted::{Init, Tagged};
        use Standing::{Busy, Closed, Confirmed, CookieEchoed, CookieWait, Unconfirmed};
        for (quoted, standing, alone, with_others) in [
            (Init, CookieWait, IcmpAction::TryElsewhere, IcmpAction::TryElsewhere),
            (Tagged, CookieEchoed, IcmpAction::TryElsewhere, IcmpAction::TryElsewhere),
            (Tagged, Confirmed, IcmpAction::End, IcmpAction::LosePath),
            (Tagged, Unconfirmed, IcmpAction::LosePath, IcmpAction::LosePath),
            (Tagged, Busy, IcmpAction::Ask, IcmpAction::Ask),
            (Init, Busy, IcmpAction::Ignore, IcmpAction::Ignore),
            // The message is about a packet of long ago, or forged.
            (Tagged, CookieWait, IcmpAction::Ignore, IcmpAction::Ignore),
            (Init, CookieEchoed, IcmpAction::Ignore, IcmpAction::Ignore),
            (Init, Confirmed, IcmpAction::Ignore, IcmpAction::Ignore),
            (Init, Unconfirmed, IcmpAction::Ignore, IcmpAction::Ignore),
            (Init, Closed, IcmpAction::Ignore, IcmpAction::Ignore),
            (Tagged, Closed, IcmpAction::Ignore, IcmpAction::Ignore),
        ] {
            for (others_may_work, verdict) in [(false, alone), (true, with_others)] {
                let view = View { quoted, standing, others_may_work };
                assert_eq!(judge(view), verdict, "{view:?}");
            }
        }
    }
}
