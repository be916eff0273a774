//! Parameters that are changed while the association lives (RFC 6458 section 8), and what only a few associations have: paths with
//! parameters of their own, and an end after idle time.

use core::net::IpAddr;

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Association;
use crate::config::{
    AssociationConfig, AssociationOptions, ConfigError, Heartbeats, LongMessages, PathOptions,
    PathOptionsError, PmtuDiscovery, SharedConfig, TrafficMarks,
};
use crate::mechanism::autoclose::{Activity, Autoclose};
use crate::paths::plpmtu::{Plpmtu, SizeLimits};
use crate::receive::PathDelay;
use crate::types::Vacant;
use crate::{Cx, Duration, Instant, PathId, SendError};

/// What most associations do not have.
#[derive(Debug, Default)]
pub(super) struct Tuning {
    /// Parameters of paths that have their own, as far as they differ from those of the association.
    paths: Vec<(PathId, PathOptions)>,
    autoclose: Option<Autoclose>,
    /// A local address that was lost while it was the only one. It goes once there is another one.
    pub(super) lost_address: Option<IpAddr>,
}

impl Vacant for Tuning {
    const VACANT: &'static Self = &Self { paths: Vec::new(), autoclose: None, lost_address: None };
}

impl Association {
    /// The parameters that can be changed, all of them.
    pub fn options(&self) -> AssociationOptions {
        AssociationOptions::of(&self.config)
    }

    /// Changes parameters, immediately unless RFC 9260 says otherwise. Parameters of an association that a peer
    /// initiated can be set from [`Route::New`](crate::Route::New) on, before its first answer is polled. What the
    /// handshake announced to the peer stays as it is.
    ///
    /// # Errors
    ///
    /// The first setting with an invalid value, as in
    /// [`AssociationConfig::check`](crate::config::AssociationConfig::check). Nothing has changed then.
    pub fn set_options(
        &mut self,
        cx: &mut Cx<'_>,
        options: &AssociationOptions,
    ) -> Result<(), ConfigError> {
        self.stir();
        let before = self.config.clone();
        let config = SharedConfig::new(options.applied_to(&before)?);
        for path in self.transmitter.paths.iter_mut() {
            path.rtt.take_rules(&config);
        }
        self.config = config;
        let config = &self.config;
        if config.policies.congestion != before.policies.congestion {
            let window = self.transmitter.advertised_window;
            self.transmitter.paths.change_controllers(cx.now, config, &self.paths, window);
            for path in self.transmitter.paths.iter().filter(|it| it.last_data_sent.is_some()) {
                cx.probe.on(cx.now, path.congestion_event());
            }
        }
        if let Some(receiver) = self.state.receiver_mut() {
            let ack = config.policies.delayed_ack;
            receiver.set_delayed_ack(ack.delay, ack.packets);
            receiver.set_partial_delivery_point(config.partial_delivery_point);
            if config.receive_buffer_bytes != before.receive_buffer_bytes {
                receiver.enlarge_buffer(config.receive_buffer());
            }
        }
        if config.send_buffer_bytes != before.send_buffer_bytes {
            self.transmitter.resize_buffer(config.send_buffer());
        }
        if config.max_fragment_bytes != before.max_fragment_bytes {
            self.fit_fragments();
        }
        if self.config.heartbeat_interval != before.heartbeat_interval {
            for path in self.paths.ids() {
                self.heartbeats_changed(cx, path);
            }
        }
        if self.config.autoclose != before.autoclose {
            self.start_autoclose(cx.now);
        }
        Ok(())
    }

    /// All parameters of a path; `None` if the path does not exist.
    pub fn path_options(&self, path: PathId) -> Option<PathOptions> {
        self.paths.get(path)?;
        let mtu = self.transmitter.paths[path].mtu();
        let traffic = self.traffic(path);
        let sack = self.tuning.path_delay(path, &self.config).unwrap_or(PathDelay {
            delay: self.config.policies.delayed_ack.delay,
            packets: self.config.policies.delayed_ack.packets,
        });
        Some(PathOptions {
            heartbeats: Some(Heartbeats::of(self.heartbeat_interval(path))),
            max_retrans: Some(self.path_max_retrans(path)),
            pf_threshold: Some(self.pf_threshold(path)),
            pmtu_discovery: Some(self.pmtu_discovery(path)),
            mtu_bytes: Some(u16::try_from(mtu).unwrap_or(u16::MAX)),
            sack_delay: Some(sack.delay),
            sack_packets: Some(sack.packets),
            dscp: Some(traffic.dscp),
            ipv6_flow_label: Some(traffic.flow_label),
        })
    }

    /// Changes parameters of a path.
    ///
    /// # Errors
    ///
    /// The path does not exist, or a value is invalid. Nothing has changed then.
    pub fn set_path_options(
        &mut self,
        cx: &mut Cx<'_>,
        id: PathId,
        options: &PathOptions,
    ) -> Result<(), PathOptionsError> {
        let path = self.paths.get(id).ok_or(PathOptionsError::NoSuchPath)?;
        let least = u16::try_from(path.least_mtu()).unwrap_or(u16::MAX);
        let most = self.config.mtu_bytes.max(least);
        options.check(&self.config, self.pmtu_discovery(id), [least, most])?;
        self.stir();
        let discovery = options.pmtu_discovery.filter(|it| *it != self.pmtu_discovery(id));
        let own = self.tuning.path_mut(id);
        own.heartbeats = options.heartbeats.or(own.heartbeats);
        own.max_retrans = options.max_retrans.or(own.max_retrans);
        own.pf_threshold = options.pf_threshold.or(own.pf_threshold);
        own.pmtu_discovery = options.pmtu_discovery.or(own.pmtu_discovery);
        own.sack_delay = options.sack_delay.or(own.sack_delay);
        own.sack_packets = options.sack_packets.or(own.sack_packets);
        own.dscp = options.dscp.or(own.dscp);
        own.ipv6_flow_label = options.ipv6_flow_label.or(own.ipv6_flow_label);
        if let Some(discovery) = discovery {
            self.find_mtu_by(id, discovery, most);
        }
        if let Some(mtu) = options.mtu_bytes {
            self.set_mtu(cx, id, mtu.into());
        }
        if options.heartbeats.is_some() {
            self.heartbeats_changed(cx, id);
        }
        Ok(())
    }

    /// Sends a heartbeat on a path now (`SPP_HB_DEMAND`), even if it is not idle. An unanswered one counts as a
    /// timeout.
    ///
    /// # Errors
    ///
    /// [`SendError::NoSuchPath`] if the path does not exist, or [`SendError::Closed`] if the association is not
    /// established or is shutting down.
    pub fn request_heartbeat(&mut self, cx: &mut Cx<'_>, path: PathId) -> Result<(), SendError> {
        if self.paths.get(path).is_none_or(|it| it.reach().is_closed()) {
            return Err(SendError::NoSuchPath);
        }
        if !self.state.may_send_data() {
            return Err(SendError::Closed);
        }
        self.stir();
        self.send_heartbeat(cx, path);
        Ok(())
    }

    /// The most bytes of a message that goes in one chunk.
    pub fn max_chunk_payload(&self) -> usize {
        self.transmitter.max_fragment as usize
    }

    /// Whether a message of `size` bytes may be sent in several chunks, if it has to.
    pub(super) fn admits_fragments(&self, size: usize) -> Result<(), SendError> {
        let limit = self.max_chunk_payload();
        match self.config.long_messages {
            LongMessages::Refuse if size > limit => Err(SendError::NeedsFragments { size, limit }),
            LongMessages::Refuse | LongMessages::Fragment => Ok(()),
        }
    }

    fn heartbeats_changed(&mut self, cx: &mut Cx<'_>, path: PathId) {
        if self.state.may_send_data() && !self.paths[path].reach().is_closed() {
            self.schedule_heartbeat(cx, path);
        }
    }

    fn find_mtu_by(&mut self, id: PathId, discovery: PmtuDiscovery, most: u16) {
        let path = &mut self.paths[id];
        path.plpmtu = (discovery == PmtuDiscovery::Probe).then(|| {
            let limits = SizeLimits::new(path.headers(), path.least_mtu(), most.into());
            Box::new(Plpmtu::new(limits))
        });
        self.follow_reachability(id);
        self.fit_fragments();
    }
}

/// Parameters of a path: its own, or those of the association.
impl Association {
    pub(super) fn heartbeat_interval(&self, path: PathId) -> Option<Duration> {
        let own = self.tuning.path(path).and_then(|own| own.heartbeats);
        own.map_or(self.config.heartbeat_interval, Heartbeats::interval)
    }

    pub(super) fn path_max_retrans(&self, path: PathId) -> u32 {
        let own = self.tuning.path(path).and_then(|own| own.max_retrans);
        own.unwrap_or(self.config.path_max_retrans)
    }

    pub(super) fn pf_threshold(&self, path: PathId) -> u32 {
        let own = self.tuning.path(path).and_then(|own| own.pf_threshold);
        own.unwrap_or(self.config.policies.failover.pf_threshold)
    }

    /// What packets on the path ask of the network.
    #[inline]
    pub(super) fn traffic(&self, path: PathId) -> TrafficMarks {
        let all = self.config.traffic();
        let own = self.tuning.used().and_then(|tuning| tuning.path(path));
        own.map_or(all, |own| TrafficMarks {
            dscp: own.dscp.unwrap_or(all.dscp),
            flow_label: own.ipv6_flow_label.unwrap_or(all.flow_label),
        })
    }

    pub(super) fn pmtu_discovery(&self, path: PathId) -> PmtuDiscovery {
        let own = self.tuning.path(path).and_then(|own| own.pmtu_discovery);
        own.or(self.config.pmtu_discovery).unwrap_or(PmtuDiscovery::Icmp)
    }
}

/// The end after idle time (RFC 6458 section 8.1.8).
impl Association {
    /// Begins to watch for idle time, if that is wanted; once the association is established.
    pub(super) fn start_autoclose(&mut self, now: Instant) {
        let wanted = self.config.autoclose.filter(|_| self.state.is_connected());
        let activity = self.activity();
        let autoclose = wanted.map(|limit| Autoclose::new(now, limit, activity));
        match autoclose {
            Some(_) => self.tuning.autoclose = autoclose,
            None => {
                if let Some(tuning) = self.tuning.if_used() {
                    tuning.autoclose = None;
                }
            }
        }
    }

    #[inline]
    pub(super) fn autoclose_due(&self) -> Option<Instant> {
        Some(self.tuning.used()?.autoclose.as_ref()?.due())
    }

    /// Checks whether there is user data.
    pub(super) fn watch_idle_time(&mut self, cx: &mut Cx<'_>) {
        let activity = self.activity();
        let Some(autoclose) = &mut self.tuning.autoclose else { return };
        if autoclose.is_over(cx.now, activity) {
            self.tuning.autoclose = None;
            self.begin_shutdown(cx);
        }
    }

    fn activity(&self) -> Activity {
        let transmitter = &self.transmitter;
        Activity {
            sent: transmitter.outstanding.next_tsn(),
            received: self.state.receiver().map_or(0, |it| it.counters().new_chunks),
            is_busy: !transmitter.queue.is_empty()
                || transmitter.outstanding.base() != transmitter.outstanding.next_tsn(),
        }
    }
}

impl Tuning {
    #[inline]
    fn path(&self, id: PathId) -> Option<&PathOptions> {
        self.paths.iter().find(|(path, _)| *path == id).map(|(_, options)| options)
    }

    /// How acknowledgements of data on a path are delayed, if the path has its own setting.
    #[inline]
    pub(super) fn path_delay(&self, id: PathId, config: &AssociationConfig) -> Option<PathDelay> {
        let own =
            self.path(id).filter(|it| it.sack_delay.is_some() || it.sack_packets.is_some())?;
        let all = &config.policies.delayed_ack;
        Some(PathDelay {
            delay: own.sack_delay.unwrap_or(all.delay),
            packets: own.sack_packets.unwrap_or(all.packets),
        })
    }

    fn path_mut(&mut self, id: PathId) -> &mut PathOptions {
        let at = self.paths.iter().position(|(path, _)| *path == id).unwrap_or_else(|| {
            self.paths.push((id, PathOptions::default()));
            self.paths.len() - 1
        });
        &mut self.paths[at].1
    }
}
