use super::*;

/// Every combination: what advances the cumulative ack is news; what does not is only trusted over its own path.
#[test]
fn what_an_omission_means() {
    let (own, other) = (PathId(1), PathId(0));
    for (policy, cumulative_ack_advanced, anything_new, arrival, expected) in [
        (StaleSack::Classic, true, true, other, Omission::Reneged),
        (StaleSack::Classic, false, true, other, Omission::Reneged),
        (StaleSack::Classic, false, true, own, Omission::Reneged),
        (StaleSack::Classic, false, false, own, Omission::Nothing),
        (StaleSack::Classic, false, false, other, Omission::Nothing),
        (StaleSack::SamePath, true, true, other, Omission::Reneged),
        (StaleSack::SamePath, false, true, other, Omission::Overtaken),
        (StaleSack::SamePath, false, false, other, Omission::Overtaken),
        (StaleSack::SamePath, false, true, own, Omission::Reneged),
        (StaleSack::SamePath, false, false, own, Omission::Reneged),
    ] {
        let view = OmissionView { cumulative_ack_advanced, anything_new, arrival, acked_over: own };
        assert_eq!(judge(policy, &view), expected, "{policy:?} {view:?}");
    }
}
