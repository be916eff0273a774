//! What an emulation reports.

use std::net::IpAddr;

use polypath_sim::{FlowResult, LinkCounts};
use serde::Serialize;

use crate::program::ProgramOutcome;
use crate::timing::TimingOutcome;

/// Lost time is a part of so much time at least: starting a program may take a few milliseconds, which are much of a run
/// that is over at once.
const LEAST_JUDGED_S: f64 = 1.0;

/// What came out of an emulation.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    /// Title of the scenario.
    pub title: String,
    /// Seed of the random numbers of links and simulated flows.
    pub seed: u64,
    /// Real time that it took, which is simulated time too.
    pub duration_s: f64,
    /// Whether the links can be believed.
    pub verdict: Verdict,
    /// How well it kept up with the clock.
    pub timing: TimingOutcome,
    /// Packets that the system dropped between programs and the emulation; none of the scenario's links did.
    pub system_drops: u64,
    /// Per external host.
    pub hosts: Vec<HostOutcome>,
    /// Per link and direction.
    pub links: Vec<LinkCounts>,
    /// Packets of programs for simulated hosts, which answer none.
    pub unanswered_packets: u64,
    /// Flows of simulated hosts beside the programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowResult>,
    /// Programs, in the order of their start.
    pub programs: Vec<ProgramOutcome>,
}

impl Outcome {
    /// The first program that failed.
    pub fn failed_program(&self) -> Option<&ProgramOutcome> {
        self.programs.iter().find(|program| program.has_failed())
    }
}

/// Whether an emulation was what it claims to be.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It kept up with the clock.
    Valid,
    /// It was behind for too long, in real time, by more than 1 ms.
    Behind {
        /// For so long.
        behind_s: f64,
        /// Part of the whole time that this is.
        share: f64,
        /// What would be allowed, of a second at least.
        allowed: f64,
    },
    /// The system dropped packets that no link dropped.
    SystemDrops(u64),
}

impl Verdict {
    /// The verdict on an emulation that took `duration_s`.
    pub(crate) fn of(
        timing: &TimingOutcome,
        duration_s: f64,
        system_drops: u64,
        allowed: f64,
    ) -> Self {
        if timing.behind_s > allowed * duration_s.max(LEAST_JUDGED_S) {
            let (behind_s, share) = (timing.behind_s, timing.behind_share);
            return Self::Behind { behind_s, share, allowed };
        }
        match system_drops {
            0 => Self::Valid,
            drops => Self::SystemDrops(drops),
        }
    }

    /// Why the emulation was not what it claims to be.
    pub fn objection(&self) -> Option<String> {
        match self {
            Self::Valid => None,
            Self::Behind { behind_s, share, allowed } => Some(format!(
                "this machine could not keep up: for {behind_s:.3} s, {:.2} % of the time, the emulation was more than 1 ms behind (allowed: {} %, of a second at least); its links were not what the scenario says",
                100.0 * share,
                100.0 * allowed,
            )),
            Self::SystemDrops(drops) => Some(format!(
                "the system dropped {drops} packets before the emulation saw them; no link of the scenario did that"
            )),
        }
    }
}

/// An external host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HostOutcome {
    /// Its name.
    pub name: String,
    /// Its network namespace.
    pub namespace: String,
    /// Its interfaces.
    pub ports: Vec<PortOutcome>,
}

/// An interface of an external host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PortOutcome {
    /// Name of the device in the namespace.
    pub device: String,
    /// Its address.
    pub address: IpAddr,
    /// Name of the path or network that it belongs to.
    pub network: String,
    /// Addresses that it reaches.
    pub peers: Vec<IpAddr>,
    /// Packets of programs that entered the network.
    pub sent: u64,
    /// Packets of programs that could not, as those for groups.
    pub refused: u64,
    /// Packets for programs.
    pub received: u64,
    /// Packets for programs that the system did not take.
    pub failed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_believed_is_said_with_its_number() {
        let timing =
            |behind_s, behind_share| TimingOutcome { behind_s, behind_share, ..Default::default() };
        let objection = |behind, drops| {
            Verdict::of(&timing(behind, behind / 10.0), 10.0, drops, 0.01).objection()
        };
        assert_eq!(objection(0.1, 0), None, "as much as is allowed");
        assert!(objection(0.25, 0).unwrap().contains("for 0.250 s, 2.50 % of the time"));
        assert!(objection(0.0, 3).unwrap().contains("dropped 3 packets"));
    }

    #[test]
    fn short_emulations_may_lose_as_much_as_one_of_a_second() {
        let verdict = |behind_s: f64, duration_s: f64| {
            let behind_share = behind_s / duration_s;
            let timing = TimingOutcome { behind_s, behind_share, ..Default::default() };
            Verdict::of(&timing, duration_s, 0, 0.01)
        };
        assert_eq!(verdict(0.005, 0.026), Verdict::Valid);
        assert_eq!(verdict(0.009, 0.9), Verdict::Valid);
        assert!(matches!(verdict(0.011, 0.026), Verdict::Behind { .. }));
        assert!(matches!(verdict(0.011, 1.0), Verdict::Behind { .. }));
        assert_eq!(verdict(0.011, 2.0), Verdict::Valid);
    }
}
