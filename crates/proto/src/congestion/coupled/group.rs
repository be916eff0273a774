//! What a coupled control knows of the paths that it couples.
//!
//! Computed once per acknowledgement or timeout, before any window changes: of several paths that grow or lose at the
//! same time, each sees the windows of before.

use smallvec::SmallVec;

use crate::config::PathGroups;
use crate::config::plug_in::{GroupView, Rates};
use crate::{Duration, PathId};

/// One path, as its group sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    /// Whether it carries data. If it does not, its congestion window is no claim on the capacity of the group.
    pub(crate) is_active: bool,
    /// cwnd in bytes, c.
    pub(crate) cwnd: u64,
    /// ssthresh in bytes, s.
    pub(crate) ssthresh: u64,
    /// Smoothed round-trip time, r; `None` before the first sample.
    pub(crate) srtt: Option<Duration>,
    /// Bytes between losses, l (OLIA).
    pub(crate) between_losses: u64,
}

/// The views of all paths of an association.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct GroupViews(SmallVec<[GroupView; 4]>);

impl GroupViews {
    /// The views of paths, in the order of their ids.
    pub(crate) fn of(groups: &PathGroups, members: &[Member]) -> Self {
        let mut views = SmallVec::new();
        for (index, member) in members.iter().enumerate() {
            let group = groups.group_of(index);
            let peers = || {
                members.iter().enumerate().filter_map(|(other, peer)| {
                    let coupled = peer.is_active && groups.group_of(other) == group;
                    coupled.then_some(peer)
                })
            };
            views.push(match member.is_active {
                true => view(member, &peers),
                false => GroupView::ALONE,
            });
        }
        Self(views)
    }

    /// The view of one path; without any it is coupled with no other.
    pub(crate) fn view(&self, path: PathId) -> &GroupView {
        self.0.get(path.index()).unwrap_or(&GroupView::ALONE)
    }
}

fn view<'a, I: Iterator<Item = &'a Member>>(own: &Member, peers: &impl Fn() -> I) -> GroupView {
    let mut view = GroupView { members: 0, own_ssthresh: own.threshold(), ..GroupView::ALONE };
    for peer in peers() {
        view.members += 1;
        view.cwnd = view.cwnd.saturating_add(peer.cwnd);
        view.ssthresh += u128::from(peer.threshold());
    }
    view.rates = rates(own, view.members, peers);
    view
}

fn rates<'a, I: Iterator<Item = &'a Member>>(
    own: &Member,
    members: u32,
    peers: &impl Fn() -> I,
) -> Option<Rates> {
    let own_rtt = own.rtt()?;
    let own_rate = own.window() / own_rtt;
    let mut rates =
        Rates { own_rtt, own: own_rate, total: 0.0, fastest: 0.0, steepest: 0.0, bonus: 0.0 };
    let (mut largest, mut best) = (0, 0.0);
    for peer in peers() {
        let rtt = peer.rtt()?;
        let rate = peer.window() / rtt;
        rates.total += rate;
        rates.fastest = rates.fastest.max(rate);
        rates.steepest = rates.steepest.max(rate / rtt);
        largest = largest.max(peer.cwnd);
        best = peer.quality(rtt).max(best);
    }
    let has_largest = |path: &Member| path.cwnd == largest;
    let is_collected = |path: &Member| {
        !has_largest(path) && path.rtt().is_some_and(|rtt| path.quality(rtt) == best)
    };
    let collected = peers().filter(|peer| is_collected(peer)).count();
    if collected > 0 {
        let n = f64::from(members);
        if is_collected(own) {
            rates.bonus = 1.0 / (n * collected as f64);
        } else if has_largest(own) {
            let largest = peers().filter(|peer| has_largest(peer)).count();
            rates.bonus = -1.0 / (n * largest as f64);
        }
    }
    Some(rates)
}

impl Member {
    /// The threshold as it counts in sums. One without limit was never set by a loss; the window is all that is known
    /// of such a path.
    fn threshold(&self) -> u64 {
        if self.ssthresh == u64::MAX { self.cwnd } else { self.ssthresh }
    }

    fn rtt(&self) -> Option<f64> {
        self.srtt.map(|srtt| srtt.as_nanos().max(1) as f64)
    }

    fn window(&self) -> f64 {
        self.cwnd.max(1) as f64
    }

    /// OLIA's measure of a path: l/r^2, for a rate of about sqrt(2 l)/r. (The draft prints l^2/r, which its own
    /// derivation and its implementation contradict.)
    fn quality(&self, rtt: f64) -> f64 {
        self.between_losses as f64 / (rtt * rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::config::GroupList;

    fn member(cwnd: u64, ssthresh: u64, rtt: Option<u64>) -> Member {
        Member {
            is_active: true,
            cwnd,
            ssthresh,
            srtt: rtt.map(Duration::from_millis),
            between_losses: 0,
        }
    }

    #[test]
    fn sums_are_over_the_active_paths_of_the_group() {
        // Paths 0 and 2 are a group; path 3 would belong to it but is inactive; path 1 is apart; path 4 is not listed.
        let mut members = [
            member(10_000, 8000, Some(10)),
            member(50_000, 40_000, Some(10)),
            member(30_000, 20_000, Some(20)),
            member(70_000, 60_000, None),
            member(90_000, 80_000, Some(10)),
        ];
        members[3].is_active = false;
        let groups = PathGroups::Listed(GroupList::new(&[5, 1, 5, 5]).unwrap());
        let views = GroupViews::of(&groups, &members);
        for (path, members, cwnd, ssthresh, own) in [
            (0, 2, 40_000, 28_000, 8000),
            (1, 1, 50_000, 40_000, 40_000),
            (2, 2, 40_000, 28_000, 20_000),
        ] {
            let view = views.view(PathId(path));
            assert_eq!(
                (view.members, view.cwnd, view.ssthresh, view.own_ssthresh),
                (members, cwnd, ssthresh, own),
                "path {path}"
            );
        }
        assert_eq!(*views.view(PathId(3)), GroupView::ALONE);
        assert_eq!(views.view(PathId(4)).members, 1);
        // c/r: 10,000/10 ms + 30,000/20 ms = 0.0025 bytes/ns; c/r^2: 1e-10 and 0.75e-10.
        let rates = views.view(PathId(2)).rates.unwrap();
        assert!((rates.total - 0.0025).abs() < 1e-15);
        assert!((rates.own - 0.0015).abs() < 1e-15 && (rates.fastest - 0.0015).abs() < 1e-15);
        assert!((rates.steepest - 1e-10).abs() < 1e-22);
    }

    /// Pitfall: dividing by the round-trip time of a path that has none yet.
    #[test]
    fn no_rates_before_every_path_was_measured() {
        let members = [member(10_000, 8000, Some(10)), member(10_000, 8000, None)];
        let views = GroupViews::of(&PathGroups::All, &members);
        assert_eq!(views.view(PathId(0)).rates, None);
        assert_eq!(views.view(PathId(1)).rates, None);
        assert_eq!(views.view(PathId(0)).members, 2);
        let separate = GroupViews::of(&PathGroups::Separate, &members);
        assert!(separate.view(PathId(0)).rates.is_some());
    }

    #[test]
    fn a_threshold_that_no_loss_has_set_counts_as_the_window() {
        let members = [member(10_000, u64::MAX, None), member(30_000, 6000, None)];
        let view = *GroupViews::of(&PathGroups::All, &members).view(PathId(0));
        assert_eq!((view.own_ssthresh, view.ssthresh), (10_000, 16_000));
    }

    /// The sets of OLIA, with l/r^2 as the measure; bonuses sum to zero.
    #[test]
    fn bonus_goes_from_large_windows_to_the_best_paths() {
        // (cwnd, l, r in ms) per path, and a.
        type Path = (u64, u64, u64);
        let cases: [(&str, &[Path], &[f64]); 5] = [
            ("the best path is the largest", &[(9000, 50, 10), (3000, 40, 10)], &[0.0, 0.0]),
            // n = 2, one collected, one largest.
            ("the best path is small", &[(9000, 40, 10), (3000, 50, 10)], &[-0.5, 0.5]),
            // 50/10^2 = 0.5 against 150/20^2 = 0.375; without the square it were 5 against 7.5.
            (
                "a short round trip is worth its square",
                &[(9000, 150, 20), (3000, 50, 10)],
                &[-0.5, 0.5],
            ),
            // n = 3, one collected, two largest: 1/3 and twice 1/6.
            (
                "two largest",
                &[(9000, 40, 10), (9000, 30, 10), (3000, 50, 10)],
                &[-1.0 / 6.0, -1.0 / 6.0, 1.0 / 3.0],
            ),
            // Q = {0, 1, 2}, W = {2}, so K = {0, 1}: pitfall of taking "neither best nor largest".
            (
                "two collected",
                &[(3000, 50, 10), (3000, 50, 10), (9000, 50, 10)],
                &[1.0 / 6.0, 1.0 / 6.0, -1.0 / 3.0],
            ),
        ];
        for (what, paths, expected) in cases {
            let members: SmallVec<[Member; 4]> = paths
                .iter()
                .map(|&(cwnd, l, rtt)| Member { between_losses: l, ..member(cwnd, 0, Some(rtt)) })
                .collect();
            let views = GroupViews::of(&PathGroups::All, &members);
            let found: SmallVec<[f64; 4]> =
                (0..paths.len()).map(|i| views.0[i].rates.unwrap().bonus).collect();
            assert_eq!(found.as_slice(), expected, "{what}");
            assert!(found.iter().sum::<f64>().abs() < 1e-12, "{what}");
        }
    }
}
