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
        /// When windows grow.
        cwnd_update: CwndUpdate,
        /// Delayed acknowledgement.
        delayed_ack: DelayedAck,
        /// Scope of fast recovery.
        fast_recovery: FastRecoveryScope,
        /// Paths on which INIT is sent.
        handshake: HandshakePaths,
        /// Order of paths for new data.
        path_order: PathOrder,
        /// How much each path takes at a time.
        path_fill: PathFill,
        /// Where retransmissions go.
        retransmission: Retransmission,
        /// When a path fails.
        failover: Failover,
        /// Which buffers are split between paths.
        buffer_split: BufferSplit,
        /// By which bytes they are split.
        buffer_split_by: BufferSplitBy,
        /// How large the shares are.
        buffer_split_shares: BufferSplitShares,
        /// When an application that found the send buffer full is notified of free space.
        send_room_notice: SendRoomNotice,
        /// Whether new data keeps off paths on which it would block the buffers.
        blocking_estimation: BlockingEstimation,
        /// Whether new data keeps off paths on which it would arrive when all else has.
        earliest_completion: EarliestCompletion,
        /// Copies of data on a second path.
        data_copies: DataCopies,
        /// Whether a path whose RTT is not yet measured by data carries data that no other path can
        /// take yet.
        data_ahead: DataAhead,
        /// Whether paths are suspended while one path alone delivers more than all together.
        goodput_guard: GoodputGuarding,
        /// Chunk rescheduling.
        reschedule: Reschedule,
        /// Whether the last chunks of a transfer leave slow paths.
        tail_reinjection: TailReinjection,
        /// Whether paths that are silent at the tail are probed.
        tail_probe: TailProbes,
        /// Whether chunks from other paths report chunks missing.
        smart_fast_rtx: SmartFastRtx,
        /// What restarts T3-rtx.
        t3_restart: T3Restart,
        /// The advertised receive window.
        advertised_window: AdvertisedWindow,
        /// Non-renegable acknowledgement.
        nr_sack: NrSack,
        /// Whether the receiver takes acknowledgements back.
        reneging: Reneging,
        /// Whether the sender learns a limit of the peer on chunks above a gap.
        peer_reorder_limit: PeerReorderLimit,
        /// Chunks that wait above a gap beyond which this receiver drops what lies higher, as usrsctp does beyond 512. `None`: none.
        simulated_reorder_limit: Option<u32>,
        /// Reports of damaged packets.
        packet_drop_report: PacketDropReport,
        /// Which chunks the peer must authenticate.
        authenticated_chunks: AuthenticatedChunks,
        /// Where SACKs go.
        sack_path: SackPath,
        /// What measures round-trip times.
        rtt_sample: RttSample,
        /// What control chunks tell of them.
        control_rtt: ControlRtt,
        /// When data asks for its SACK at once.
        sack_request: SackRequest,
        /// What reordered SACKs prove.
        stale_sack: StaleSack,
        /// Limit on bursts.
        burst: Burst,
        /// Spacing of packets.
        pacing: Pacing,
        /// Congestion control.
        congestion: CongestionAlgorithm,
        /// Which paths share a bottleneck, for coupled congestion control.
        path_groups: PathGroups,
        /// Congestion windows.
        window: Window,
        /// Retransmission timeout.
        rto: Rto,
        /// Reliability of messages for which none is set.
        partial_reliability: PartialReliability,
        /// Order of streams.
        stream_scheduler: StreamScheduler,
        /// Whether streams may begin anew, and be added.
        stream_reconfiguration: StreamReconfiguration,
        /// Whether addresses may be added and deleted.
        address_reconfiguration: AddressReconfiguration,
        /// Whether queues may mark data instead of dropping it.
        explicit_congestion_notification: ExplicitCongestionNotification,
        /// Whether fragments of messages of different streams alternate.
        message_interleaving: MessageInterleaving,
        /// Size of the send buffer.
        send_buffer: BufferSize,
        /// Size of the receive buffer.
        receive_buffer: BufferSize,
    }
);
