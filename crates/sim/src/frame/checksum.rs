//! The checksum of UDP and TCP (RFC 1071, RFC 768).

use std::net::IpAddr;

/// The checksum over the pseudo-header and `segment`, whose own field is zero.
pub(super) fn of(from: IpAddr, to: IpAddr, protocol: u8, segment: &[u8]) -> u16 {
    let mut sum = u64::from(protocol) + segment.len() as u64;
    for ip in [from, to] {
        match ip {
            IpAddr::V4(ip) => sum += words(&ip.octets()),
            IpAddr::V6(ip) => sum += words(&ip.octets()),
        }
    }
    sum += words(segment);
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

fn words(bytes: &[u8]) -> u64 {
    let pairs = bytes.chunks(2).map(|pair| match *pair {
        [high, low] => u16::from_be_bytes([high, low]),
        [high] => u16::from_be_bytes([high, 0]),
        _ => 0,
    });
    pairs.map(u64::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_with_its_checksum_is_all_ones() {
        let ips = ["192.0.2.1", "192.0.2.7", "2001:db8::1", "2001:db8::2"];
        let [a, b, c, d]: [IpAddr; 4] = ips.map(|ip| ip.parse().unwrap());
        for (from, to) in [(a, b), (c, d)] {
            for len in [8, 9, 100, 1_473] {
                let mut segment: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
                segment[6..8].fill(0);
                let sum = of(from, to, 17, &segment);
                segment[6..8].copy_from_slice(&sum.to_be_bytes());
                assert_eq!(of(from, to, 17, &segment), 0);
            }
        }
    }
}
