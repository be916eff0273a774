//! What holds for all packets and for all bytes.

mod common;

use common::{arbitrary, walk};
use polypath_wire::{
    Causes, Checksum, ChecksumPolicy, Chunk, Data, DataFlags, EncodeError, Packet, PacketView,
    Parameters, ParseError, Payload, VirtualPayload,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
    bytes
}

proptest! {
    #[test]
    fn a_packet_survives_the_wire(packet in arbitrary::packet()) {
        let bytes = encoded(&packet);
        prop_assert_eq!(bytes.len(), packet.encoded_len());
        let view = PacketView::parse(&bytes, ChecksumPolicy::Verify).unwrap();
        let read = view.to_packet().unwrap();
        prop_assert_eq!(&read, &packet);
        prop_assert_eq!(&encoded(&read), &bytes);
        prop_assert_eq!(&encoded(&read.into_owned()), &bytes);
        walk::packet(&bytes);
    }

    #[test]
    fn a_short_buffer_is_refused(packet in arbitrary::packet()) {
        let needed = packet.encoded_len();
        for available in 0..needed {
            let result = packet.encode_into(&mut vec![0; available], Checksum::Crc32c);
            prop_assert_eq!(result, Err(EncodeError::BufferTooSmall { needed, available }));
        }
    }

    #[test]
    fn parameters_come_back(recipes in vec(arbitrary::recipe(), 0..8)) {
        let wanted: Vec<_> = recipes.iter().map(arbitrary::Recipe::parameter).collect();
        let built = Parameters::build(wanted.iter().cloned());
        let parsed = Parameters::parse(built.as_slice()).unwrap();
        prop_assert_eq!(parsed.iter().collect::<Vec<_>>(), wanted);
        walk::parameters(&parsed);
    }

    #[test]
    fn causes_come_back(recipes in vec(arbitrary::recipe(), 0..8)) {
        let wanted: Vec<_> = recipes.iter().map(arbitrary::Recipe::cause).collect();
        let built = Causes::build(wanted.iter().cloned());
        let parsed = Causes::parse(built.as_slice()).unwrap();
        prop_assert_eq!(parsed.iter().collect::<Vec<_>>(), wanted);
        walk::causes(&parsed);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        walk::packet(&bytes);
    }

    /// As random bytes hardly ever have lengths that fit, real packets are damaged too.
    #[test]
    fn damaged_packets_are_read_or_refused(
        packet in arbitrary::packet(),
        damage in vec((any::<Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = encoded(&packet);
        for (index, byte) in damage {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        walk::packet(&bytes);
    }

    #[test]
    fn a_truncated_packet_is_noticed(packet in arbitrary::packet()) {
        let bytes = encoded(&packet);
        for len in 0..bytes.len() {
            walk::packet(&bytes[..len]);
            let error = PacketView::parse(&bytes[..len], ChecksumPolicy::Verify).unwrap_err();
            prop_assert_eq!(error == ParseError::TooShort { len }, len < 12);
        }
    }

    #[test]
    fn a_flipped_bit_is_noticed(packet in arbitrary::packet()) {
        let mut bytes = encoded(&packet);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(PacketView::parse(&bytes, ChecksumPolicy::Verify).is_err());
            walk::packet(&bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn virtual_data_arrives_as_its_pattern(message: u64, offset: u32, len in 1..3000u32) {
        let payload = Payload::Virtual(VirtualPayload { message, offset, len });
        let data = Data { flags: DataFlags::END, tsn: 1, stream: 2, ssn: 3, ppid: 4, payload };
        let packet = Packet {
            source_port: 1,
            destination_port: 2,
            verification_tag: 3,
            chunks: [Chunk::Data(data)].into_iter().collect(),
        };
        let bytes = encoded(&packet);
        let view = PacketView::parse(&bytes, ChecksumPolicy::Verify).unwrap();
        let read = view.to_packet().unwrap();
        let [Chunk::Data(Data { payload: Payload::Borrowed(arrived), .. })] = &read.chunks[..]
        else { panic!("one DATA chunk") };
        prop_assert_eq!(arrived.len(), len as usize);
        prop_assert!(VirtualPayload::verify(message, offset, arrived));
        if offset == 0 {
            prop_assert_eq!(VirtualPayload::identify(arrived), Some(message));
        }
    }
}
