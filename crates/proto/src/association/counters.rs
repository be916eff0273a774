//! What an association counts itself. The other numbers of its statistics are kept where they arise, and joined when
//! somebody asks.

use crate::{AbandonedMessages, AssociationStats};

/// Makes the struct, and the copy into what is public, of one list.
macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// As the fields of the same name in [`AssociationStats`].
        #[derive(Clone, Debug, Default)]
        pub(super) struct Counters {
            $(pub(super) $name: u64,)*
            pub(super) abandoned: AbandonedMessages,
        }

        impl Counters {
            /// Statistics with these numbers, and nothing else.
            pub(super) fn stats(&self) -> AssociationStats {
                AssociationStats {
                    $($name: self.$name,)*
                    abandoned: self.abandoned,
                    ..AssociationStats::default()
                }
            }
        }
    };
}

counters! {
    packets_sent,
    packets_received,
    packets_discarded,
    packets_damaged,
    data_chunks_sent,
    chunks_withdrawn,
    stale_sacks,
    bytes_released_early,
    sacks_sent,
    nr_sacks_sent,
    sacks_received,
    nr_sacks_received,
    fast_retransmissions,
    timeout_retransmissions,
    rescheduled_chunks,
    timeouts,
    drop_reports_sent,
    drop_reports_received,
    reported_retransmissions,
    messages_sent,
    chunks_abandoned,
    messages_kept_reliable,
    forward_tsns_sent,
    forward_tsns_received,
    messages_received,
    bytes_received,
    addresses_ignored,
}
