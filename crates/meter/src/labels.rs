//! Texts of the user for a document.

use crate::document::ConnectingTo;

/// Texts of the user and of the program that a document has besides results.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Labels {
    pub(crate) program: Option<String>,
    pub(crate) extra_data: Option<String>,
    pub(crate) connecting_to: Option<ConnectingTo>,
    pub(crate) preset: Option<String>,
}

impl Labels {
    /// No labels; the program is this crate with its version.
    pub fn new() -> Self {
        Self::default()
    }

    /// Name and version of the program that measures.
    #[must_use]
    pub fn program(mut self, program: impl Into<String>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Any text of the user, which is copied to the document.
    #[must_use]
    pub fn extra_data(mut self, text: impl Into<String>) -> Self {
        self.extra_data = Some(text.into());
        self
    }

    /// The server that a client connects to: `host` as the user wrote it, the SCTP port, and the UDP port unless SCTP travels
    /// over IP itself.
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

    /// Name of the preset of policies that this end began with.
    #[must_use]
    pub fn preset(mut self, preset: impl Into<String>) -> Self {
        self.preset = Some(preset.into());
        self
    }
}
