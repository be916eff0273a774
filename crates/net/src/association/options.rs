//! Parameters that are changed while the association lives (RFC 6458 section 8).

use polypath_proto::PathId;
use polypath_proto::config::{AssociationOptions, ConfigError, PathOptions, PathOptionsError};

use super::Association;
use crate::error::SendError;

impl Association {
    /// The parameters that can be changed, all of them.
    pub fn options(&self) -> AssociationOptions {
        self.shared.lock().protocol.options()
    }

    /// Changes parameters, at once where RFC 9260 does not say otherwise. What the handshake told the peer stays as it is.
    /// Those of associations that peers begin can be set before these are answered:
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
    /// Names the first setting that cannot be used, and what can. Nothing has changed then.
    pub fn set_options(&self, options: &AssociationOptions) -> Result<(), ConfigError> {
        let now = self.shared.clock.now();
        self.shared.lock().call(now, |protocol, cx| protocol.set_options(cx, options))?;
        self.shared.command();
        // A larger send buffer may have room.
        self.shared.writable.notify_waiters();
        Ok(())
    }

    /// The parameters of a path, all of them; `None` if there is no such path.
    pub fn path_options(&self, path: PathId) -> Option<PathOptions> {
        self.shared.lock().protocol.path_options(path)
    }

    /// Changes parameters of a path (`SCTP_PEER_ADDR_PARAMS`, `SCTP_PEER_ADDR_THLDS`).
    ///
    /// # Errors
    ///
    /// If there is no such path, or a value cannot be used. Nothing has changed then.
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

    /// Sends a heartbeat on a path now (`SPP_HB_DEMAND`), whether or not it is idle. One that is not answered counts as a timeout.
    ///
    /// # Errors
    ///
    /// If there is no such path, or the association is not established, or shuts down.
    pub fn request_heartbeat(&self, path: PathId) -> Result<(), SendError> {
        let now = self.shared.clock.now();
        self.shared.lock().call(now, |protocol, cx| protocol.request_heartbeat(cx, path))?;
        self.shared.command();
        Ok(())
    }
}
