use polypath_units::BitRate;

use super::*;
use crate::ChannelConfig;

/// Last hops of single-homed hosts (`natarajan` section III-B).
const HOP_DELAYS: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(20)];

fn link(mbit: u64, delay: Duration) -> Duplex {
    ChannelConfig::new(BitRate::from_mbit(mbit), delay).into()
}

/// A dumbbell of `natarajan` fig. 7, with so many pairs of single-homed hosts.
fn dumbbell(name: &str, pairs: u8, streams: &Streams) -> DumbbellConfig {
    let hop = |pair, side| link(100, draw_delay(name, pair, side, HOP_DELAYS, streams));
    DumbbellConfig {
        name: name.to_owned(),
        core: link(10, Duration::from_millis(25)),
        access: [(); 2].map(|()| link(100, Duration::from_millis(10))),
        cross: (1..=pairs).map(|pair| ["a", "b"].map(|side| hop(pair, side))).collect(),
    }
}

fn drawn(seed: u64) -> Dumbbells {
    let streams = Streams::new(seed);
    let dumbbells = ["path 1", "path 2"].map(|name| dumbbell(name, 4, &streams)).to_vec();
    Dumbbells { ip: IpVersion::V4, dumbbells }
}

fn milliseconds(link: &Duplex) -> f64 {
    link.forward.delay.as_secs_f64() * 1e3
}

#[test]
fn last_hops_are_drawn_so_that_ways_take_35_to_65_ms() {
    let mut ways = Vec::new();
    for seed in 1..=50 {
        for dumbbell in drawn(seed).dumbbells {
            assert_eq!(dumbbell.cross.len(), 4);
            for [first, last] in &dumbbell.cross {
                for hop in [first, last] {
                    assert!((5.0..=20.0).contains(&milliseconds(hop)), "{hop:?}");
                    assert_eq!(hop.forward, hop.backward);
                }
                ways.push([first, &dumbbell.core, last].map(milliseconds).iter().sum::<f64>());
            }
            let [first, last] = &dumbbell.access;
            let way: f64 = [first, &dumbbell.core, last].map(milliseconds).iter().sum();
            assert!((way - 45.0).abs() < 1e-9, "{way}");
        }
    }
    // 400 sums of two times with a standard deviation of 4.33 ms each: that of the mean is 0.31 ms.
    let mean = ways.iter().sum::<f64>() / ways.len() as f64;
    assert!((mean - 50.0).abs() < 1.3, "{mean}");
    let far = |limit: f64| ways.iter().filter(|way| (**way - 50.0).abs() > limit).count();
    assert!(far(10.0) > 0 && far(15.0) == 0);
}

#[test]
fn delays_depend_on_the_seed_and_the_name_of_their_hop_only() {
    assert_eq!(drawn(7), drawn(7));
    assert_ne!(drawn(7), drawn(8));
    let [one, other] = &drawn(7).dumbbells[..] else { panic!("two") };
    assert_ne!(one.cross, other.cross);
    let fewer = dumbbell("path 1", 2, &Streams::new(7));
    assert_eq!(fewer.cross, one.cross[..2]);
}

#[test]
fn every_dumbbell_is_a_path_of_a_and_b_and_has_hosts_of_its_own() {
    let mut network = NetworkBuilder::new();
    let made = drawn(1).add_to(&mut network).unwrap();
    let address = |text: &str| -> IpAddr { text.parse().unwrap() };
    let [one, other] = &made.multihomed.paths[..] else { panic!("two paths") };
    assert_eq!((one.name.as_str(), one.links.len()), ("path 1", 3));
    assert_eq!(one.bottleneck, one.links[1]);
    assert_ne!(one.bottleneck, other.bottleneck);
    assert_eq!((other.a_address, other.b_address), (address("10.2.0.1"), address("10.2.0.2")));
    assert_eq!(made.cross.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4]);
    assert_eq!(made.cross[1][3].addresses, [address("10.2.4.1"), address("10.2.4.2")]);
    let six = Dumbbells { ip: IpVersion::V6, ..drawn(1) };
    let made = six.add_to(&mut NetworkBuilder::new()).unwrap();
    assert_eq!(made.cross[0][0].addresses[1], address("fd00:1:1::2"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let error = |change: fn(&mut Dumbbells)| {
        let mut dumbbells = drawn(1);
        change(&mut dumbbells);
        dumbbells.add_to(&mut NetworkBuilder::new()).unwrap_err().to_string()
    };
    assert!(error(|d| d.dumbbells.clear()).contains("give 1 to 254, not 0"));
    let many = error(|d| d.dumbbells[1].cross = vec![d.dumbbells[1].access.clone(); 255]);
    assert!(many.contains("`path 2`: give at most 254 pairs of hosts, not 255"), "{many}");
}
