//! Wireshark's dissection of what is measured.

use std::path::Path;
use std::process::Command;

use crate::support::{Server, number};

/// Lines that tshark prints about a capture, or nothing without tshark.
fn tshark(capture: &Path, port: &str, arguments: &[&str]) -> Option<Vec<String>> {
    let decode = format!("udp.port=={port},sctp");
    let run = Command::new("tshark")
        .arg("-r")
        .arg(capture)
        .args(["-d", &decode])
        .args(arguments)
        .output();
    let output = match run {
        Ok(output) => output,
        Err(error) => {
            let required = std::env::var("POLYPATH_REQUIRE").unwrap_or_default();
            let required = required.split(',').any(|name| name.trim() == "tshark");
            assert!(!required, "POLYPATH_REQUIRE has tshark, but {error}");
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "SKIPPED: tshark is not installed");
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn wireshark_knows_the_messages() {
    let server = Server::start("127.0.7.27,127.0.7.28", &[]);
    let directory = tempfile::tempdir().unwrap();
    let capture = directory.path().join("run.pcapng");
    let more = ["-t", "1", "-b", "2M", "-l", "500", "--bidir", "--pcap", capture.to_str().unwrap()];
    let document = server.measure("127.0.7.29,127.0.7.30", &more);
    let fields = [
        "-Y",
        "netperfmeter.message_type == 5",
        "-T",
        "fields",
        "-E",
        "aggregator=;",
        "-e",
        "frame.interface_name",
        "-e",
        "netperfmeter.message_length",
        "-e",
        "netperfmeter.data_measurementid",
        "-e",
        "netperfmeter.data_streamid",
    ];
    let Some(packets) = tshark(&capture, &server.port, &fields) else { return };
    let columns: Vec<Vec<&str>> =
        packets.iter().map(|packet| packet.split('\t').collect()).collect();
    let messages: usize = columns.iter().map(|columns| columns[1].split(';').count()).sum();
    let told = |sum: &str| number(&document["end"][sum]["messages"]);
    assert!(messages as f64 >= told("sum_sent") + told("sum_received_bidir_reverse"), "{messages}");
    let cookie = format!("0x{}", document["start"]["cookie"].as_str().unwrap());
    for columns in &columns {
        assert!(columns[1].split(';').all(|length| length == "500"), "{columns:?}");
        assert!(columns[2].split(';').all(|name| name == cookie), "{columns:?} {cookie}");
        assert!(columns[3].split(';').all(|stream| stream == "1"), "{columns:?}");
    }
    for path in ["127.0.7.29 - 127.0.7.27", "127.0.7.30 - 127.0.7.28"] {
        assert!(columns.iter().any(|columns| columns[0] == path), "{path} carried nothing");
    }
    let bad = [
        "-o",
        "sctp.checksum:CRC32C",
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
        "-Y",
        "_ws.malformed || !sctp || sctp.checksum.status == \"Bad\" || ip.checksum.status == \"Bad\" || \
         udp.checksum.status == \"Bad\"",
    ];
    assert_eq!(tshark(&capture, &server.port, &bad), Some(Vec::new()));
}
