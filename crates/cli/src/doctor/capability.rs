//! Capabilities of this process (capabilities(7) of Linux).

/// A privilege that parts of Polypath need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Capability {
    /// CAP_NET_ADMIN.
    NetAdmin,
    /// CAP_SYS_ADMIN.
    SysAdmin,
}

impl Capability {
    fn bit(self) -> u32 {
        match self {
            Self::NetAdmin => 12,
            Self::SysAdmin => 21,
        }
    }

    /// Whether this process has it; `None` if unknown.
    pub(super) fn is_held(self) -> Option<bool> {
        self.is_in(&std::fs::read_to_string("/proc/self/status").ok()?)
    }

    /// Whether it is in the effective set of a status of /proc.
    fn is_in(self, status: &str) -> Option<bool> {
        let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
        let set = u64::from_str_radix(set.trim(), 16).ok()?;
        Some(set >> self.bit() & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_set_decides() {
        for (set, admin, system) in [
            ("000001ffffffffff", Some(true), Some(true)),
            ("0000000000001000", Some(true), Some(false)),
            ("0000000000200000", Some(false), Some(true)),
            ("0000000000000000", Some(false), Some(false)),
            ("what", None, None),
        ] {
            let status = format!("Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t{set}\n");
            assert_eq!(Capability::NetAdmin.is_in(&status), admin, "{set}");
            assert_eq!(Capability::SysAdmin.is_in(&status), system, "{set}");
        }
        assert_eq!(Capability::NetAdmin.is_in("Name:\tx\n"), None);
    }
}
