//! What the transmitter counts itself.

use crate::{AbandonedMessages, AssociationStats};

/// Makes the struct, and the copy into what is public, of one list.
macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// As the fields of the same name in [`AssociationStats`].
        #[derive(Clone, Debug, Default)]
        pub(crate) struct TransmitCounters {
            $(pub(crate) $name: u64,)*
            pub(crate) abandoned: AbandonedMessages,
        }

        impl TransmitCounters {
            /// Enters these numbers.
            pub(crate) fn enter(&self, stats: &mut AssociationStats) {
                $(stats.$name = self.$name;)*
                stats.abandoned = self.abandoned;
            }
        }
    };
}

counters! {
    data_chunks_sent,
    chunks_withdrawn,
    stale_sacks,
    bytes_released_early,
    sacks_received,
    nr_sacks_received,
    fast_retransmissions,
    timeout_retransmissions,
    rescheduled_chunks,
    timeouts,
    reported_retransmissions,
    messages_sent,
    chunks_abandoned,
    messages_kept_reliable,
    forward_tsns_sent,
}
