//! Which ICMP messages are believed (RFC 9260 section 10).

use super::Association;

/// Common header and the first bytes of an INIT up to its initiate tag.
const INIT_TYPE: usize = 12;
const INITIATE_TAG: usize = 16;
/// Chunk type of INIT.
const INIT: u8 = 1;

impl Association {
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
            return tag == self.peer_tag;
        }
        quoted.get(INIT_TYPE) == Some(&INIT)
            && word(quoted, INITIATE_TAG) == Some(self.identity.local_tag)
    }
}

/// Four bytes in network order.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
