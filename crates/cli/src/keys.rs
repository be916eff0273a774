//! `--key FILE`: only peers with a key of the file are accepted (AUTH, RFC 4895).

use std::path::PathBuf;
use std::time::Duration;

use polypath::config::SharedKeys;
use polypath::{Association, AssociationConfig, Endpoint, KeyFileError, KeyRing, KeyTextError};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::failure::Failure;
use crate::zoned::Zoned;

/// Interval at which a server rereads its file.
const LOOK: Duration = Duration::from_secs(1);

/// Reason for ending associations whose key was removed while they waited to be accepted.
pub(crate) const REVOKED: &str = "the key was revoked";

/// The file with keys.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct KeyArgs {
    /// Authenticate every packet after INIT and INIT ACK with a key of this file, and accept no peer without one (see `polypath
    /// key`). A program that connects uses the first key of the file; one that waits for peers accepts every key
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

impl KeyArgs {
    /// Changes the configuration of a side that connects.
    pub(crate) fn connect(&self, config: &mut AssociationConfig) -> Result<(), Failure> {
        if let Some(path) = &self.key {
            KeyRing::read(path).map_err(failure)?.authenticate_with_first(config);
        }
        Ok(())
    }

    /// Changes the configuration of a side that waits for peers.
    pub(crate) fn accept(&self, config: &mut AssociationConfig) -> Result<Gate, Failure> {
        let Some(path) = &self.key else { return Ok(Gate(None)) };
        let ring = KeyRing::read(path).map_err(failure)?;
        ring.authenticate_peers(config);
        Ok(Gate(Some(Watched { path: path.clone(), ring: Ok(ring), is_fresh: false, looks: None })))
    }
}

/// Wrong usage, unless the system reported an error.
pub(crate) fn failure(error: KeyFileError) -> Failure {
    let is_unfit = matches!(error, KeyFileError::NoRandomness);
    let error = anyhow::Error::from(error).context("--key");
    if is_unfit { Failure::Unfit(error) } else { Failure::Usage(error) }
}

/// Who may connect to a server.
#[derive(Debug)]
pub(crate) struct Gate(Option<Watched>);

/// A file that is reread periodically.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    /// The keys, or the error in the file.
    ring: Result<KeyRing, Problem>,
    /// Whether the file was like this at one look only, so that it may be half written.
    is_fresh: bool,
    looks: Option<Interval>,
}

/// Why a file has no keys.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Problem {
    text: String,
    /// Whether all keys were taken out on purpose, as far as one can see: the file is empty or gone.
    revokes_all: bool,
}

/// What a look at the file finds.
#[derive(Debug)]
enum Look {
    /// The keys that peers may have from now on, and a line about them.
    Changed(SharedKeys, String),
    /// The file is the same as at the last look, but not as at the one before: associations with other keys end.
    Confirmed(SharedKeys),
    Nothing,
}

impl Gate {
    /// A warning that there is no key, unless only this host can connect. `may` says what anybody may do.
    pub(crate) fn warning(&self, listen: &[Zoned], may: &str) -> Option<String> {
        let is_open = self.0.is_none() && !listen.iter().all(|local| local.address.is_loopback());
        is_open.then(|| format!("without --key, anybody who can reach these addresses can {may}"))
    }

    /// The name of the peer's key, if there are keys. An error if the key was removed while the peer waited.
    pub(crate) fn admit(&self, association: &Association) -> Result<Option<String>, &'static str> {
        let Some(Watched { ring, .. }) = &self.0 else { return Ok(None) };
        let name = association.peer_key().and_then(|id| ring.as_ref().ok()?.name(id));
        name.map(|name| Some(name.to_owned())).ok_or(REVOKED)
    }

    /// Waits for a change of the file. From then on `endpoint` accepts only peers with keys of the file, and nobody if it has no
    /// readable key, since removing the last key means just that. Returns a line that says so. At the next look, if the file is still
    /// the same, associations end whose keys were removed.
    pub(crate) async fn changed(&mut self, endpoint: &Endpoint) -> String {
        let Some(watched) = &mut self.0 else { return std::future::pending().await };
        loop {
            watched.looks.get_or_insert_with(looks).tick().await;
            match watched.look() {
                Look::Changed(keys, line) => {
                    endpoint.set_shared_keys(keys);
                    return line;
                }
                Look::Confirmed(keys) => match endpoint.revoke_other_keys(&keys, REVOKED) {
                    0 => {}
                    1 => return "1 association whose key was revoked was aborted".to_owned(),
                    count => {
                        return format!(
                            "{count} associations whose keys were revoked were aborted"
                        );
                    }
                },
                Look::Nothing => {}
            }
        }
    }
}

fn looks() -> Interval {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    looks
}

impl Watched {
    /// Reads the file.
    fn look(&mut self) -> Look {
        let now = KeyRing::read(&self.path).map_err(Problem::from);
        let nobody = || SharedKeys::one_per_peer([]).unwrap_or_default();
        if now == self.ring {
            return match (std::mem::take(&mut self.is_fresh), &self.ring) {
                (true, Ok(ring)) => Look::Confirmed(ring.shared_keys()),
                (true, Err(problem)) if problem.revokes_all => Look::Confirmed(nobody()),
                // Not everybody has to go because of a mistake in a line.
                (true, Err(_)) | (false, _) => Look::Nothing,
            };
        }
        (self.ring, self.is_fresh) = (now, true);
        match &self.ring {
            Ok(ring) => {
                let names: Vec<_> = ring.names().collect();
                let line = format!("{} was read again: {}", self.path.display(), names.join(", "));
                Look::Changed(ring.shared_keys(), line)
            }
            Err(Problem { text, .. }) => {
                Look::Changed(nobody(), format!("{text}; no peer is accepted until that is fixed"))
            }
        }
    }
}

impl From<KeyFileError> for Problem {
    fn from(error: KeyFileError) -> Self {
        let revokes_all = match &error {
            KeyFileError::Read { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
            KeyFileError::Text { problem, .. } => *problem == KeyTextError::Empty,
            _ => false,
        };
        Self { text: format!("{:#}", anyhow::Error::from(error)), revokes_all }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use polypath::{EndpointConfig, Peer};

    use super::*;

    const KEY: &str = "000102030405060708090a0b0c0d0e0f";

    #[test]
    fn a_file_that_changes_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        KeyRing::create(&path, "alice").unwrap();
        let (args, mut config) =
            (KeyArgs { key: Some(path.clone()) }, AssociationConfig::default());
        let mut gate = args.accept(&mut config).unwrap();
        let watched = gate.0.as_mut().unwrap();
        assert!(matches!(watched.look(), Look::Nothing));

        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}bob {KEY}\n")).unwrap();
        let Look::Changed(keys, line) = watched.look() else { panic!() };
        assert_eq!(keys.ids().count(), 2);
        assert!(line.ends_with("alice, bob"), "{line}");
        assert!(matches!(watched.look(), Look::Confirmed(same) if same == keys));
        assert!(matches!(watched.look(), Look::Nothing));

        std::fs::write(&path, "# revoked\n").unwrap();
        let Look::Changed(keys, line) = watched.look() else { panic!() };
        assert_eq!(keys.ids().count(), 0);
        assert!(line.contains("has no key") && line.contains("no peer is accepted"), "{line}");
        assert!(matches!(watched.look(), Look::Confirmed(none) if none.ids().count() == 0));
        assert!(matches!(watched.look(), Look::Nothing), "a change is reported once");

        // A mistake lets nobody in, and ends nothing. A file that is gone has no keys.
        std::fs::write(&path, "alice 00\n").unwrap();
        assert!(matches!(watched.look(), Look::Changed(nobody, _) if nobody.ids().count() == 0));
        assert!(matches!(watched.look(), Look::Nothing));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(watched.look(), Look::Changed(nobody, _) if nobody.ids().count() == 0));
        assert!(matches!(watched.look(), Look::Confirmed(none) if none.ids().count() == 0));
        KeyRing::create(&path, "carol").unwrap();
        assert!(matches!(watched.look(), Look::Changed(..)));

        std::fs::write(&path, text).unwrap();
        let Look::Changed(keys, line) = watched.look() else { panic!() };
        assert_eq!(keys, config.shared_keys);
        assert!(line.ends_with("again: alice"), "{line}");
    }

    #[tokio::test]
    async fn who_waited_while_the_key_was_revoked_is_not_admitted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        KeyRing::create(&path, "alice").unwrap();
        let args = KeyArgs { key: Some(path.clone()) };
        let (mut near, mut far) = (AssociationConfig::default(), AssociationConfig::default());
        args.connect(&mut near).unwrap();
        let mut gate = args.accept(&mut far).unwrap();
        let bind = |last| Endpoint::builder([[127, 0, 0, last].into()]).encapsulation_port(0);
        let config = EndpointConfig { association: far, ..EndpointConfig::default() };
        let server = bind(61).config(config).listen(2).bind().unwrap();
        let peer = Peer::new(server.local_addresses(), server.port())
            .encapsulation_port(server.encapsulation_port());
        let client = bind(62).bind().unwrap();
        let connected = client.connect(&peer, near).await.unwrap();
        let waiting = server.accept().await.unwrap();
        assert_eq!(gate.admit(&waiting), Ok(Some("alice".to_owned())));

        std::fs::write(&path, format!("bob {KEY}\n")).unwrap();
        let line = gate.changed(&server).await;
        assert!(line.ends_with("again: bob"), "{line}");
        assert_eq!(gate.admit(&waiting), Err(REVOKED));
        assert_eq!(Gate(None).admit(&waiting), Ok(None));
        // It ends at the next look.
        let line = gate.changed(&server).await;
        assert_eq!(line, "1 association whose key was revoked was aborted");
        assert!(connected.closed().await.unwrap_err().to_string().contains(REVOKED));
    }

    #[test]
    fn who_listens_to_others_without_a_key_is_told() {
        let zoned = |text: &str| text.parse::<Zoned>().unwrap();
        let told = |listen: &[Zoned]| Gate(None).warning(listen, "send files here");
        for open in [&["192.0.2.1"][..], &["127.0.0.1", "192.0.2.1"], &["0.0.0.0"], &["::"]] {
            let open: Vec<_> = open.iter().map(|text| zoned(text)).collect();
            assert!(told(&open).unwrap().contains("--key"), "{open:?}");
        }
        assert_eq!(told(&[zoned("127.0.0.2"), zoned("::1")]), None);
    }
}
