//! The receiver's part: marks are echoed until the sender has answered (draft-stewart-tsvwg-sctpecn-05 section 5.3).

use alloc::vec::Vec;

use polypath_wire::{Cwr, Ecne};

use crate::types::{PathSet, Vacant};
use crate::{PathId, Tsn};

/// The echoes that wait for CWR, at most one per path. Each acknowledgement carries all of them in front of it.
#[derive(Debug)]
pub(crate) struct Echoes {
    waiting: Vec<Echo>,
    /// Paths over which something ECN-capable has arrived.
    capable: PathSet,
}

/// Marks of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Echo {
    path: PathId,
    /// The lowest TSN of the last packet that was marked.
    tsn: Tsn,
    /// Packets marked since the last CWR.
    packets: u32,
}

impl Echoes {
    /// No marks.
    pub(crate) const fn new() -> Self {
        Self { waiting: Vec::new(), capable: PathSet::EMPTY }
    }

    /// Notes an ECN-capable packet, marked or not.
    pub(crate) fn on_capable(&mut self, path: PathId) {
        self.capable.insert(path);
    }

    /// Whether something ECN-capable has arrived over a path.
    pub(crate) fn has_seen_capable(&self, path: PathId) -> bool {
        self.capable.contains(path)
    }

    /// A path leads over another network from now on.
    pub(crate) fn forget_capable(&mut self, path: PathId) {
        self.capable = self.capable.without(PathSet::of(path));
    }

    /// Notes a marked packet on `path`; `tsn` is the lowest TSN of its DATA chunks.
    pub(crate) fn on_marked(&mut self, path: PathId, tsn: Tsn) {
        match self.waiting.iter_mut().find(|echo| echo.path == path) {
            Some(echo) => {
                // A packet that arrives after later ones brings nothing new.
                echo.tsn = if tsn.is_after(echo.tsn) { tsn } else { echo.tsn };
                echo.packets = echo.packets.wrapping_add(1);
            }
            None => self.waiting.push(Echo { path, tsn, packets: 1 }),
        }
    }

    /// Processes CWR on `path`, which ends the echo that it answers. With the override mark, the sender no longer knew the path.
    pub(crate) fn on_cwr(&mut self, path: PathId, cwr: &Cwr) {
        self.waiting.retain(|echo| {
            let is_meant = cwr.override_mark || echo.path == path;
            !is_meant || echo.tsn.is_after(Tsn(cwr.tsn))
        });
    }

    /// Number of pending echoes.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The chunks to send before an acknowledgement.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = Ecne> {
        self.waiting
            .iter()
            .map(|echo| Ecne { lowest_tsn: echo.tsn.0, marked_packets: Some(echo.packets) })
    }
}

impl Default for Echoes {
    fn default() -> Self {
        Self::new()
    }
}

impl Vacant for Echoes {
    const VACANT: &'static Self = &Self::new();
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PathId = PathId(0);
    const B: PathId = PathId(1);

    fn chunks(echoes: &Echoes) -> alloc::vec::Vec<(u32, u32)> {
        echoes.chunks().map(|it| (it.lowest_tsn, it.marked_packets.unwrap())).collect()
    }

    fn cwr(tsn: u32, override_mark: bool) -> Cwr {
        Cwr { override_mark, tsn }
    }

    #[test]
    fn an_echo_has_the_last_marked_packet_and_counts_all() {
        let mut echoes = Echoes::new();
        assert!(echoes.len() == 0);
        for (path, tsn, expected) in [
            (A, 10, &[(10, 1)][..]),
            (A, 12, &[(12, 2)]),
            (A, 11, &[(12, 3)]),
            (B, u32::MAX, &[(12, 3), (u32::MAX, 1)]),
            (B, 1, &[(12, 3), (1, 2)]),
        ] {
            echoes.on_marked(path, Tsn(tsn));
            assert_eq!(chunks(&echoes), expected, "{path:?} {tsn}");
        }
        assert_eq!(echoes.len(), 2);
    }

    #[test]
    fn cwr_ends_the_echo_of_its_path_up_to_its_tsn() {
        for (what, path, cwr, left) in [
            ("older", A, cwr(9, false), &[(10, 1), (30, 1)][..]),
            ("the same", A, cwr(10, false), &[(30, 1)]),
            ("newer", A, cwr(40, false), &[(30, 1)]),
            ("of another path", B, cwr(10, false), &[(10, 1), (30, 1)]),
            ("whatever its path", B, cwr(10, true), &[(30, 1)]),
            ("and newer", A, cwr(30, true), &[]),
        ] {
            let mut echoes = Echoes::new();
            echoes.on_marked(A, Tsn(10));
            echoes.on_marked(B, Tsn(30));
            echoes.on_cwr(path, &cwr);
            assert_eq!(chunks(&echoes), left, "{what}");
        }
    }

    #[test]
    fn counting_begins_anew_after_cwr() {
        let mut echoes = Echoes::new();
        echoes.on_marked(A, Tsn(10));
        echoes.on_cwr(A, &cwr(10, false));
        echoes.on_marked(A, Tsn(20));
        assert_eq!(chunks(&echoes), [(20, 1)]);
    }
}
