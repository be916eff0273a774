use super::*;

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn blocks_are_laid_out_as_the_format_says() {
    let mut writer = PcapngWriter::new(Vec::new(), "test").unwrap();
    assert_eq!(writer.add_interface("path").unwrap(), 0);
    let packet = PacketRecord {
        interface: 0,
        time: Instant::from_nanos(0x1_0000_0002),
        direction: PacketDirection::Outbound,
        data: &[1, 2, 3, 4, 5],
        comment: Some("ok"),
    };
    writer.add_packet(&packet).unwrap();
    let file = writer.finish().unwrap();
    let text = |t: &[u8; 4]| u32::from_le_bytes(*t);
    #[rustfmt::skip]
    let expected = [
        // Section header: magic, version 1.0, unknown length, name of the writer.
        0x0A0D_0D0A, 40, 0x1A2B_3C4D, 1, u32::MAX, u32::MAX, 4 | 4 << 16, text(b"test"), 0, 40,
        // Interface: raw IP, no limit, its name, nanoseconds.
        1, 40, 101, 0, 2 | 4 << 16, text(b"path"), 9 | 1 << 16, 9, 0, 40,
        // Packet: interface, time in two halves, lengths, padded data, direction, comment.
        6, 60, 0, 1, 2, 5, 5, 0x0403_0201, 5, 2 | 4 << 16, 2, 1 | 2 << 16, text(b"ok\0\0"), 0, 60,
    ];
    assert_eq!(words(&file), expected);
}

#[test]
fn packets_need_their_interface() {
    let mut writer = PcapngWriter::new(Vec::new(), "test").unwrap();
    let packet = PacketRecord {
        interface: 0,
        time: Instant::ZERO,
        direction: PacketDirection::Inbound,
        data: &[],
        comment: None,
    };
    assert_eq!(writer.add_packet(&packet).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn long_comments_are_cut() {
    let mut writer = PcapngWriter::new(Vec::new(), "").unwrap();
    writer.add_interface("").unwrap();
    let before = writer.out.len();
    let comment = "x".repeat(100_000);
    let packet = PacketRecord {
        interface: 0,
        time: Instant::ZERO,
        direction: PacketDirection::Inbound,
        data: &[],
        comment: Some(&comment),
    };
    writer.add_packet(&packet).unwrap();
    let block = words(&writer.out[before..]);
    assert_eq!(block[1] as usize, writer.out.len() - before);
    assert_eq!(block[9], 1 | 0xFFFF << 16);
}

#[test]
fn ipv4_headers_carry_their_checksum() {
    let header = IpHeader {
        from: "10.1.1.1".parse().unwrap(),
        to: "10.1.1.2".parse().unwrap(),
        protocol: 132,
        traffic_class: 2,
        hop_limit: 62,
        identification: 0x1234,
    };
    let mut packet = vec![0xFF];
    header.write(&mut packet, |out| out.extend([7; 12]));
    let packet = &packet[1..];
    assert_eq!(packet[..10], [0x45, 2, 0, 32, 0x12, 0x34, 0x40, 0, 62, 132]);
    assert_eq!(packet[12..20], [10, 1, 1, 1, 10, 1, 1, 2]);
    assert_eq!(packet[20..], [7; 12]);
    // 4502+0020+1234+4000+3e84+0a01+0101+0a01+0102 = ebdf, whose complement is 1420.
    assert_eq!(packet[10..12], [0x14, 0x20]);
    assert_eq!(
        internet_checksum(&packet[..20]),
        0,
        "a header with its checksum sums up to nothing"
    );
}

#[test]
fn ipv6_headers_carry_the_length_of_the_payload() {
    let header = IpHeader {
        from: "fd00:1:1::1".parse().unwrap(),
        to: "fd00:1:1::2".parse().unwrap(),
        protocol: 17,
        traffic_class: 0xB9,
        hop_limit: 64,
        identification: 1,
    };
    let mut packet = Vec::new();
    header.write(&mut packet, |out| out.extend([7; 300]));
    assert_eq!(packet[..8], [0x6B, 0x90, 0, 0, 1, 44, 17, 64]);
    assert_eq!((packet[8], packet[23], packet[24], packet[39]), (0xfd, 1, 0xfd, 2));
    assert_eq!(packet.len(), 340);
}

#[test]
fn a_payload_too_long_for_its_field_is_no_panic() {
    for ip in ["10.0.0.1", "fd00::1"] {
        let ip = ip.parse().unwrap();
        let header = IpHeader {
            from: ip,
            to: ip,
            protocol: 17,
            traffic_class: 0,
            hop_limit: 64,
            identification: 0,
        };
        let mut packet = Vec::new();
        header.write(&mut packet, |out| out.resize(out.len() + 70_000, 0));
        assert_eq!(packet[if ip.is_ipv4() { 2..4 } else { 4..6 }], [0xFF, 0xFF]);
    }
}
