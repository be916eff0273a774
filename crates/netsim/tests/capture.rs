//! Packet captures, read by tshark.

mod support;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::Command;

use polypath_netsim::topology::{DisjointPaths, IpVersion, PathConfig};
use polypath_netsim::{
    NetworkBuilder, NoObserver, QueueConfig, World, impair::Outage, queue_discipline::Limit,
};
use polypath_units::Fraction;
use support::{Datagram, arrivals, at, channel, disjoint};

/// Fields that are compared.
const FIELDS: [&str; 13] = [
    "frame.time_relative",
    "frame.interface_name",
    "frame.packet_flags_direction",
    "frame.len",
    "ip.src",
    "ip.dst",
    "ip.ttl",
    "ip.checksum.status",
    "udp.srcport",
    "udp.length",
    "udp.checksum.status",
    "data.data",
    "frame.comment",
];

#[test]
fn tshark_reads_a_capture_of_each_host() {
    if !tshark_is_there() {
        return;
    }
    let mut lossy = channel(10, 5);
    lossy.queue = QueueConfig::DropTail(Limit::Packets(1));
    let mut dead = channel(10, 5);
    dead.uniform_loss = Fraction::ONE;
    let mut cut = channel(10, 5);
    cut.outages = vec![Outage { from: at(0), until: None }];
    let paths = vec![
        PathConfig::direct("narrow", lossy),
        PathConfig::routed("lossy", channel(1_000, 0), dead),
        PathConfig::direct("cut", cut),
    ];
    let (mut world, net) = disjoint(paths, 1);
    let names: Vec<String> = net.paths.iter().map(|path| path.name.clone()).collect();
    let files = [("a", net.a), ("b", net.b)].map(|(name, node)| {
        let file = temporary(&format!("{name}.pcapng"));
        world.capture(node, &names, Box::new(BufWriter::new(File::create(&file).unwrap())));
        file
    });
    for (path, count) in [(0, 3), (1, 1), (2, 1)] {
        for number in 0..count {
            let (from, to) = (net.paths[path].a_address, net.paths[path].b_address);
            world.send(net.a, from, to, Datagram::in_packet_of(1_250, number)).unwrap();
        }
    }
    assert!(world.next_event(at(7)).is_some());
    let (from, to) = (net.paths[0].b_address, net.paths[0].a_address);
    world.send(net.b, from, to, Datagram::in_packet_of(40, 9)).unwrap();
    arrivals(&mut world);
    world.finish_captures().unwrap();

    let (out, to_b) = ("0x00000002\t1250", "10.1.1.1\t10.1.1.2\t64\t1\t40000\t1230\t1");
    let (short, to_a) = ("40\t10.1.1.2\t10.1.1.1", "64\t1\t40000\t20\t1\t00000009\t");
    let at_a = [
        format!("0.000000000\tnarrow\t{out}\t{to_b}\t00000000\t"),
        format!("0.000000000\tnarrow\t{out}\t{to_b}\t00000001\t"),
        format!(
            "0.000000000\tnarrow\t{out}\t{to_b}\t00000002\tdropped at 0 s on narrow (forward): queue-full"
        ),
        format!(
            "0.000000000\tlossy\t{out}\t10.2.1.1\t10.2.3.2\t64\t1\t40000\t1230\t1\t00000000\t\
             dropped at 6.01 ms on lossy/bottleneck (forward): uniform-loss"
        ),
        format!(
            "0.000000000\tcut\t{out}\t10.3.1.1\t10.3.1.2\t64\t1\t40000\t1230\t1\t00000000\t\
             dropped at 0 s on cut (forward): outage"
        ),
        format!("0.011032000\tnarrow\t0x00000001\t{short}\t{to_a}"),
    ];
    let at_b = [
        format!("0.000000000\tnarrow\t0x00000001\t1250\t{to_b}\t00000000\t"),
        format!("0.000000000\tnarrow\t0x00000002\t{short}\t{to_a}"),
        format!("0.001000000\tnarrow\t0x00000001\t1250\t{to_b}\t00000001\t"),
    ];
    assert_eq!(dissect(&files[0]), at_a);
    assert_eq!(dissect(&files[1]), at_b);
}

#[test]
fn tshark_reads_ipv6() {
    if !tshark_is_there() {
        return;
    }
    let mut builder = NetworkBuilder::new();
    let paths = vec![PathConfig::routed("six", channel(100, 0), channel(10, 5))];
    let net = DisjointPaths { ip: IpVersion::V6, paths }.add_to(&mut builder).unwrap();
    let mut world: World<Datagram> = builder.build(1, NoObserver).unwrap();
    let file = temporary("six.pcapng");
    world.capture(net.b, &[], Box::new(File::create(&file).unwrap()));
    world
        .send(
            net.a,
            net.paths[0].a_address,
            net.paths[0].b_address,
            Datagram { number: 1, bytes: 12 },
        )
        .unwrap();
    arrivals(&mut world);
    world.finish_captures().unwrap();
    let fields = [
        "frame.interface_name",
        "ipv6.src",
        "ipv6.dst",
        "ipv6.hlim",
        "ipv6.plen",
        "udp.checksum.status",
    ];
    assert_eq!(dissect_fields(&file, &fields), ["B-0\tfd00:1:1::1\tfd00:1:3::2\t62\t12\t1"]);
}

#[test]
fn what_is_on_the_way_at_the_end_is_in_the_capture() {
    if !tshark_is_there() {
        return;
    }
    let (mut world, net) = disjoint(vec![PathConfig::direct("p", channel(10, 5))], 1);
    let file = temporary("cut-short.pcapng");
    world.capture(net.a, &["p".to_owned()], Box::new(File::create(&file).unwrap()));
    world
        .send(net.a, net.paths[0].a_address, net.paths[0].b_address, Datagram::in_packet_of(40, 1))
        .unwrap();
    world.finish_captures().unwrap();
    assert_eq!(dissect_fields(&file, &["frame.comment"]), ["on the way when the capture ended"]);
}

#[test]
fn captures_change_nothing() {
    let run = |captured: bool| {
        let (mut world, net) = disjoint(vec![PathConfig::direct("p", channel(10, 5))], 1);
        if captured {
            world.capture(net.a, &[], Box::new(io::sink()));
        }
        for number in 0..200 {
            let (from, to) = (net.paths[0].a_address, net.paths[0].b_address);
            world.send(net.a, from, to, Datagram::in_packet_of(1_000, number)).unwrap();
        }
        arrivals(&mut world);
        (world.trace_hash(), world.events())
    };
    assert_eq!(run(true), run(false));
}

/// Fails after a number of bytes.
struct FullDisk(usize);

impl io::Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| io::Error::other("disk full"))?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_capture_that_cannot_be_written_is_reported_at_the_end() {
    for room in [0, 100, 2_000] {
        let (mut world, net) = disjoint(vec![PathConfig::direct("p", channel(10, 5))], 1);
        world.capture(net.a, &[], Box::new(FullDisk(room)));
        for number in 0..10 {
            let (from, to) = (net.paths[0].a_address, net.paths[0].b_address);
            world.send(net.a, from, to, Datagram::in_packet_of(1_000, number)).unwrap();
        }
        assert_eq!(arrivals(&mut world).len(), 10, "the run goes on");
        assert_eq!(world.finish_captures().unwrap_err().to_string(), "disk full");
    }
}

fn temporary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// [`FIELDS`] of each packet, of the data only the number.
fn dissect(file: &Path) -> Vec<String> {
    let shorten = |line: String| {
        let mut fields: Vec<&str> = line.split('\t').collect();
        let data = FIELDS.len() - 2;
        fields[data] = &fields[data][..8];
        fields.join("\t")
    };
    dissect_fields(file, &FIELDS).into_iter().map(shorten).collect()
}

/// One line per packet, fields separated by tabs; removes the file.
fn dissect_fields(file: &Path, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.args([
        "-n",
        "-T",
        "fields",
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
        "-r",
    ]);
    command.arg(file);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::remove_file(file).expect("the capture can be removed");
    String::from_utf8(output.stdout)
        .expect("tshark writes UTF-8")
        .lines()
        .map(str::to_owned)
        .collect()
}

fn tshark_is_there() -> bool {
    let there = Command::new("tshark")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    let required = std::env::var("POLYPATH_REQUIRE").unwrap_or_default();
    assert!(
        there || !required.split(',').any(|tool| tool == "tshark"),
        "tshark is required but does not run"
    );
    if !there {
        println!("SKIPPED: tshark does not run here");
    }
    there
}
