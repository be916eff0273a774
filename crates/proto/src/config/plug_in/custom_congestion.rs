//! Custom congestion controllers.

use alloc::boxed::Box;
use core::fmt;

use super::controller::Controller;
use super::view::NewPath;

/// A factory of controllers, shared by the associations of a configuration.
#[allow(clippy::disallowed_types)]
type ControllerFactory = alloc::sync::Arc<dyn Fn(&NewPath) -> Box<dyn Controller> + Send + Sync>;

/// A congestion control of the program: creates a controller for each path.
///
/// ```
/// use polypath_proto::config::{AssociationConfig, CongestionAlgorithm};
/// use polypath_proto::congestion::{BuiltIn, CustomCongestion};
///
/// let mut config = AssociationConfig::default();
/// config.custom_congestion = Some(CustomCongestion::new("my-own", |path| {
///     Box::new(BuiltIn::new(CongestionAlgorithm::Rfc9260, path))
/// }));
/// ```
#[derive(Clone)]
pub struct CustomCongestion {
    name: &'static str,
    make: ControllerFactory,
}

impl CustomCongestion {
    /// Creates a congestion control with a name for messages. `make` is called when a path is created, again when the peer's
    /// receive window is known, and whenever a path restarts. For reproducible simulations, controllers should depend only on
    /// their argument and their events.
    #[allow(clippy::disallowed_types)]
    pub fn new(
        name: &'static str,
        make: impl Fn(&NewPath) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Self {
        Self { name, make: alloc::sync::Arc::new(make) }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A controller for a path.
    pub fn controller(&self, path: &NewPath) -> Box<dyn Controller> {
        (self.make)(path)
    }
}

impl fmt::Debug for CustomCongestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomCongestion").field(&self.name).finish()
    }
}

/// Two are equal if they have the same factory.
impl PartialEq for CustomCongestion {
    #[allow(clippy::disallowed_types)]
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && alloc::sync::Arc::ptr_eq(&self.make, &other.make)
    }
}
