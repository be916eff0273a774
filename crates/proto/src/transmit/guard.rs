//! Tells the goodput guard what was delivered, and keeps new data off the paths that it lets rest.

use alloc::boxed::Box;

use super::{SendCx, Transmitter};
use crate::config::{GoodputGuarding, PathOrder};
use crate::mechanism::goodput_guard::{BestPath, Finding, GoodputGuard, GuardView};
use crate::transmit::sack::AckDelta;
use crate::types::PathSet;
use crate::{Duration, PathId, ProbeEvent};

impl Transmitter {
    /// Whether the path carries no data of its own, because one of the `usable` ones delivers more than all.
    #[inline]
    pub(super) fn rests(&self, path: PathId, usable: PathSet) -> bool {
        let kept = self.guard.as_ref().and_then(|guard| guard.kept());
        kept.is_some_and(|kept| kept != path && usable.contains(kept))
    }

    /// A SACK has delivered something.
    #[inline]
    pub(super) fn guard_goodput(&mut self, cx: &mut SendCx<'_>, delta: &AckDelta) {
        let policies = &cx.config.policies;
        if policies.goodput_guard == GoodputGuarding::On
            && policies.path_order != PathOrder::Primary
            && cx.book.usable().is_several()
        {
            self.tell_guard(cx, delta);
        }
    }

    fn tell_guard(&mut self, cx: &mut SendCx<'_>, delta: &AckDelta) {
        let bytes = delta.paths.iter().map(|news| news.user_bytes.max(news.flight_bytes)).sum();
        // A message that names a path may use no other one.
        let idle = self.has_all() || self.queue.names_paths();
        if idle && self.guard.is_none() {
            return;
        }
        let guard = self.guard.get_or_insert_with(|| Box::new(GoodputGuard::new(cx.now)));
        if guard.on_delivered(cx.now, bytes, idle) {
            self.end_guard_period(cx);
        }
    }

    #[inline(never)]
    fn end_guard_period(&mut self, cx: &mut SendCx<'_>) {
        let usable = cx.book.usable();
        let buffer = self.queue.limit().min(self.receive_buffer());
        let tried = self.guard.as_ref().map_or(PathSet::EMPTY, |guard| guard.tried());
        let measured = self.paths.among(usable.without(tried)).filter_map(|path| {
            let view = self.measured(path, cx.now)?;
            let alone = view.at_most_alone(buffer)?;
            Some(BestPath { path: path.id, alone, srtt: view.srtt })
        });
        let view = GuardView {
            now: cx.now,
            best: measured.max_by_key(|best| best.alone),
            longest_rtt: self
                .paths
                .among(usable)
                .filter_map(|path| path.rtt.srtt())
                .max()
                .unwrap_or(Duration::ZERO),
        };
        let Some(guard) = &mut self.guard else { return };
        let finding = match guard.kept() {
            Some(kept) if !usable.contains(kept) => guard.give_up(),
            _ => guard.on_period(&view),
        };
        match finding {
            Some(Finding::Rest { kept, alone, together }) => cx.probe.on(
                cx.now,
                ProbeEvent::PathsRest { kept, alone_bytes_s: alone, together_bytes_s: together },
            ),
            Some(Finding::Return) => cx.probe.on(cx.now, ProbeEvent::PathsReturn),
            None => {}
        }
    }
}
