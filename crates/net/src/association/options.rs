//! Parameters of a live association (RFC 6458 section 8).

use polypath_proto::PathId;
use polypath_proto::config::{AssociationOptions, ConfigError, PathOptions, PathOptionsError};

use super::Association;
use crate::error::SendError;

impl Association {
    /// All parameters that can be changed.
    pub fn options(&self) -> AssociationOptions {
        self.shared.lock().protocol.options()
    }

    /// Changes parameters, immediately unless RFC 9260 says otherwise. What the handshake announced to the peer stays
    /// as it is. Parameters of associations initiated by peers can be set before the peer gets an answer:
    /// [`EndpointBuilder::accept_options`](crate::EndpointBuilder::accept_options).
    ///
    /// ```
    /// # use polypath::{Association, AssociationOptions, Duration, config::ConfigError};
    /// # fn tune(association: &Association) -> Result<(), ConfigError> {
    /// association.set_options(&AssociationOptions {
    ///     sack_delay: Some(Duration::from_millis(20)),
    ///     association_max_retrans: Some(4),
    ///     ..AssociationOptions::default()
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The first setting with an invalid value, and the valid ones. Nothing has changed then.
    pub fn set_options(&self, options: &AssociationOptions) -> Result<(), ConfigError> {
        let now = self.shared.clock.now();
        self.shared.lock().call(now, |protocol, cx| protocol.set_options(cx, options))?;
        self.shared.command();
        // A larger send buffer may have space.
        self.shared.writable.notify_waiters();
        Ok(())
    }

    /// All parameters of a path; `None` if the path does not exist.
    pub fn path_options(&self, path: PathId) -> Option<PathOptions> {
        self.shared.lock().protocol.path_options(path)
    }

    /// Changes parameters of a path (`SCTP_PEER_ADDR_PARAMS`, `SCTP_PEER_ADDR_THLDS`).
    ///
    /// # Errors
    ///
    /// The path does not exist, or a value is invalid. Nothing has changed then.
    pub fn set_path_options(
        &self,
        path: PathId,
        options: &PathOptions,
    ) -> Result<(), PathOptionsError> {
        let now = self.shared.clock.now();
        let mut inner = self.shared.lock();
        inner.call(now, |protocol, cx| protocol.set_path_options(cx, path, options))?;
        drop(inner);
        self.shared.command();
        Ok(())
    }

    /// Sends a heartbeat on a path now (`SPP_HB_DEMAND`), even if it is not idle. An unanswered one counts as a
    /// timeout.
    ///
    /// # Errors
    ///
    /// The path does not exist, or the association is not established or is shutting down.
    pub fn request_heartbeat(&self, path: PathId) -> Result<(), SendError> {
        let now = self.shared.clock.now();
        self.shared.lock().call(now, |protocol, cx| protocol.request_heartbeat(cx, path))?;
        self.shared.command();
        Ok(())
    }
}
