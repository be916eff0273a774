use std::path::{Path, PathBuf};

use polypath_sim::Scenario;
use polypath_sim::document::{Document, Step};

use super::labels::meet;
use super::*;
use crate::kind::Kind;

fn map(name: &str) -> NetworkMap {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let scenario = Scenario::read(&file.with_extension("toml"), &[""; 0]).unwrap();
    NetworkMap::of(&scenario).unwrap()
}

/// The elements of this kind.
fn count(svg: &str, tag: &str) -> usize {
    svg.matches(&format!("<{tag} ")).count()
}

#[test]
fn pictures_show_every_node_link_and_route() {
    for name in ["star", "dual-dumbbell", "graph", "shared-bottleneck", "failover", "red-cmt"] {
        let map = map(name);
        let picture = draw("A & B", &map, FigureStyle::Screen);
        assert_eq!(picture, draw("A & B", &map, FigureStyle::Screen), "{name}");
        let svg = picture.svg();
        let texts: Vec<&str> = picture.texts().iter().map(|text| text.text.as_str()).collect();
        assert_eq!(texts[0], "A & B");
        let routers = map.nodes.iter().filter(|node| !node.is_host).count();
        // A line each, one in the legend for routes, and the cross of routers.
        let lines = map.links.len() + 2 * map.routes.len() + 2 * routers;
        assert_eq!((count(svg, "polyline"), count(svg, "circle")), (lines, routers), "{name}");
        for node in &map.nodes {
            assert!(texts.contains(&node.name.as_str()), "{name}: {}", node.name);
        }
        for link in &map.links {
            let title = format!("<title>{}</title></polyline>", link.name);
            assert!(svg.contains(&title), "{name}: {}", link.name);
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
        let Layout { places } = layout(&map, 1.0);
        for (index, [x, y]) in places.iter().enumerate() {
            assert!(*x >= 0.0 && *y >= 0.0, "{name}: {x} {y}");
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

/// All scenario files in a folder and those below it.
fn scenarios(folder: &Path, found: &mut Vec<(PathBuf, Scenario)>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            scenarios(&path, found);
        }
        let is_scenario = |document: &Document| {
            document.has(&[Step::Key("network")]) && Kind::of(document) == Kind::Scenario
        };
        if name.ends_with(".toml") && Document::read(&path).is_ok_and(|it| is_scenario(&it)) {
            let scenario = Scenario::read(&path, &[""; 0]);
            found.push((path.clone(), scenario.unwrap_or_else(|error| panic!("{error}"))));
        }
    }
}

#[test]
fn nothing_of_any_scenario_is_written_over_something_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["scenarios", "studies", "papers", "scripts", "crates"] {
        scenarios(&root.join(folder), &mut found);
    }
    assert!(found.len() > 30, "{}", found.len());
    for (path, scenario) in &found {
        let map = NetworkMap::of(scenario).expect("a network");
        for style in FigureStyle::ALL {
            let place = format!("{}, {style}", path.display());
            let picture = draw(&scenario.title, &map, style);
            let [width, height] = picture.size();
            for (index, text) in picture.texts().iter().enumerate() {
                for other in &picture.texts()[..index] {
                    assert!(!text.meets(other), "{place}: {text:?} and {other:?}");
                }
                let [left, top, right, bottom] = text.sides;
                let within = left >= 0.0 && top >= 0.0 && right <= width && bottom <= height;
                assert!(within, "{place}: {text:?} of {width} x {height}");
            }
            let sizes = style.dimensions();
            let sketch = Sketch::of(&map, &sizes);
            assert_eq!(sketch.placed.on_others, 0, "{place}");
            for node in 0..map.nodes.len() {
                let sides = sketch.sides(node);
                let on_it = sketch.placed.blocks.iter().find(|(_, text)| meet(text, &sides));
                assert_eq!(on_it, None, "{place}: {}", map.nodes[node].name);
            }
        }
    }
}

#[test]
fn links_between_the_same_nodes_bend_apart() {
    let map = map("two-100mbit");
    let sizes = FigureStyle::Screen.dimensions();
    let picture = Sketch::of(&map, &sizes);
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
