//! Validation of configurations.

use alloc::string::String;
use core::fmt::{self, Display};

use super::{
    AllPf, AssociationConfig, Failover, FailureDetection, NrSack, PartialReliability, PathGroups,
    Policies, Reneging,
};
use super::{BufferSize, BufferSplit, RescheduleSide, SmartFastRtx, SplitFastRetransmit};
use crate::Duration;

/// SACK.Delay must not be larger (RFC 9260 section 6.2).
pub(crate) const MAX_SACK_DELAY: Duration = Duration::from_millis(500);

/// A DSCP has six bits (RFC 2474 section 3).
pub(crate) const MAX_DSCP: u8 = 63;

/// A flow label has twenty (RFC 8200 section 6).
pub(crate) const MAX_FLOW_LABEL: u32 = 0xF_FFFF;

/// A setting that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// The setting, with dots between the steps (`policies.rto.alpha`).
    pub key: &'static str,
    /// What is wrong, and the allowed values.
    pub problem: String,
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.problem)
    }
}

impl core::error::Error for ConfigError {}

impl AssociationConfig {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// Names the first invalid setting.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_limits()?;
        self.check_timers()?;
        if !self.shared_keys.has_active() {
            return Err(ConfigError {
                key: "shared_keys",
                problem: "the active key is not among the keys; activate one of them".into(),
            });
        }
        self.check_policies()
    }

    fn check_limits(&self) -> Result<(), ConfigError> {
        within("outbound_streams", self.outbound_streams, 1, u16::MAX)?;
        within("max_inbound_streams", self.max_inbound_streams, 1, u16::MAX)?;
        within("send_buffer_bytes", self.send_buffer_bytes, 1, u64::MAX)?;
        // RFC 9260 section 3.3.2.
        within("receive_buffer_bytes", self.receive_buffer_bytes, 1500, u32::MAX)?;
        if let Some(point) = self.partial_delivery_point {
            within("partial_delivery_point", point, 1, self.receive_buffer_bytes)?;
        }
        if let Some(bytes) = self.max_fragment_bytes {
            within("max_fragment_bytes", bytes, 16, u16::MAX.into())?;
        }
        within("dscp", self.dscp, 0, MAX_DSCP)?;
        within("ipv6_flow_label", self.ipv6_flow_label, 0, MAX_FLOW_LABEL)?;
        within("mtu_bytes", self.mtu_bytes, 256, u16::MAX)?;
        within("max_paths", self.max_paths, 1, 32)
    }

    fn check_timers(&self) -> Result<(), ConfigError> {
        let rto = &self.policies.rto;
        let (least, most) = (Duration::from_millis(1), Duration::from_secs(3600));
        within("policies.rto.min", rto.min, least, most)?;
        within("policies.rto.max", rto.max, rto.min, most)?;
        within("policies.rto.initial", rto.initial, least, most)?;
        within("policies.rto.margin", rto.margin, Duration::ZERO, most)?;
        part("policies.rto.alpha", rto.alpha)?;
        part("policies.rto.beta", rto.beta)?;
        let delay = self.policies.delayed_ack.delay;
        within("policies.delayed_ack.delay", delay, Duration::ZERO, MAX_SACK_DELAY)
    }

    fn check_policies(&self) -> Result<(), ConfigError> {
        let policies = &self.policies;
        within("policies.fast_retransmit.threshold", policies.fast_retransmit.threshold, 1, 255)?;
        within("policies.delayed_ack.packets", policies.delayed_ack.packets, 1, 255)?;
        within("policies.window.ssthresh_floor_mtu", policies.window.ssthresh_floor_mtu, 1, 255)?;
        part("policies.reschedule.threshold", policies.reschedule.threshold)?;
        self.check_failover()?;
        self.check_buffers()?;
        self.check_reliability()?;
        if matches!(policies.nr_sack, NrSack::All | NrSack::AllInTurn)
            && policies.reneging != Reneging::Never
        {
            return Err(ConfigError {
                key: "policies.nr_sack",
                problem:
                    "\"all\" and \"all-in-turn\" promise never to renege, but policies.reneging is not \"never\"; \
                          use \"deliverable\" or \"off\""
                        .into(),
            });
        }
        self.check_groups()
    }

    fn check_groups(&self) -> Result<(), ConfigError> {
        let policies = &self.policies;
        if self.couples_windows() || policies.path_groups == PathGroups::All {
            return Ok(());
        }
        Err(ConfigError {
            key: "policies.path_groups",
            problem: "groups matter to coupled congestion control only, and policies.congestion couples nothing; use \
                      \"all\", or a congestion control such as \"lia\""
                .into(),
        })
    }
}

impl AssociationConfig {
    fn check_failover(&self) -> Result<(), ConfigError> {
        let Failover { detection, pf_threshold, primary_switchover, all_pf, outage_probe_interval } =
            self.policies.failover;
        let refuse = |key, problem: &str| Err(ConfigError { key, problem: problem.into() });
        if outage_probe_interval == Some(Duration::ZERO) {
            return refuse("policies.failover.outage_probe_interval", "is 0");
        }
        let least = match detection {
            FailureDetection::Rfc9260 if pf_threshold != 0 => {
                let problem = "has no effect while policies.failover.detection is \"rfc9260\"";
                return refuse("policies.failover.pf_threshold", problem);
            }
            FailureDetection::Rfc9260 if all_pf != AllPf::Send => {
                let problem = "has no effect while policies.failover.detection is \"rfc9260\"";
                return refuse("policies.failover.all_pf", problem);
            }
            FailureDetection::Rfc9260 => self.path_max_retrans,
            FailureDetection::Pf1 | FailureDetection::Pf2 => {
                pf_threshold.min(self.path_max_retrans)
            }
        };
        // RFC 7829 section 5 rule 1.
        if let Some(limit) = primary_switchover {
            within("policies.failover.primary_switchover", limit, least, u32::MAX)?;
        }
        Ok(())
    }
}

impl AssociationConfig {
    fn check_buffers(&self) -> Result<(), ConfigError> {
        let policies = &self.policies;
        let unbounded = |key| {
            let problem =
                "\"sender\" has no effect where policies.send_buffer is \"infinite\"".into();
            Err(ConfigError { key, problem })
        };
        if policies.send_buffer == BufferSize::Infinite {
            if policies.buffer_split == BufferSplit::Sender {
                return unbounded("policies.buffer_split");
            }
            if policies.reschedule.side == RescheduleSide::Sender {
                return unbounded("policies.reschedule.side");
            }
        }
        if policies.smart_fast_rtx == SmartFastRtx::On
            && policies.fast_retransmit.split == SplitFastRetransmit::Off
        {
            return Err(ConfigError {
                key: "policies.smart_fast_rtx",
                problem: "\"on\" has no effect where policies.fast_retransmit.split is \"off\": a \
                          path's own order counts only with \"sfr\"; use \"off\""
                    .into(),
            });
        }
        Ok(())
    }
}

impl AssociationConfig {
    fn check_reliability(&self) -> Result<(), ConfigError> {
        let key = "policies.partial_reliability";
        let Policies { partial_reliability, send_buffer, .. } = self.policies;
        partial_reliability
            .check()
            .map_err(|problem| ConfigError { key, problem: problem.into() })?;
        if matches!(partial_reliability, PartialReliability::Priority(_))
            && send_buffer == BufferSize::Infinite
        {
            let problem = "a priority has no effect where policies.send_buffer is \"infinite\": \
                           nothing ever needs room; use \"timed\", \"limited-retransmissions\" or \"none\"";
            return Err(ConfigError { key, problem: problem.into() });
        }
        Ok(())
    }
}

impl PartialReliability {
    /// Checks the rule.
    ///
    /// # Errors
    ///
    /// Describes a rule under which no message could arrive.
    pub fn check(self) -> Result<(), &'static str> {
        match self {
            Self::Timed(Duration::ZERO) => {
                Err("\"timed\" with no time would give every message up \
                 before it is sent; name a time, or use \"none\" for full reliability")
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn within<T: PartialOrd + Display>(
    key: &'static str,
    value: T,
    least: T,
    most: T,
) -> Result<(), ConfigError> {
    if value >= least && value <= most {
        return Ok(());
    }
    let problem = alloc::format!("{value} is not from {least} to {most}");
    Err(ConfigError { key, problem })
}

fn part(key: &'static str, value: f64) -> Result<(), ConfigError> {
    if value > 0.0 && value <= 1.0 {
        return Ok(());
    }
    let problem = alloc::format!("{value} is not above 0 and at most 1");
    Err(ConfigError { key, problem })
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use polypath_units::Fraction;

    use super::*;
    use crate::config::Preset;

    #[test]
    fn presets_are_sound() {
        for &preset in Preset::ALL {
            assert_eq!(AssociationConfig::with_preset(preset).check(), Ok(()), "{preset:?}");
        }
    }

    #[test]
    fn a_share_of_infinity_is_none() {
        let refused = |change: fn(&mut Policies)| {
            let mut config = AssociationConfig::with_preset(Preset::Cmt);
            config.policies.send_buffer = BufferSize::Infinite;
            change(&mut config.policies);
            config.check().err().map(|error| error.key)
        };
        assert_eq!(refused(|_| {}), None);
        let split = refused(|p| p.buffer_split = BufferSplit::Sender);
        assert_eq!(split, Some("policies.buffer_split"));
        assert_eq!(refused(|p| p.buffer_split = BufferSplit::Both), None, "the receiver's is left");
        let side = refused(|p| p.reschedule.side = RescheduleSide::Sender);
        assert_eq!(side, Some("policies.reschedule.side"));
    }

    #[test]
    fn a_rule_of_reliability_must_let_messages_live() {
        let refused = |rule, send_buffer| {
            let mut config = AssociationConfig::with_preset(Preset::Cmt);
            config.policies.partial_reliability = rule;
            config.policies.send_buffer = send_buffer;
            config.check().err().map(|error| (error.key, error.problem.contains("use \"")))
        };
        let named = Some(("policies.partial_reliability", true));
        use PartialReliability::{LimitedRetransmissions, Priority, Timed};
        for (rule, bytes, infinite) in [
            (PartialReliability::None, None, None),
            (Timed(Duration::ZERO), named, named),
            (Timed(Duration::from_millis(1)), None, None),
            (LimitedRetransmissions(0), None, None),
            (Priority(0), None, named),
        ] {
            assert_eq!(refused(rule, BufferSize::Bytes), bytes, "{rule:?}");
            assert_eq!(refused(rule, BufferSize::Infinite), infinite, "{rule:?}");
        }
    }

    #[test]
    fn smart_fast_rtx_needs_split_fast_retransmit() {
        let mut config = AssociationConfig::with_preset(Preset::DreibholzAsymmetric);
        config.policies.fast_retransmit.split = SplitFastRetransmit::Off;
        assert_eq!(config.check().unwrap_err().key, "policies.smart_fast_rtx");
        config.policies.smart_fast_rtx = SmartFastRtx::Off;
        assert_eq!(config.check(), Ok(()));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        type Change = fn(&mut AssociationConfig);
        let broken: [(&str, Change); 13] = [
            ("outbound_streams", |c| c.outbound_streams = 0),
            ("receive_buffer_bytes", |c| c.receive_buffer_bytes = 1499),
            ("max_paths", |c| c.max_paths = 33),
            ("policies.rto.max", |c| c.policies.rto.max = Duration::from_millis(999)),
            ("policies.rto.alpha", |c| c.policies.rto.alpha = f64::NAN),
            ("policies.delayed_ack.delay", |c| {
                c.policies.delayed_ack.delay = Duration::from_millis(501);
            }),
            ("policies.failover.pf_threshold", |c| c.policies.failover.pf_threshold = 1),
            ("policies.failover.all_pf", |c| c.policies.failover.all_pf = AllPf::MakeActive),
            ("policies.failover.primary_switchover", |c| {
                c.policies.failover.primary_switchover = Some(4);
            }),
            ("policies.failover.primary_switchover", |c| {
                c.policies.failover = Failover {
                    detection: FailureDetection::Pf1,
                    pf_threshold: 2,
                    primary_switchover: Some(1),
                    all_pf: AllPf::MakeActive,
                    outage_probe_interval: None,
                };
            }),
            ("policies.failover.outage_probe_interval", |c| {
                c.policies.failover.outage_probe_interval = Some(Duration::ZERO);
            }),
            ("policies.path_groups", |c| c.policies.path_groups = PathGroups::Separate),
            ("policies.nr_sack", |c| {
                c.policies.nr_sack = NrSack::All;
                c.policies.reneging = Reneging::Simulated(Fraction::from_percent(1));
            }),
        ];
        for (key, change) in broken {
            let mut config = AssociationConfig::with_preset(Preset::Cmt);
            change(&mut config);
            let error = config.check().unwrap_err();
            assert_eq!(error.key, key);
            assert!(error.to_string().starts_with(key));
        }
    }
}
