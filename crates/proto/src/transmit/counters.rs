//! What the transmitter counts itself.

use alloc::vec::Vec;

use crate::mechanism::reneging_limit::RenegingLimit;
use crate::types::{Lazy, Vacant};
use crate::{AbandonedMessages, AssociationStats};

/// Makes the structs, and the copy into what is public, of one list. What is counted in few associations takes no memory in the others.
macro_rules! counters {
    (often: $($often:ident),*; seldom: $($seldom:ident),*;) => {
        /// As the fields of the same name in [`AssociationStats`].
        #[derive(Debug, Default)]
        pub(crate) struct TransmitCounters {
            $(pub(crate) $often: u64,)*
            pub(crate) seldom: Lazy<SeldomTransmitCounters>,
        }

        /// As the fields of the same name in [`AssociationStats`].
        #[derive(Debug, Default)]
        pub(crate) struct SeldomTransmitCounters {
            $(pub(crate) $seldom: u64,)*
            pub(crate) abandoned: AbandonedMessages,
            /// The same of each stream that has some, in the order of their identifiers.
            pub(crate) abandoned_by_stream: Vec<(u16, AbandonedMessages)>,
            /// Not a counter, but needed as seldom.
            pub(crate) reneging: RenegingLimit,
        }

        impl Vacant for SeldomTransmitCounters {
            const VACANT: &'static Self = &Self {
                $($seldom: 0,)*
                abandoned: AbandonedMessages::NONE,
                abandoned_by_stream: Vec::new(),
                reneging: RenegingLimit::NONE,
            };
        }

        impl TransmitCounters {
            /// Enters these numbers.
            pub(crate) fn enter(&self, stats: &mut AssociationStats) {
                $(stats.$often = self.$often;)*
                $(stats.$seldom = self.seldom.$seldom;)*
                stats.abandoned = self.seldom.abandoned;
            }
        }
    };
}

counters! {
    often: data_chunks_sent, bytes_released_early, sacks_received, nr_sacks_received, messages_sent;
    seldom: chunks_withdrawn, stale_sacks, fast_retransmissions, timeout_retransmissions, rescheduled_chunks, timeouts,
        reported_retransmissions, chunks_abandoned, messages_kept_reliable, forward_tsns_sent,
        ecn_capable_packets_sent, ecn_echoes_received, ecn_echoes_refused, ecn_reductions, ecn_paths_given_up;
}
