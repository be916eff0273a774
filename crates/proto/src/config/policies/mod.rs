//! Policies: one small type for each choice that SCTP or CMT leaves open.
//!
//! The serde names of fields and values are the keys that scenario and study files use.

mod acknowledgement;
mod authentication;
mod buffers;
mod loss;
mod messages;
mod paths;
mod values;
mod window;

pub use acknowledgement::*;
pub(crate) use authentication::AuthDemand;
pub use authentication::{AuthenticatedChunks, ChunkTypes};
pub use buffers::*;
pub use loss::*;
pub use messages::*;
pub use paths::*;
pub use values::PolicyValue;
use values::{policy_enum, policy_group};
pub use window::*;

policy_group!(
    /// Every policy of an association: plain data.
    Policies {
        /// Fast retransmit.
        fast_retransmit: FastRetransmit,
        /// When congestion windows grow.
        cwnd_update: CwndUpdate,
        /// Delayed acknowledgement.
        delayed_ack: DelayedAck,
        /// Scope of fast recovery.
        fast_recovery: FastRecoveryScope,
        /// Paths on which INIT is sent.
        handshake: HandshakePaths,
        /// Path scheduler.
        path_order: PathOrder,
        /// How much each path sends at a time.
        path_fill: PathFill,
        /// Paths of retransmissions.
        retransmission: Retransmission,
        /// When a path fails.
        failover: Failover,
        /// Which buffers are split between paths.
        buffer_split: BufferSplit,
        /// Bytes that are compared with the shares.
        buffer_split_by: BufferSplitBy,
        /// Sizes of the shares.
        buffer_split_shares: BufferSplitShares,
        /// When an application that found the send buffer full is notified of free space.
        send_room_notice: SendRoomNotice,
        /// Whether new data avoids paths on which it would block the buffers.
        blocking_estimation: BlockingEstimation,
        /// Whether the last data avoids paths on which it would arrive last.
        earliest_completion: EarliestCompletion,
        /// Copies of data on a second path.
        data_copies: DataCopies,
        /// Whether a path whose RTT is not yet measured by data carries data that no other path can
        /// take yet.
        data_ahead: DataAhead,
        /// Whether what losses add to a round trip counts where paths are compared.
        loss_delay: LossDelays,
        /// Whether paths are suspended while one path alone delivers more than all together.
        goodput_guard: GoodputGuarding,
        /// Chunk rescheduling.
        reschedule: Reschedule,
        /// Whether the last chunks of a transfer leave slow paths.
        tail_reinjection: TailReinjection,
        /// Whether paths that are silent at the tail are probed.
        tail_probe: TailProbes,
        /// Whether rescheduled chunks count as missing reports.
        smart_fast_rtx: SmartFastRtx,
        /// What restarts T3-rtx.
        t3_restart: T3Restart,
        /// The advertised receive window.
        advertised_window: AdvertisedWindow,
        /// Non-renegable acknowledgement.
        nr_sack: NrSack,
        /// Whether the receiver reneges.
        reneging: Reneging,
        /// Whether the sender learns a limit of the peer on chunks above a gap.
        peer_reorder_limit: PeerReorderLimit,
        /// Limit on chunks above a gap beyond which this receiver drops further ones, as usrsctp does beyond 512. `None`: no limit.
        simulated_reorder_limit: Option<u32>,
        /// Reports of damaged packets.
        packet_drop_report: PacketDropReport,
        /// Which chunks the peer must authenticate.
        authenticated_chunks: AuthenticatedChunks,
        /// Paths of SACKs.
        sack_path: SackPath,
        /// SACKs that measure round-trip times.
        rtt_sample: RttSample,
        /// How answers to control chunks count as measurements.
        control_rtt: ControlRtt,
        /// When data requests an immediate SACK.
        sack_request: SackRequest,
        /// Interpretation of reordered SACKs.
        stale_sack: StaleSack,
        /// Burst limit.
        burst: Burst,
        /// Pacing.
        pacing: Pacing,
        /// Congestion control.
        congestion: CongestionAlgorithm,
        /// Paths that share a bottleneck, for coupled congestion control.
        path_groups: PathGroups,
        /// Congestion windows.
        window: Window,
        /// Retransmission timeout.
        rto: Rto,
        /// Reliability of messages for which none is set.
        partial_reliability: PartialReliability,
        /// Stream scheduler.
        stream_scheduler: StreamScheduler,
        /// Whether streams may be reset and added.
        stream_reconfiguration: StreamReconfiguration,
        /// Whether addresses may be added and deleted.
        address_reconfiguration: AddressReconfiguration,
        /// Whether queues may mark data instead of dropping it.
        explicit_congestion_notification: ExplicitCongestionNotification,
        /// Whether fragments of messages of different streams are interleaved.
        message_interleaving: MessageInterleaving,
        /// Size of the send buffer.
        send_buffer: BufferSize,
        /// Size of the receive buffer.
        receive_buffer: BufferSize,
    }
);
