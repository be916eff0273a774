//! Named sets of policies.

use crate::Duration;

use super::*;

/// A named set of policies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Preset {
    /// RFC 9260: new data on one primary path, the others stand by.
    #[cfg_attr(feature = "serde", serde(rename = "rfc9260"))]
    Rfc9260,
    /// Concurrent multipath transfer as the papers describe it: SFR, CUCv2, DAC, least recently used path first,
    /// fast recovery per path.
    Cmt,
}

impl Preset {
    /// All presets, in the order in which help texts list them.
    pub const ALL: [Self; 2] = [Self::Rfc9260, Self::Cmt];

    /// The name used in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc9260 => "rfc9260",
            Self::Cmt => "cmt",
        }
    }

    /// The preset of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// Its policies.
    pub fn policies(self) -> Policies {
        match self {
            Self::Rfc9260 => rfc9260(),
            Self::Cmt => cmt(),
        }
    }
}

fn rfc9260() -> Policies {
    Policies {
        fast_retransmit: FastRetransmit { split: SplitFastRetransmit::Off, threshold: 3 },
        cwnd_update: CwndUpdate::Normal,
        delayed_ack: DelayedAck {
            packets: 2,
            delay: Duration::from_millis(200),
            on_gap: GapAck::Immediate,
            first_data: FirstData::Immediate,
            count: DacCount::Off,
        },
        fast_recovery: FastRecoveryScope::AssociationWide,
        path_order: PathOrder::Primary,
        path_fill: PathFill::PacketByPacket,
        retransmission: Retransmission {
            fast: RetransmissionPath::Same,
            timer: RetransmissionPath::Alternate,
            no_window: NoWindow::Wait,
        },
        burst: Burst::MaxBurst(4),
        window: Window {
            initial_cwnd: InitialCwnd::Rfc9260,
            initial_ssthresh: InitialSsthresh::Unlimited,
            ssthresh_floor_mtu: 4,
            bytes_counted: BytesCounted::WithHeader,
            idle: IdleRule::Rfc9260,
        },
        rto: Rto {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            alpha: 0.125,
            beta: 0.25,
            data_before_confirmation: DataBeforeConfirmation::On,
        },
    }
}

fn cmt() -> Policies {
    Policies {
        fast_retransmit: FastRetransmit { split: SplitFastRetransmit::Sfr, threshold: 3 },
        cwnd_update: CwndUpdate::PseudoCumAckV2,
        delayed_ack: DelayedAck {
            on_gap: GapAck::Delayed,
            count: DacCount::SackFlags,
            ..rfc9260().delayed_ack
        },
        fast_recovery: FastRecoveryScope::PerPath,
        path_order: PathOrder::SmallestLastTransmission,
        retransmission: Retransmission {
            fast: RetransmissionPath::Ssthresh,
            timer: RetransmissionPath::Ssthresh,
            no_window: NoWindow::Next,
        },
        ..rfc9260()
    }
}
