//! Settings of the whole stack. Programs share the stack, and settings come from `polypath with`: what a program sets here must be what
//! is so anyway, or it fails.

use libc::c_int;

macro_rules! settings {
    ($($set:ident $get:ident = $value:literal;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $get() -> u32 {
            $value
        }

        /// 0 if that is the value; -1 otherwise.
        #[unsafe(no_mangle)]
        extern "C" fn $set(value: u32) -> c_int {
            if value == $value { 0 } else { -1 }
        }
    )*};
}

settings! {
    usrsctp_sysctl_set_sctp_sendspace usrsctp_sysctl_get_sctp_sendspace = 262_144;
    usrsctp_sysctl_set_sctp_recvspace usrsctp_sysctl_get_sctp_recvspace = 262_144;
    usrsctp_sysctl_set_sctp_ecn_enable usrsctp_sysctl_get_sctp_ecn_enable = 0;
    usrsctp_sysctl_set_sctp_pr_enable usrsctp_sysctl_get_sctp_pr_enable = 1;
    usrsctp_sysctl_set_sctp_no_csum_on_loopback usrsctp_sysctl_get_sctp_no_csum_on_loopback = 0;
    usrsctp_sysctl_set_sctp_blackhole usrsctp_sysctl_get_sctp_blackhole = 0;
    usrsctp_sysctl_set_sctp_debug_on usrsctp_sysctl_get_sctp_debug_on = 0;
    usrsctp_sysctl_set_sctp_enable_sack_immediately usrsctp_sysctl_get_sctp_enable_sack_immediately = 1;
    usrsctp_sysctl_set_sctp_udp_tunneling_port usrsctp_sysctl_get_sctp_udp_tunneling_port = 9899;
}
