//! The file of `polypath with --config`: the options of the command, by their names.

use std::path::Path;

use polypath::Preset;
use polypath_sim::document::{Document, Layer};
use serde::Deserialize;

use super::Paths;
use crate::failure::Failure;

/// Content of the file. Options of the command line take precedence; settings of the file are applied first.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Options {
    pub(super) preset: Option<Preset>,
    pub(super) set: Vec<String>,
    pub(super) paths: Option<Paths>,
    pub(super) encapsulation_port: Option<u16>,
    pub(super) local_encapsulation_port: Option<u16>,
    pub(super) raw: Option<bool>,
}

impl Options {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let document = Document::read(path).map_err(Failure::usage)?;
        Self::of(&document)
    }

    fn of(document: &Document) -> Result<Self, Failure> {
        let options: Self = document.decode(&[Layer::At(&[])]).map_err(Failure::usage)?;
        if options.raw == Some(true) && options.encapsulation_port.is_some() {
            let step = polypath_sim::document::Step::Key("encapsulation_port");
            return Err(Failure::usage(document.complain(
                &[step],
                "packets over IP itself (raw) have no UDP port: leave out one of the two",
            )));
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options, String> {
        let document = Document::parse("with.toml", text).map_err(|error| error.to_string())?;
        Options::of(&document).map_err(|failure| failure.to_string())
    }

    #[test]
    fn every_option_has_a_key() {
        let text = "preset = \"cmt\"\nset = [\"policies.rto.min=200 ms\"]\npaths = \"all\"\n\
                    encapsulation_port = 9900\nlocal_encapsulation_port = 0\nraw = false\n";
        let options = read(text).unwrap();
        let expected = Options {
            preset: Some(Preset::Cmt),
            set: vec!["policies.rto.min=200 ms".to_owned()],
            paths: Some(Paths::All),
            encapsulation_port: Some(9900),
            local_encapsulation_port: Some(0),
            raw: Some(false),
        };
        assert_eq!(options, expected);
        assert_eq!(read("").unwrap(), Options::default());
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, named) in [
            ("preset = \"cmt\"\npath = \"all\"\n", "with.toml:2:1: unknown key `path`"),
            ("paths = \"al\"\n", "did you mean `all`?"),
            ("preset = \"fast\"\n", "with.toml:1:10: preset"),
            ("encapsulation_port = 70000\n", "from 0 to 65535"),
            ("set = \"policies.rto.min=1 s\"\n", "with.toml:1:7: set"),
            ("raw = true\nencapsulation_port = 9900\n", "with.toml:2:22: encapsulation_port"),
            ("raw", "with.toml:1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(named), "{text:?}: {error}");
        }
    }
}
