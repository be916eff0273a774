//! Address join: a peer may use addresses that INIT did not list, if it proves its identity from there.
//!
//! A host behind an address translator does not know the addresses that its peer sees, and a host whose address changes cannot
//! use the old one to say so. ADD IP with a wildcard address (RFC 5061 section 4.2.1) serves that purpose, and needs AUTH
//! (RFC 4895); this mechanism does not. Both sides list the parameter [`SUPPORTED`] in INIT and INIT ACK. Each then gives the other, over a path that the
//! handshake has confirmed, a secret: the *invitation*, a parameter in its HEARTBEATs until one of them is answered. From then on the
//! other side's HEARTBEATs carry a *proof*: the number of the path at their sender, a number that grows with each, and a code over both,
//! keyed with the secret. The receiver thus recognises a HEARTBEAT of the peer from any address, and the path that it belongs to.
//!
//! The type of the first parameter is one that a receiver without the extension skips silently (RFC 9260 section 3.2.1). The others
//! are part of the Heartbeat Info, behind the sender's own data, since a HEARTBEAT has only this parameter. An attacker who saw
//! the invitation can forge proofs; one who sees only later packets, and thus the verification tag, cannot.
//!
//! | parameter | value |
//! | --- | --- |
//! | `0xA9E0`, in INIT and INIT ACK | none |
//! | `0xA9E1`, in Heartbeat Info from byte 12 on | 32 bytes: the secret |
//! | `0xA9E2`, in Heartbeat Info from byte 12 on | 1 byte: path; 3 bytes: 0; 4 bytes: number; 16 bytes: code |

use alloc::vec::Vec;

use polypath_wire::{Parameter, Parameters};
use rand_core::Rng;
use smallvec::SmallVec;

/// Parameter of INIT and INIT ACK that announces support.
pub(crate) const SUPPORTED: u16 = 0xA9E0;
const INVITATION: u16 = 0xA9E1;
const PROOF: u16 = 0xA9E2;

/// Offset of invitation and proof in a Heartbeat Info, and thus the maximum size of the sender's own data before them.
pub(crate) const BEGIN: usize = 12;

const SECRET_LEN: usize = 32;
const CODE_LEN: usize = 16;
const PROOF_LEN: usize = 8 + CODE_LEN;
/// Maximum number of paths of a peer.
const MOST_PATHS: u8 = 32;

/// The value of a proof.
pub(crate) type JoinProof = [u8; PROOF_LEN];

type JoinSecret = [u8; SECRET_LEN];

/// Both secrets of an association, and the state of their proofs.
pub(crate) struct JoinSecrets {
    /// The secret of this side's invitation.
    own: JoinSecret,
    /// Whether the peer has received the invitation.
    is_taken: bool,
    /// The secret of the peer's invitation.
    peers: Option<JoinSecret>,
    next_number: u32,
    /// The highest number of a proof for each path of the peer.
    seen: SmallVec<[(u8, u32); 2]>,
}

impl core::fmt::Debug for JoinSecrets {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("JoinSecrets").field("is_taken", &self.is_taken).finish_non_exhaustive()
    }
}

impl JoinSecrets {
    /// Starts an association, or restarts it.
    pub(crate) fn new(rng: &mut dyn Rng) -> Self {
        let mut own = [0; SECRET_LEN];
        rng.fill_bytes(&mut own);
        Self { own, is_taken: false, peers: None, next_number: 1, seen: SmallVec::new() }
    }

    /// The invitation for a HEARTBEAT, until the peer has received it.
    pub(crate) fn invitation(&self) -> Option<&[u8]> {
        (!self.is_taken).then_some(&self.own)
    }

    /// A Heartbeat Info that begins with `own`, followed by an invitation and a proof, if given.
    pub(crate) fn heartbeat_info(
        own: &[u8],
        invitation: Option<&[u8]>,
        proof: Option<&JoinProof>,
    ) -> Vec<u8> {
        let mut info = own.to_vec();
        if invitation.is_none() && proof.is_none() {
            return info;
        }
        info.resize(BEGIN, 0);
        let parameter = |parameter_type, value| Parameter::Unknown { parameter_type, value };
        let inner = Parameters::build(
            invitation
                .map(|secret| parameter(INVITATION, secret))
                .into_iter()
                .chain(proof.map(|proof| parameter(PROOF, &proof[..]))),
        );
        info.extend_from_slice(inner.as_slice());
        info
    }

    /// Processes a HEARTBEAT ACK, which repeats the Heartbeat Info.
    pub(crate) fn on_heartbeat_ack(&mut self, parameters: &Parameters<'_>) {
        self.is_taken |= value_of(parameters, INVITATION) == Some(&self.own[..]);
    }

    /// Processes a HEARTBEAT over a confirmed path. Returns whether it contained the invitation; only the first one counts.
    pub(crate) fn accept_invitation(&mut self, parameters: &Parameters<'_>) -> bool {
        if self.peers.is_some() {
            return false;
        }
        let secret = value_of(parameters, INVITATION);
        self.peers = secret.and_then(|secret| JoinSecret::try_from(secret).ok());
        self.peers.is_some()
    }

    /// A proof for a HEARTBEAT on a path of this side, in packets with this verification tag; `None` without an invitation.
    pub(crate) fn prove(&mut self, path: u8, tag: u32) -> Option<JoinProof> {
        let secret = self.peers.as_ref()?;
        let number = self.next_number;
        self.next_number = number.checked_add(1)?;
        let mut proof = [0; PROOF_LEN];
        proof[0] = path;
        proof[4..8].copy_from_slice(&number.to_be_bytes());
        proof[8..].copy_from_slice(&code(secret, path, number, tag));
        Some(proof)
    }

    /// Whether a HEARTBEAT in a packet with this verification tag is the peer's. Returns the peer's number of the path. Each proof
    /// counts once, and none that is older than one for the same path.
    pub(crate) fn check(&mut self, parameters: &Parameters<'_>, tag: u32) -> Option<u8> {
        let proof = JoinProof::try_from(value_of(parameters, PROOF)?).ok()?;
        let path = proof[0];
        let number = u32::from_be_bytes(*proof[4..].first_chunk()?);
        let is_right = equal(&code(&self.own, path, number, tag), proof[8..].first_chunk()?);
        if path >= MOST_PATHS || !is_right {
            return None;
        }
        match self.seen.iter_mut().find(|(known, _)| *known == path) {
            Some((_, seen)) if *seen >= number => return None,
            Some((_, seen)) => *seen = number,
            None => self.seen.push((path, number)),
        }
        // A valid proof shows that the peer has the secret.
        self.is_taken = true;
        Some(path)
    }
}

fn value_of<'a>(heartbeat: &'a Parameters<'_>, wanted: u16) -> Option<&'a [u8]> {
    let inner = heartbeat.heartbeat_info()?.get(BEGIN..)?;
    // Borrowed, so that the result outlives the list.
    ParameterList::new(inner).find(|(parameter_type, _)| *parameter_type == wanted).map(|it| it.1)
}

/// Types and values of consecutive parameters, up to the first malformed one.
struct ParameterList<'a>(&'a [u8]);

impl<'a> ParameterList<'a> {
    fn new(list: &'a [u8]) -> Self {
        Self(list)
    }
}

impl<'a> Iterator for ParameterList<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let &[t0, t1, l0, l1] = self.0.first_chunk()?;
        let len = usize::from(u16::from_be_bytes([l0, l1]));
        let value = self.0.get(4..len)?;
        self.0 = self.0.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_be_bytes([t0, t1]), value))
    }
}

fn code(secret: &JoinSecret, path: u8, number: u32, tag: u32) -> [u8; CODE_LEN] {
    let mut hasher = blake3::Hasher::new_keyed(secret);
    hasher.update(b"polypath address join");
    hasher.update(&[path]);
    hasher.update(&number.to_be_bytes());
    hasher.update(&tag.to_be_bytes());
    let mut code = [0; CODE_LEN];
    code.copy_from_slice(&hasher.finalize().as_bytes()[..CODE_LEN]);
    code
}

/// Compares in constant time.
fn equal(a: &[u8; CODE_LEN], b: &[u8; CODE_LEN]) -> bool {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b));
    core::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const TAG: u32 = 4711;

    fn heartbeat(invitation: Option<&[u8]>, proof: Option<&JoinProof>) -> Parameters<'static> {
        let info = JoinSecrets::heartbeat_info(b"own", invitation, proof);
        Parameters::build([Parameter::HeartbeatInfo(&info)])
    }

    /// Two sides of which the second has the invitation of the first.
    fn invited() -> (JoinSecrets, JoinSecrets) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let [mut host, mut guest] = [(); 2].map(|()| JoinSecrets::new(&mut rng));
        let invitation = heartbeat(host.invitation(), None);
        assert!(guest.prove(0, TAG).is_none());
        assert!(guest.accept_invitation(&invitation));
        assert!(!guest.accept_invitation(&invitation), "the first one counts");
        host.on_heartbeat_ack(&invitation);
        assert_eq!(host.invitation(), None);
        (host, guest)
    }

    #[test]
    fn a_guest_proves_who_it_is_once_per_number() {
        let (mut host, mut guest) = invited();
        let proofs: Vec<_> = [1, 2, 1].map(|path| guest.prove(path, TAG).unwrap()).to_vec();
        let mut check = |at: usize| host.check(&heartbeat(None, Some(&proofs[at])), TAG);
        // Proofs of different paths may arrive out of order.
        assert_eq!([check(1), check(2), check(0), check(2)], [Some(2), Some(1), None, None]);
    }

    #[test]
    fn nothing_else_proves_anything() {
        let (mut host, mut guest) = invited();
        let proof = guest.prove(3, TAG).unwrap();
        for bit in 0..8 * PROOF_LEN {
            let mut forged = proof;
            forged[bit / 8] ^= 1 << (bit % 8);
            let is_reserved = (8..32).contains(&bit);
            let parameters = heartbeat(None, Some(&forged));
            if !is_reserved {
                assert_eq!(host.check(&parameters, TAG), None, "{bit}");
            }
        }
        let parameters = heartbeat(None, Some(&proof));
        assert_eq!(host.check(&parameters, TAG + 1), None, "the proof of another association");
        assert_eq!(guest.check(&parameters, TAG), None, "one's own");
        let whole = JoinSecrets::heartbeat_info(b"own", None, Some(&proof));
        for len in 0..whole.len() {
            let cut = Parameters::build([Parameter::HeartbeatInfo(&whole[..len])]);
            assert_eq!(host.check(&cut, TAG), None, "{len}");
        }
        assert_eq!(host.check(&parameters, TAG), Some(3));
        let too_high = guest.prove(MOST_PATHS, TAG).unwrap();
        assert_eq!(host.check(&heartbeat(None, Some(&too_high)), TAG), None);
    }
}
