//! Socket addresses as C programs have them (`struct sockaddr_in`, `struct sockaddr_in6`, `struct sockaddr_storage`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use crate::layout::{Building, Fields};

/// `AF_INET`.
pub const INET: u16 = 2;
/// `AF_INET6`.
pub const INET6: u16 = 10;
/// Bytes of `struct sockaddr_in`.
pub const INET_BYTES: usize = 16;
/// Bytes of `struct sockaddr_in6`.
pub const INET6_BYTES: usize = 28;
/// `AF_CONN` of usrsctp: addresses of a program that carries packets itself.
pub const CONN: u16 = 123;
/// Bytes of `struct sockaddr_conn`.
pub const CONN_BYTES: usize = 16;
/// Bytes of `struct sockaddr_storage`.
pub const STORAGE_BYTES: usize = 128;

/// The first half of the IPv6 addresses that stand for those of `AF_CONN`, whose pointer is the second half: the dummy prefix (RFC 9780),
/// which no network has.
const CARRIED: [u16; 4] = [0x100, 0, 0, 1];

/// The address that stands for one of `AF_CONN`; a wildcard for the null pointer.
pub fn of_pointer(pointer: u64) -> IpAddr {
    if pointer == 0 {
        return Ipv6Addr::UNSPECIFIED.into();
    }
    let [a, b, c, d] = CARRIED;
    let low = [48, 32, 16, 0].map(|shift| (pointer >> shift) as u16);
    Ipv6Addr::new(a, b, c, d, low[0], low[1], low[2], low[3]).into()
}

/// The pointer of an address of `AF_CONN`.
pub fn pointer_of(address: IpAddr) -> Option<u64> {
    let IpAddr::V6(v6) = address else { return None };
    let low = v6.to_bits() as u64;
    (v6.segments()[..4] == CARRIED && low != 0).then_some(low)
}

/// The address at the beginning of `bytes`, and its size. IPv4 addresses within IPv6 become IPv4.
pub fn read(bytes: &[u8]) -> Option<(SocketAddr, usize)> {
    let fields = Fields(bytes);
    let port = u16::from_be_bytes(fields.bytes(2)?);
    match fields.u16(0)? {
        INET => {
            let ip = Ipv4Addr::from(fields.bytes::<4>(4)?);
            // The rest is padding, which some programs leave out.
            Some((SocketAddr::new(ip.into(), port), INET_BYTES))
        }
        INET6 => {
            let ip = Ipv6Addr::from(fields.bytes::<16>(8)?);
            let scope = fields.u32(24)?;
            let address = match ip.to_ipv4_mapped() {
                Some(mapped) => SocketAddr::new(mapped.into(), port),
                None => SocketAddrV6::new(ip, port, 0, scope).into(),
            };
            Some((address, INET6_BYTES))
        }
        CONN => {
            let pointer = u64::from_ne_bytes(fields.bytes(8)?);
            Some((SocketAddr::new(of_pointer(pointer), port), CONN_BYTES))
        }
        _ => None,
    }
}

/// Addresses that are packed one after the other, as `sctp_bindx` and `sctp_connectx` take them; `None` if one cannot be read or is cut off.
pub fn read_all(mut bytes: &[u8]) -> Option<Vec<SocketAddr>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (address, size) = read(bytes)?;
        all.push(address);
        bytes = bytes.get(size..)?;
    }
    Some(all)
}

/// An address as a socket of this family has it: of a socket of IPv6, an IPv4 address is mapped into IPv6.
pub fn written(address: SocketAddr, is_ipv6: bool) -> Vec<u8> {
    if let Some(pointer) = pointer_of(address.ip()) {
        let start = Building::new().u16(CONN).bytes(&address.port().to_be_bytes());
        return start.padded(8).u64(pointer).0;
    }
    let (ip, scope) = match address {
        SocketAddr::V4(v4) if !is_ipv6 => {
            return Building::new()
                .u16(INET)
                .bytes(&v4.port().to_be_bytes())
                .bytes(&v4.ip().octets())
                .padded(INET_BYTES)
                .0;
        }
        SocketAddr::V4(v4) => (v4.ip().to_ipv6_mapped(), 0),
        SocketAddr::V6(v6) => (*v6.ip(), v6.scope_id()),
    };
    Building::new()
        .u16(INET6)
        .bytes(&address.port().to_be_bytes())
        .u32(0)
        .bytes(&ip.octets())
        .u32(scope)
        .0
}

/// The same in a `struct sockaddr_storage`.
pub fn stored(address: SocketAddr, is_ipv6: bool) -> Vec<u8> {
    let mut bytes = written(address, is_ipv6);
    bytes.resize(STORAGE_BYTES, 0);
    bytes
}

/// The address of a `struct sockaddr_storage`; `None` if it names none (family 0, or a wildcard).
pub fn of_storage(bytes: &[u8]) -> Option<SocketAddr> {
    read(bytes).map(|(address, _)| address).filter(|address| !address.ip().is_unspecified())
}

/// Any address of a family.
pub fn wildcard(is_ipv6: bool) -> IpAddr {
    if is_ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_were_written() {
        for text in ["192.0.2.1:7", "[2001:db8::1]:65535", "0.0.0.0:0", "[fe80::1%3]:9"] {
            let address: SocketAddr = text.parse().unwrap();
            for is_ipv6 in [false, true] {
                let bytes = written(address, is_ipv6);
                assert_eq!(read(&bytes), Some((address, bytes.len())), "{text}");
                let stored = stored(address, is_ipv6);
                assert_eq!((read(&stored).unwrap().0, stored.len()), (address, STORAGE_BYTES));
            }
        }
    }

    #[test]
    fn pointers_are_addresses_of_their_own_family() {
        for pointer in [1, 2, 0x7FFF_1234_5678_9ABC, u64::MAX] {
            let address = SocketAddr::new(of_pointer(pointer), 5000);
            assert_eq!(pointer_of(address.ip()), Some(pointer));
            let bytes = written(address, true);
            assert_eq!((&bytes[..4], bytes.len()), (&[123, 0, 0x13, 0x88][..], CONN_BYTES));
            assert_eq!(bytes[8..], pointer.to_ne_bytes());
            assert_eq!(read(&bytes), Some((address, CONN_BYTES)));
            assert_eq!(read(&bytes[..CONN_BYTES - 1]), None, "cut off");
        }
        assert!(of_pointer(0).is_unspecified());
        assert_eq!(of_storage(&written(SocketAddr::new(of_pointer(0), 0), true)), None);
        for other in ["100::1", "100:0:0:1::", "100:0:0:2::1", "192.0.2.1"] {
            assert_eq!(pointer_of(other.parse().unwrap()), None, "{other}");
        }
    }

    #[test]
    fn several_addresses_are_packed() {
        let addresses: [SocketAddr; 2] =
            ["192.0.2.1:7".parse().unwrap(), "[2001:db8::1]:7".parse().unwrap()];
        let mut packed = written(addresses[0], false);
        packed.extend(written(addresses[1], false));
        assert_eq!(read_all(&packed).unwrap(), addresses);
        assert_eq!(read_all(&packed[..packed.len() - 1]), None, "cut off");
        assert_eq!(read_all(&[1, 0, 0, 0]), None, "another family");
        assert_eq!(read_all(&[]), Some(Vec::new()));
    }
}
