//! Layout of nodes in the picture of a network.

use polypath_sim::{MapRoute, MapSide, NetworkMap};

/// Minimum vertical distance of nodes.
const ROW: f64 = 92.0;
/// Nodes closer than this horizontally must keep the vertical distance.
const NEAR: f64 = 120.0;
/// Width of a link.
const LINK: f64 = 240.0;
/// Iterations in which nodes without a route move to the middle of their neighbours.
const ROUNDS: usize = 8;

/// Coordinates of all nodes, from 0.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Layout {
    pub places: Vec<[f64; 2]>,
}

/// From left to right by distance from the hosts on either side, from top to bottom by the routes that lead through. A unit
/// is so long.
pub(super) fn layout(map: &NetworkMap, unit: f64) -> Layout {
    let xs = fractions(map);
    let hops = map.routes.iter().map(|route| route.links.len()).max().unwrap_or(2).max(2);
    let width = LINK * hops as f64;
    let mut lanes = lanes(map);
    let xs: Vec<f64> = xs.into_iter().map(|x| x * width).collect();
    separate(&xs, &mut lanes);
    follow_neighbours(map, &xs, &mut lanes);
    separate(&xs, &mut lanes);
    let top = lanes.iter().copied().fold(f64::INFINITY, f64::min);
    let place = |(x, y): (f64, &f64)| [x * unit, (y - top) * unit];
    Layout { places: xs.into_iter().zip(&lanes).map(place).collect() }
}

/// Neighbours of each node.
fn neighbours(map: &NetworkMap) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new(); map.nodes.len()];
    for link in &map.links {
        let [first, second] = link.ends;
        all[first].push(second);
        all[second].push(first);
    }
    all
}

/// Horizontal position of each node: 0 on the left, 1 on the right.
fn fractions(map: &NetworkMap) -> Vec<f64> {
    let neighbours = neighbours(map);
    let distances = |side: MapSide| {
        let mut distances: Vec<Option<u32>> =
            map.nodes.iter().map(|node| (node.side == Some(side)).then_some(0)).collect();
        let mut reached: Vec<usize> =
            (0..map.nodes.len()).filter(|node| distances[*node].is_some()).collect();
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            next += 1;
            // Hosts do not forward.
            if map.nodes[node].is_host && distances[node] != Some(0) {
                continue;
            }
            for &neighbour in &neighbours[node] {
                if distances[neighbour].is_none() {
                    distances[neighbour] = distances[node].map(|distance| distance + 1);
                    reached.push(neighbour);
                }
            }
        }
        distances
    };
    let (left, right) = (distances(MapSide::Left), distances(MapSide::Right));
    let fraction = |(from_left, to_right): (&Option<u32>, &Option<u32>)| match (from_left, to_right)
    {
        (Some(0), _) => 0.0,
        (_, Some(0)) => 1.0,
        (Some(from), Some(to)) => f64::from(*from) / f64::from(from + to),
        _ => 0.5,
    };
    left.iter().zip(&right).map(fraction).collect()
}

/// Preferred vertical position of each node: the middle of the routes through it, preferably those between hosts with several
/// links, or of its neighbours.
fn lanes(map: &NetworkMap) -> Vec<f64> {
    let neighbours = neighbours(map);
    let is_main = |route: &&MapRoute| {
        let ends = [route.nodes.first(), route.nodes.last()];
        !route.is_way_back && ends.iter().flatten().all(|end| neighbours[**end].len() > 1)
    };
    let mut routes: Vec<&MapRoute> = map.routes.iter().filter(is_main).collect();
    if routes.is_empty() {
        routes = map.routes.iter().filter(|route| !route.is_way_back).collect();
    }
    let through = |node: usize| {
        let numbered = routes.iter().enumerate();
        numbered.filter(move |(_, route)| route.nodes.contains(&node)).map(|(number, _)| number)
    };
    let of_routes = |node| mean(through(node).map(|number| number as f64 * ROW * 1.3));
    let mut lanes: Vec<Option<f64>> = (0..map.nodes.len()).map(of_routes).collect();
    for _ in 0..ROUNDS {
        for node in 0..lanes.len() {
            if through(node).next().is_none() {
                lanes[node] = mean(neighbours[node].iter().filter_map(|other| lanes[*other]));
            }
        }
    }
    lanes.into_iter().map(|lane| lane.unwrap_or(0.0)).collect()
}

/// Moves nodes with nothing above or below them, and routers of hosts with one link, to the middle of their neighbours.
fn follow_neighbours(map: &NetworkMap, xs: &[f64], ys: &mut [f64]) {
    let neighbours = neighbours(map);
    let before = ys.to_vec();
    for node in 0..ys.len() {
        let is_far = |other: usize| other == node || (xs[other] - xs[node]).abs() >= NEAR;
        let single = |other: &&usize| map.nodes[**other].is_host && neighbours[**other].len() == 1;
        let fans_out =
            !map.nodes[node].is_host && neighbours[node].iter().filter(single).count() > 1;
        if fans_out || (0..xs.len()).all(is_far) {
            let around = mean(neighbours[node].iter().map(|other| before[*other]));
            ys[node] = around.unwrap_or(ys[node]);
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Moves overlapping nodes of each column apart, around the middle of their preferred positions.
fn separate(xs: &[f64], ys: &mut [f64]) {
    let mut by_x: Vec<usize> = (0..xs.len()).collect();
    by_x.sort_by(|one, other| xs[*one].total_cmp(&xs[*other]));
    let mut columns: Vec<Vec<usize>> = Vec::new();
    for node in by_x {
        match columns.last_mut() {
            Some(column) if xs[node] - xs[column[0]] < NEAR => column.push(node),
            _ => columns.push(vec![node]),
        }
    }
    for mut column in columns {
        column.sort_by(|one, other| ys[*one].total_cmp(&ys[*other]).then(one.cmp(other)));
        let wanted = mean(column.iter().map(|node| ys[*node])).unwrap_or(0.0);
        for index in 1..column.len() {
            let least = ys[column[index - 1]] + ROW;
            ys[column[index]] = ys[column[index]].max(least);
        }
        let found = mean(column.iter().map(|node| ys[*node])).unwrap_or(0.0);
        column.iter().for_each(|node| ys[*node] += wanted - found);
    }
}
