//! Packets as text that `text2pcap` reads.

use std::ffi::CString;
use std::fmt::Write;

use libc::{c_char, c_int, c_void, size_t};

use crate::memory;

/// Most bytes of a packet.
const MAX_BYTES: usize = 65_535;

/// A line of text: direction, time of day and the bytes. Null without memory for it.
#[unsafe(no_mangle)]
extern "C" fn usrsctp_dumppacket(
    packet: *const c_void,
    bytes: size_t,
    outbound: c_int,
) -> *mut c_char {
    let Ok(content) = memory::copy_in(packet, bytes.min(MAX_BYTES)) else {
        return std::ptr::null_mut();
    };
    // SAFETY: the structure is numbers and a pointer to static text.
    let mut time: libc::tm = unsafe { std::mem::zeroed() };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap_or_default();
    let seconds = libc::time_t::try_from(now.as_secs()).unwrap_or(0);
    // SAFETY: both pointers are valid.
    unsafe { libc::localtime_r(&raw const seconds, &raw mut time) };
    let mut text = format!(
        "\n{} {:02}:{:02}:{:02}.{:06} 0000",
        if outbound == 0 { 'I' } else { 'O' },
        time.tm_hour,
        time.tm_min,
        time.tm_sec,
        now.subsec_micros()
    );
    for byte in content {
        let _ = write!(text, " {byte:02x}");
    }
    text.push_str(" # SCTP_PACKET\n");
    CString::new(text).map_or(std::ptr::null_mut(), CString::into_raw)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_freedumpbuffer(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the caller has it from the function above.
        drop(unsafe { CString::from_raw(text) });
    }
}
