//! Addresses that the user gave and that were not used.

use std::fmt;
use std::net::IpAddr;

use polypath::{Association, PathStats, PathStatus};
use serde::Serialize;

use crate::interfaces;

/// The addresses that were given to a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    /// Of the peer.
    pub(crate) to: &'a [IpAddr],
    /// Of this host; empty if the user gave none.
    pub(crate) from: &'a [IpAddr],
    /// The options for the former and the latter.
    pub(crate) options: [&'static str; 2],
}

/// An unused address.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Unused {
    address: IpAddr,
    /// The option that named it.
    option: &'static str,
    reason: &'static str,
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} was not used: {}", self.option, self.address, self.reason)
    }
}

/// Addresses that an association did not use.
pub(crate) fn unused(named: Named<'_>, association: &Association) -> Vec<Unused> {
    let path = |path: PathStats| (path.local, path.remote, path.status);
    judge(named, &association.path_stats().into_iter().map(path).collect::<Vec<_>>())
}

fn judge(named: Named<'_>, paths: &[(IpAddr, IpAddr, PathStatus)]) -> Vec<Unused> {
    let to = named.to.iter().filter_map(|&address| {
        let own = paths.iter().filter(|(_, remote, _)| *remote == address);
        let reason = match last_word(own.map(|path| path.2))? {
            Silence::NoPath => "no path leads there; is it one of the peer's addresses?",
            Silence::NoAnswer => "nothing had come back from there when the association ended",
        };
        Some(Unused { address, option: named.options[0], reason })
    });
    let from = named.from.iter().filter_map(|&address| {
        let own = paths.iter().filter(|(local, _, _)| *local == address);
        let reason = match last_word(own.map(|path| path.2))? {
            Silence::NoPath => "no path begins there; does it reach any of the peer's addresses?",
            Silence::NoAnswer => "nothing had come back to it when the association ended",
        };
        Some(Unused { address, option: named.options[1], reason })
    });
    to.chain(from).collect()
}

/// Why an address was not used.
enum Silence {
    NoPath,
    NoAnswer,
}

/// The reason from the paths of an address; `None` if the peer answered on one of them.
fn last_word(paths: impl Iterator<Item = PathStatus>) -> Option<Silence> {
    let mut silence = Silence::NoPath;
    for status in paths {
        if status != PathStatus::Unconfirmed {
            return None;
        }
        silence = Silence::NoAnswer;
    }
    Some(silence)
}

/// Why a path has carried no user data in either direction, as the end of a sentence; `None` if it has carried some.
fn why_idle(path: &PathStats) -> Option<&'static str> {
    if path.data_bytes_acked > 0 || path.data_bytes_received > 0 {
        return None;
    }
    let is_silent = path.packets_received == 0;
    Some(match path.status {
        PathStatus::Unconfirmed | PathStatus::Inactive if is_silent && is_private(path.remote) => {
            "nothing came back: it is a private address, which hosts outside its network cannot reach"
        }
        _ if is_silent => {
            "nothing came back: an address translator, a firewall or a route may be in the way"
        }
        PathStatus::Active => "the other paths took all there was",
        _ => "it stopped answering before it carried anything",
    })
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

/// A path that carried nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct IdlePath {
    local: IpAddr,
    remote: IpAddr,
    reason: &'static str,
}

impl fmt::Display for IdlePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = interfaces::way(self.local, self.remote);
        write!(f, "{way} carried nothing: {}", self.reason)
    }
}

/// The paths of an association that carried nothing, if another path did.
pub(crate) fn idle_paths(association: &Association) -> Vec<IdlePath> {
    let paths = association.path_stats();
    if paths.iter().all(|path| why_idle(path).is_some()) {
        return Vec::new();
    }
    let idle = paths.iter().filter_map(|path| Some((path, why_idle(path)?)));
    idle.map(|(path, reason)| IdlePath { local: path.local, remote: path.remote, reason }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_without_a_path_that_works_are_named() {
        let [a, b, c, d] = [1, 2, 3, 4].map(|last| IpAddr::from([192, 0, 2, last]));
        let paths = [
            (a, c, PathStatus::Active),
            (b, d, PathStatus::Unconfirmed),
            (b, c, PathStatus::Inactive),
        ];
        let told = |to: &[IpAddr], from: &[IpAddr]| {
            let unused = judge(Named { to, from, options: ["--to", "--from"] }, &paths);
            unused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(told(&[c], &[]), "");
        assert_eq!(told(&[c], &[a, b]), "", "one of its paths worked once");
        assert!(told(&[d], &[]).starts_with("--to 192.0.2.4 was not used: nothing had come back"));
        assert!(told(&[c, a], &[]).starts_with("--to 192.0.2.1 was not used: no path leads there"));
        assert!(told(&[c], &[d]).starts_with("--from 192.0.2.4 was not used: no path begins"));
    }
}
