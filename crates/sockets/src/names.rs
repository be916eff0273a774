//! Names of sockets, by which any process recognises them, and of the service.

use std::path::PathBuf;

use crate::board::Place;
use crate::control::VERSION;

/// What the abstract name of every socket begins with, in front of the [version](VERSION).
const PREFIX: &[u8] = b"polypath-sctp-";

/// Environment variable with the path of the service's own socket.
pub const SERVICE_VARIABLE: &str = "POLYPATH_SOCKETS";

/// Environment variable with the command that starts the service, a word in each line; it ends when the service listens.
pub const START_VARIABLE: &str = "POLYPATH_SOCKETS_START";

/// Environment variable with the settings of the program's sockets, a line each.
pub const SETTINGS_VARIABLE: &str = "POLYPATH_SOCKETS_SETTINGS";

/// How a socket deals with associations (RFC 6458 section 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// One association per socket (`SOCK_STREAM`).
    OneToOne,
    /// Many associations over one socket (`SOCK_SEQPACKET`).
    OneToMany,
    /// One association, which a one-to-many socket had before (`sctp_peeloff`).
    PeeledOff,
}

/// Which socket a descriptor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketName {
    /// Number that the service drew; never 0.
    pub id: u64,
    /// How it deals with associations.
    pub style: Style,
    /// Whether its addresses are those of IPv6.
    pub is_ipv6: bool,
    /// Whether the program that has opened it carries its packets: the service is that process.
    pub is_carried: bool,
    /// Where the service posts what programs may know of it.
    pub place: Place,
}

impl SocketName {
    /// In the abstract name space of `AF_UNIX`, without the zero in front.
    pub fn encoded(self) -> Vec<u8> {
        let mut name = PREFIX.to_vec();
        name.extend_from_slice(format!("{VERSION}-").as_bytes());
        name.push(match self.style {
            Style::OneToOne => b'1',
            Style::OneToMany => b'n',
            Style::PeeledOff => b'p',
        });
        name.push(match (self.is_carried, self.is_ipv6) {
            (true, _) => b'c',
            (false, true) => b'6',
            (false, false) => b'4',
        });
        let Place { board, slot } = self.place;
        name.extend_from_slice(format!("{:016x}{board:016x}{slot:08x}", self.id).as_bytes());
        name
    }

    /// Whether the name is that of a socket of another version of this project.
    pub fn is_of_other_version(name: &[u8]) -> bool {
        name.starts_with(PREFIX) && Self::decode(name).is_none()
    }

    /// Reads a name; `None` if it is not that of a socket of ours.
    pub fn decode(name: &[u8]) -> Option<Self> {
        let rest = name.strip_prefix(PREFIX)?.strip_prefix(format!("{VERSION}-").as_bytes())?;
        let [style, family, numbers @ ..] = rest else { return None };
        let numbers = std::str::from_utf8(numbers).ok().filter(|numbers| numbers.len() == 40)?;
        let number = |digits| u64::from_str_radix(numbers.get(digits)?, 16).ok();
        let id = number(0..16).filter(|id| *id != 0)?;
        let place = Place { board: number(16..32)?, slot: u32::try_from(number(32..40)?).ok()? };
        if place.board == 0 && place.slot != 0 {
            return None;
        }
        let style = match style {
            b'1' => Style::OneToOne,
            b'n' => Style::OneToMany,
            b'p' => Style::PeeledOff,
            _ => return None,
        };
        let is_carried = *family == b'c';
        Some(Self { id, style, is_ipv6: *family == b'6' || is_carried, is_carried, place })
    }
}

/// Where the service of this user listens if nobody says otherwise: a folder that only the user can enter, with a name
/// for each network name space.
pub fn default_service_path(user: u32) -> PathBuf {
    let folder = match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir).join("polypath"),
        None => PathBuf::from(format!("/tmp/polypath-{user}")),
    };
    let space = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let digits = space.to_string_lossy().chars().filter(char::is_ascii_digit).collect::<String>();
    folder.join(format!("sockets-{digits}"))
}

/// Whether a program of the user `own` may use a service that the user `theirs` runs, who could read and change all that the program sends.
/// The superuser may use the service of any user if it `is_named` to it.
pub fn is_trusted(theirs: u32, own: u32, is_named: bool) -> bool {
    theirs == own || theirs == 0 || own == 0 && is_named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_of_another_user_is_not_trusted() {
        for (theirs, own, is_named, trusted) in [
            (1000, 1000, false, true),
            (0, 1000, false, true),
            (1001, 1000, false, false),
            (1001, 1000, true, false),
            (1001, 0, false, false),
            (1001, 0, true, true),
        ] {
            assert_eq!(is_trusted(theirs, own, is_named), trusted, "{theirs}, {own}, {is_named}");
        }
    }

    #[test]
    fn names_are_read_as_they_were_written() {
        for style in [Style::OneToOne, Style::OneToMany, Style::PeeledOff] {
            for is_carried in [false, true] {
                let id = 0xFFFF_0000_1234_5678;
                let place = Place { board: u64::MAX - 1, slot: 0x000F_FFFF };
                let name = SocketName { id, style, is_ipv6: true, is_carried, place };
                assert_eq!(SocketName::decode(&name.encoded()), Some(name));
            }
        }
    }

    #[test]
    fn names_of_others_are_none_of_ours() {
        let [good, no_style, zero] =
            ["140000000000000001", "x40000000000000001", "140000000000000000"]
                .map(|rest| format!("polypath-sctp-{VERSION}-{rest}{:016x}{:08x}", 7, 9));
        let [good, no_style, zero] = [good, no_style, zero].map(String::into_bytes);
        let no_board = format!("polypath-sctp-{VERSION}-140000000000000001{:016x}{:08x}", 0, 9);
        assert_eq!(SocketName::decode(no_board.as_bytes()), None, "a slot of no board");
        assert!(SocketName::decode(&good).is_some() && !SocketName::is_of_other_version(&good));
        for foreign in [&b""[..], b"polypath-sctp-", &no_style, b"dbus", &zero] {
            assert_eq!(SocketName::decode(foreign), None);
        }
        let old = b"polypath-sctp-140000000000000001";
        assert_eq!(SocketName::decode(old), None);
        assert!(SocketName::is_of_other_version(old) && !SocketName::is_of_other_version(b"dbus"));
    }
}
