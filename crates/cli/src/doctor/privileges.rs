//! Checks of privileges: TUN interfaces and network namespaces.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::capability::Capability;
use super::{Check, Finding};

const TUN: &str = "/dev/net/tun";
const NAMESPACE: &str = "/proc/self/ns/net";

pub(super) fn examine_tun() -> Finding {
    let device = OpenOptions::new().read(true).write(true).open(TUN).map(drop);
    judge_tun(device, Capability::NetAdmin.is_held())
}

fn judge_tun(device: io::Result<()>, admin: Option<bool>) -> Finding {
    let check = Check::Tun;
    match (device, admin) {
        (Ok(()), Some(true)) => Finding::ok(check, "TUN interfaces can be created"),
        (Ok(()), _) => Finding::warn(
            check,
            "/dev/net/tun is there, but interfaces need the capability CAP_NET_ADMIN",
            "run as root, or give it to the program: setcap cap_net_admin+ep polypath",
        ),
        (Err(error), _) if error.kind() == ErrorKind::PermissionDenied => Finding::warn(
            check,
            "/dev/net/tun cannot be opened without privileges",
            "run as root, or let your group open it",
        ),
        (Err(error), _) => Finding::warn(
            check,
            format!("{TUN}: {error}"),
            "modprobe tun; in a container, start it with --device /dev/net/tun",
        ),
    }
}

pub(super) fn examine_namespaces() -> Finding {
    let tool = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join("ip").is_file()));
    judge_namespaces([Path::new(NAMESPACE).exists(), tool], Capability::SysAdmin.is_held())
}

/// `there`: whether the kernel supports namespaces, and whether `ip` is installed.
fn judge_namespaces(there: [bool; 2], admin: Option<bool>) -> Finding {
    let check = Check::Namespaces;
    match (there, admin) {
        ([false, _], _) => Finding::warn(
            check,
            "the kernel has no network namespaces",
            "use a kernel with CONFIG_NET_NS",
        ),
        ([true, false], _) => Finding::warn(
            check,
            "the program ip is missing, which makes network namespaces",
            "install iproute2",
        ),
        ([true, true], Some(true)) => Finding::ok(check, "network namespaces can be created"),
        ([true, true], _) => Finding::warn(
            check,
            "network namespaces need the capability CAP_SYS_ADMIN",
            "run as root; in a container, start it with --privileged",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn tun_needs_the_device_and_the_capability() {
        assert_eq!(judge_tun(Ok(()), Some(true)).verdict, Verdict::Ok);
        for (device, admin, says) in [
            (Ok(()), Some(false), "CAP_NET_ADMIN"),
            (Ok(()), None, "CAP_NET_ADMIN"),
            (Err(ErrorKind::PermissionDenied), Some(true), "privileges"),
            (Err(ErrorKind::NotFound), Some(true), "/dev/net/tun"),
        ] {
            let finding = judge_tun(device.map_err(io::Error::from), admin);
            assert_eq!(finding.verdict, Verdict::Warn);
            assert!(finding.found.contains(says) && finding.remedy.is_some(), "{finding:?}");
        }
    }

    #[test]
    fn namespaces_need_kernel_tool_and_capability() {
        assert_eq!(judge_namespaces([true, true], Some(true)).verdict, Verdict::Ok);
        for (there, admin, says) in [
            ([false, true], Some(true), "kernel"),
            ([true, false], Some(true), "program ip"),
            ([true, true], Some(false), "CAP_SYS_ADMIN"),
            ([true, true], None, "CAP_SYS_ADMIN"),
        ] {
            let finding = judge_namespaces(there, admin);
            assert_eq!(finding.verdict, Verdict::Warn);
            assert!(finding.found.contains(says) && finding.remedy.is_some(), "{finding:?}");
        }
    }
}
