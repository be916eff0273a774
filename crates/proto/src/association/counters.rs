//! What an association counts itself. The other numbers of its statistics are kept where they arise, and joined when
//! somebody asks.

use crate::AssociationStats;

/// Makes the struct, and the copy into what is public, of one list.
macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// As the fields of the same name in [`AssociationStats`].
        #[derive(Clone, Debug, Default)]
        pub(super) struct Counters {
            $(pub(super) $name: u64,)*
        }

        impl Counters {
            /// Statistics with these numbers, and nothing else.
            pub(super) fn stats(&self) -> AssociationStats {
                AssociationStats {
                    $($name: self.$name,)*
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
    sacks_sent,
    nr_sacks_sent,
    drop_reports_sent,
    drop_reports_received,
    forward_tsns_received,
    messages_received,
    bytes_received,
    addresses_ignored,
}
