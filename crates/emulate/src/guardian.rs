//! Ends what an emulation leaves behind that is killed before it can.

use std::process::{Child, Command, Stdio};

use crate::error::Error;
use crate::namespace::Namespace;

/// Waits until its standard input ends, then ends the programs of the namespaces in its arguments, and the namespaces. Those
/// of an emulation that ended by itself are gone by then.
const SCRIPT: &str = r#"
read -r _
for name; do
    rounds=0
    while pids=$(ip netns pids "$name") && [ -n "$pids" ] && [ $rounds -lt 100 ]; do
        kill -9 $pids
        rounds=$((rounds + 1))
        sleep 0.01
    done
    ip netns delete "$name"
done
"#;

/// A process that outlives an emulation that is killed. Programs do not hold the pipe that it listens to.
#[derive(Debug)]
pub(crate) struct Guardian(Child);

impl Guardian {
    /// Guards these namespaces until it is dropped, which must be after them.
    pub fn over<'a>(namespaces: impl IntoIterator<Item = &'a Namespace>) -> Result<Self, Error> {
        let names: Vec<&str> = namespaces.into_iter().map(Namespace::name).collect();
        let child = command(&names).spawn();
        child.map(Self).map_err(|error| Error::Start { command: "sh".to_owned(), error })
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn command(names: &[&str]) -> Command {
    use std::os::unix::process::CommandExt;

    let mut command = Command::new("sh");
    command.args(["-c", SCRIPT, "polypath-guardian"]).args(names);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Interruptions by the keyboard are not for it.
    command.process_group(0);
    command
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_an_emulation_leaves_behind_is_ended() {
        let directory =
            std::env::temp_dir().join(format!("polypath-guardian-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let mut left_behind = Command::new("sleep").arg("1000").spawn().unwrap();
        // An `ip` that knows one program, until that is told.
        let script = format!(
            "#!/bin/sh\ncd {}\necho \"$@\" >> calls\n[ $2 = pids ] || exit 0\n[ $3 = b ] || exit 1\n[ -e told ] || echo {}\n: > told\n",
            directory.display(),
            left_behind.id()
        );
        let ip = directory.join("ip");
        fs::write(&ip, script).unwrap();
        fs::set_permissions(&ip, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
        let mut guardian = Guardian(command(&["a", "b"]).env("PATH", path).spawn().unwrap());
        assert!(guardian.0.try_wait().unwrap().is_none(), "it waits");
        drop(guardian);
        assert!(!left_behind.wait().unwrap().success(), "a signal ended it");
        let calls = fs::read_to_string(directory.join("calls")).unwrap();
        let calls: Vec<&str> = calls.lines().collect();
        let expected =
            ["netns pids a", "netns delete a", "netns pids b", "netns pids b", "netns delete b"];
        assert_eq!(calls, expected);
        fs::remove_dir_all(&directory).unwrap();
    }
}
