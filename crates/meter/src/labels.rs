//! What a document says besides results.

use crate::document::ConnectingTo;

/// What a document says besides results.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Labels {
    pub(crate) program: Option<String>,
    pub(crate) extra_data: Option<String>,
    pub(crate) connecting_to: Option<ConnectingTo>,
    pub(crate) preset: Option<String>,
}

impl Labels {
    /// None, except for the name and version of this crate as the program.
    pub fn new() -> Self {
        Self::default()
    }

    /// The program that measures, with its version.
    #[must_use]
    pub fn program(mut self, program: impl Into<String>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Any text of the user.
    #[must_use]
    pub fn extra_data(mut self, text: impl Into<String>) -> Self {
        self.extra_data = Some(text.into());
        self
    }

    /// The server that a client was told to connect to: `host` as it was written, the SCTP port, and the UDP port unless SCTP travels over
    /// IP itself.
    #[must_use]
    pub fn connecting_to(
        mut self,
        host: impl Into<String>,
        port: u16,
        encapsulation_port: Option<u16>,
    ) -> Self {
        self.connecting_to = Some(ConnectingTo { host: host.into(), port, encapsulation_port });
        self
    }

    /// The policies that this end began with.
    #[must_use]
    pub fn preset(mut self, preset: impl Into<String>) -> Self {
        self.preset = Some(preset.into());
        self
    }
}
