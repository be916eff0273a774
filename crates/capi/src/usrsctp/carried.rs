//! Packets that the program carries itself: sockets of `AF_CONN`.

use libc::{c_int, c_void, size_t};
use polypath_wire::packet_checksum;

use super::{dispatcher, handle};
use crate::stack::{self, Output};

/// A function that prints.
type Print = unsafe extern "C" fn(format: *const libc::c_char, ...);

/// The UDP port is the service's, which all programs share.
#[unsafe(no_mangle)]
extern "C" fn usrsctp_init(_port: u16, output: Option<Output>, _print: Option<Print>) {
    stack::begin(output, true);
}

/// The same; packets are carried, and callbacks called, within `usrsctp_handle_timers`, `usrsctp_conninput` and `usrsctp_close`.
#[unsafe(no_mangle)]
extern "C" fn usrsctp_init_nothreads(_: u16, output: Option<Output>, _: Option<Print>) {
    stack::begin(output, false);
}

/// The timers are the stack's.
#[unsafe(no_mangle)]
extern "C" fn usrsctp_handle_timers(_elapsed_ms: u32) {
    call_program();
}

/// 0 once all sockets are closed, and the associations have ended whose packets the program carries.
#[unsafe(no_mangle)]
extern "C" fn usrsctp_finish() -> c_int {
    if handle::count() > 0 || !stack::is_idle() {
        return -1;
    }
    stack::end();
    0
}

#[unsafe(no_mangle)]
extern "C" fn usrsctp_register_address(address: *mut c_void) {
    stack::register(address);
}

#[unsafe(no_mangle)]
extern "C" fn usrsctp_deregister_address(address: *mut c_void) {
    stack::deregister(address);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_conninput(
    address: *mut c_void,
    packet: *const c_void,
    bytes: size_t,
    _ecn_bits: u8,
) {
    if !packet.is_null() && isize::try_from(bytes).is_ok() {
        // SAFETY: the caller vouches for so many bytes.
        stack::input(address, unsafe { std::slice::from_raw_parts(packet.cast(), bytes) });
    }
    call_program();
}

/// Calls a program that has no threads of this library for what waits.
fn call_program() {
    if !stack::has_threads() {
        stack::carry_waiting();
        dispatcher::call_waiting();
    }
}

#[unsafe(no_mangle)]
extern "C" fn usrsctp_enable_crc32c_offload() {
    stack::leave_checksums();
}

/// The checksum as the field of a packet has it.
#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_crc32c(packet: *mut c_void, bytes: size_t) -> u32 {
    if packet.is_null() || isize::try_from(bytes).is_err() {
        return 0;
    }
    // SAFETY: the caller vouches for so many bytes.
    let packet = unsafe { std::slice::from_raw_parts(packet.cast(), bytes) };
    packet_checksum(packet).map_or(0, |crc| u32::from_ne_bytes(crc.to_le_bytes()))
}
