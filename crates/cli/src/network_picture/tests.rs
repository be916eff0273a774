use std::path::Path;

use polypath_sim::Scenario;

use super::*;

fn map(name: &str) -> NetworkMap {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let scenario = Scenario::read(&file.with_extension("toml"), &[""; 0]).unwrap();
    NetworkMap::of(&scenario).unwrap()
}

/// Elements of an XML text with their texts; panics where one is not closed in its turn.
fn elements(xml: &str) -> Vec<(String, String)> {
    let (mut open, mut found): (Vec<String>, Vec<(String, String)>) = (Vec::new(), Vec::new());
    for piece in xml.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("the end of a tag");
        assert!(!text.contains('>') && tag.matches('"').count() % 2 == 0, "{piece}");
        let text = text.trim().to_owned();
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default().to_owned();
        if !tag.ends_with('/') {
            open.push(name.clone());
        }
        found.push((name, text));
    }
    assert!(open.is_empty(), "{open:?}");
    found
}

#[test]
fn pictures_show_every_node_link_and_route() {
    for name in ["star", "dual-dumbbell", "graph", "shared-bottleneck", "failover", "red-cmt"] {
        let map = map(name);
        let picture = draw("A & B", &map);
        assert_eq!(picture, draw("A & B", &map), "{name}");
        let elements = elements(&picture);
        let count = |tag: &str| elements.iter().filter(|(name, _)| name == tag).count();
        let texts: Vec<&str> =
            elements.iter().filter(|(tag, _)| tag == "text").map(|(_, text)| &text[..]).collect();
        assert_eq!(texts[0], "A &amp; B");
        assert_eq!(count("polyline"), map.links.len() + map.routes.len(), "{name}");
        assert_eq!(count("line"), map.routes.len(), "{name}");
        assert_eq!(count("circle"), map.nodes.iter().filter(|node| !node.is_host).count());
        for node in &map.nodes {
            assert!(texts.contains(&&node.name[..]), "{name}: {}", node.name);
        }
        for link in &map.links {
            let title = ("title".to_owned(), link.name.clone());
            assert!(elements.contains(&title), "{name}: {}", link.name);
        }
        assert!(!map.routes.is_empty(), "{name}");
        for route in &map.routes {
            let start = format!("{} ({}", route.name, route.addresses[0]);
            assert!(texts.iter().any(|text| text.starts_with(&start)), "{name}: {start}");
        }
    }
}

#[test]
fn nodes_do_not_stand_on_each_other() {
    for name in ["star", "dual-dumbbell", "graph", "shared-bottleneck", "failover", "red-cmt"] {
        let map = map(name);
        let Layout { places, size: [width, height] } = layout(&map);
        for (index, [x, y]) in places.iter().enumerate() {
            assert!(
                (0.0..=width).contains(x) && (0.0..=height + 1e-9).contains(y),
                "{name}: {x} {y}"
            );
            for [other_x, other_y] in &places[..index] {
                let distance = (x - other_x).hypot(y - other_y);
                assert!(
                    distance > 60.0,
                    "{name}: {} is {distance} from another",
                    map.nodes[index].name
                );
            }
        }
    }
}

/// Number of an attribute of an element.
fn number(tag: &str, name: &str) -> f64 {
    let (_, value) = tag.split_once(&format!(" {name}=\"")).expect("an attribute");
    value.split('"').next().and_then(|value| value.parse().ok()).expect("a number")
}

/// The place of each text, from left and top to right and bottom, as wide as narrow letters are.
fn texts(picture: &str) -> Vec<(String, [f64; 4])> {
    let tags = picture.split("<text").skip(1).filter_map(|piece| piece.split_once('>'));
    let place = |(tag, rest): (&str, &str)| {
        let text = rest.split('<').next().unwrap_or_default().to_owned();
        let size = if tag.contains("font-size") { number(tag, "font-size") } else { 11.0 };
        let (x, y, width) =
            (number(tag, "x"), number(tag, "y"), 0.45 * size * text.chars().count() as f64);
        let left = match () {
            () if tag.contains("\"middle\"") => x - width / 2.0,
            () if tag.contains("\"end\"") => x - width,
            () => x,
        };
        (text, [left, y - 0.7 * size, left + width, y])
    };
    tags.map(place).collect()
}

#[test]
fn nothing_of_any_scenario_is_written_over_something_else() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut seen = 0;
    for file in std::fs::read_dir(folder).expect("scenarios").flatten() {
        let path = file.path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let scenario = Scenario::read(&path, &[""; 0]).expect("a scenario");
        let texts = texts(&draw(&scenario.title, &NetworkMap::of(&scenario).expect("a network")));
        for (index, (text, [left, top, right, bottom])) in texts.iter().enumerate() {
            for (other, [l, t, r, b]) in &texts[..index] {
                let meet = left < r && l < right && top < b && t < bottom;
                assert!(!meet, "{}: `{text}` and `{other}`", path.display());
            }
        }
        seen += 1;
    }
    assert!(seen > 10);
}

#[test]
fn links_between_the_same_nodes_bend_apart() {
    let map = map("two-100mbit");
    let picture = Picture { map: &map, layout: layout(&map) };
    let lines: Vec<_> =
        (0..map.links.len()).map(|link| picture.line(link, map.links[link].ends[0], 0.0)).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((lines[0][0], lines[0][3]), (lines[1][0], lines[1][3]));
    assert!((lines[0][1][1] - lines[1][1][1]).abs() > 60.0, "{lines:?}");
}

#[test]
fn routes_follow_their_network() {
    let map = map("graph");
    let route = |name: &str| map.routes.iter().find(|route| route.name == name).unwrap();
    let names = |name| -> Vec<&str> {
        route(name).links.iter().map(|link| &map.links[*link].name[..]).collect()
    };
    assert_eq!(names("phone and server: wlan"), ["wlan", "dsl", "fibre", "trunk", "hosting"]);
    assert_eq!(names("phone and server: lte"), ["lte", "backhaul", "trunk", "hosting"]);
    let dsl = map.links.iter().find(|link| link.name == "dsl").unwrap();
    assert_eq!(dsl.directions.len(), 2, "{:?}", dsl.directions);
    assert!(dsl.directions[0].starts_with("20 Mbit/s, 8 ms, 100 pkts"), "{:?}", dsl.directions);
}
