//! What the mechanisms of a path remember of what it has sent.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::congestion::rate_reduction::RateReduction;
use crate::mechanism::blocking_estimation::PenaltyInterval;
use crate::mechanism::early_answers::EarlyAnswers;
use crate::mechanism::loss_delay::LossDelay;
use crate::mechanism::loss_rate::LossRate;
use crate::mechanism::loss_share::LossShare;
use crate::mechanism::slow_path_rtt::Awaited;
use crate::mechanism::t3_policy::RetransmissionLog;
use crate::transmit::buffer_size::DeliveryRate;
use crate::transmit::outstanding::Repaired;
use crate::types::Vacant;

/// What the mechanisms of a path remember of what it has sent. Apart from the rest, because idle paths need none of it.
#[derive(Debug)]
pub(crate) struct SendRecord {
    /// Chunk acknowledged over another path, whose round trip a SACK over this one can still measure.
    pub(crate) awaited: Option<Awaited>,
    /// What was acknowledged over other paths before data had measured this one.
    pub(crate) early: Option<Box<EarlyAnswers>>,
    /// How fast it sends in fast recovery, where the policy paces that.
    pub(crate) reduction: RateReduction,
    pub(crate) loss_rate: LossRate,
    pub(crate) loss_delay: LossDelay,
    pub(crate) loss_share: LossShare,
    /// Chunks retransmitted here because of drop reports, or moved here, in that order.
    pub(crate) repaired: VecDeque<Repaired>,
    /// The congestion window before a SACK made it grow, and the number of the packet with that SACK.
    pub(crate) grown_from: (u64, u64),
    /// Kept where the policy of T3-rtx looks at times.
    pub(crate) retransmissions: RetransmissionLog,
    /// What it delivers, where the send buffer follows that.
    pub(crate) delivery: DeliveryRate,
    /// Time between penalties for having blocked the buffers (blocking estimation).
    pub(crate) penalty_interval: PenaltyInterval,
}

impl SendRecord {
    const fn new() -> Self {
        Self {
            awaited: None,
            early: None,
            reduction: RateReduction::new(),
            loss_rate: LossRate::new(),
            loss_delay: LossDelay::new(),
            loss_share: LossShare::new(),
            repaired: VecDeque::new(),
            grown_from: (u64::MAX, 0),
            retransmissions: RetransmissionLog::new(),
            delivery: DeliveryRate::new(),
            penalty_interval: PenaltyInterval::new(),
        }
    }

    /// A chunk was found lost.
    pub(crate) fn on_lost(&mut self) {
        self.loss_rate.on_lost();
        self.loss_delay.on_lost();
        self.loss_share.on_lost();
    }
}

impl Default for SendRecord {
    fn default() -> Self {
        Self::new()
    }
}

impl Vacant for SendRecord {
    const VACANT: &'static Self = &Self::new();
}
