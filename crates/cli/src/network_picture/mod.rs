//! The picture of a network and its routes.

mod labels;
mod layout;

use polypath_lab::figure::{
    Anchor, Canvas, Dimensions, Drawing, FigureStyle, Ink, MOST, Stroke, Type,
};
use polypath_sim::{MapLink, MapNode, MapSide, NetworkMap};

use self::labels::{Block, Place, Placed, Sides, place};
use self::layout::{Layout, layout};

/// Dash patterns of the routes, for use when the colours are used up.
const DASHES: [&[f64]; 3] = [&[], &[4.0, 2.0], &[1.2, 1.2]];
/// Font size that lengths refer to; they scale with the font.
const LETTERS: f64 = 11.0;
/// Distance of routes over the same link.
const ROUTE_GAP: f64 = 5.0;
/// Distance of links between the same two nodes.
const LINK_GAP: f64 = 76.0;
/// Width of routes and links.
const ROUTE: f64 = 2.6;
const LINK: f64 = 1.5;
const HOST: [f64; 2] = [44.0, 30.0];
const ROUTER: f64 = 15.0;
const MARGIN: f64 = 14.0;
/// Factor by which the network is enlarged until all texts have room, and the maximum number of times.
const GROWTH: f64 = 1.15;
const ROUNDS: i32 = 14;
const ROUNDS_FOR_LINES: i32 = 4;
/// Candidate positions of texts along a link.
const ALONG: [f64; 9] = [0.5, 0.42, 0.58, 0.35, 0.65, 0.28, 0.72, 0.22, 0.78];

/// Draws a network; equal networks make equal pictures.
pub(crate) fn draw(title: &str, map: &NetworkMap, style: FigureStyle) -> Drawing {
    let sizes = style.dimensions();
    let sketch = Sketch::of(map, &sizes);
    sketch.draw(title)
}

/// A network with its layout.
struct Sketch<'a> {
    map: &'a NetworkMap,
    layout: Layout,
    sizes: &'a Dimensions,
    placed: Placed,
    /// The unit of lengths, in points.
    unit: f64,
}

impl<'a> Sketch<'a> {
    /// The smallest layout in which all texts have room.
    fn of(map: &'a NetworkMap, sizes: &'a Dimensions) -> Self {
        let unit = sizes.font_pt / LETTERS;
        let mut sketch = Self {
            map,
            sizes,
            unit,
            layout: layout(map, unit),
            placed: Placed { blocks: Vec::new(), on_others: usize::MAX, on_lines: 0 },
        };
        let mut best = (sketch.layout.clone(), sketch.placed.clone());
        for round in 0..ROUNDS {
            sketch.layout = layout(map, unit * GROWTH.powi(round));
            let placed = sketch.place_texts();
            let faults = |placed: &Placed| (placed.on_others, placed.on_lines);
            if faults(&placed) < faults(&best.1) {
                best = (sketch.layout.clone(), placed);
            }
            // Overlaps with a few lines do not justify a much larger picture.
            let is_enough = best.1.on_lines == 0 || round >= ROUNDS_FOR_LINES;
            if best.1.on_others == 0 && is_enough {
                break;
            }
        }
        (sketch.layout, sketch.placed) = best;
        sketch
    }

    fn place(&self, node: usize) -> [f64; 2] {
        self.layout.places[node]
    }

    /// Offset of a link from the straight line, if others join the same two nodes.
    fn bend(&self, link: usize) -> f64 {
        let [one, two] = self.map.links[link].ends;
        let joins = |other: &usize| {
            let ends = self.map.links[*other].ends;
            ends == [one, two] || ends == [two, one]
        };
        let beside: Vec<usize> = (0..self.map.links.len()).filter(joins).collect();
        let position = beside.iter().position(|other| *other == link).unwrap_or(0);
        (position as f64 - (beside.len() as f64 - 1.0) / 2.0) * LINK_GAP * self.unit
    }

    /// The line of a link from one of its ends, with an offset.
    fn line(&self, link: usize, from: usize, aside: f64) -> Vec<[f64; 2]> {
        let [one, other] = self.map.links[link].ends;
        let to = if from == one { other } else { one };
        let (from, to) = (self.place(from), self.place(to));
        let at = |part: f64, aside: f64| {
            let [dx, dy] = self.across(link, aside);
            [from[0] + part * (to[0] - from[0]) + dx, from[1] + part * (to[1] - from[1]) + dy]
        };
        match self.bend(link) {
            0.0 => vec![at(0.0, aside), at(1.0, aside)],
            bend => {
                let far = bend + aside;
                vec![at(0.0, aside), at(0.2, far), at(0.8, far), at(1.0, aside)]
            }
        }
    }

    fn routes_over(&self, link: usize) -> impl Iterator<Item = usize> {
        let routes = self.map.routes.iter().enumerate();
        routes.filter(move |(_, route)| route.links.contains(&link)).map(|(number, _)| number)
    }

    /// A step of this length across a link, the same way whichever end comes first.
    fn across(&self, link: usize, length: f64) -> [f64; 2] {
        let [from, to] = self.map.links[link].ends.map(|end| self.place(end));
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let whole = dx.hypot(dy).max(1.0);
        let sign = if dx < 0.0 || (dx == 0.0 && dy < 0.0) { -1.0 } else { 1.0 };
        [-dy / whole * length * sign, dx / whole * length * sign]
    }

    /// The line of a route over one of its links, beside the other routes over it.
    fn route_line(&self, route: usize, link: usize, from: usize) -> Vec<[f64; 2]> {
        let sharing: Vec<usize> = self.routes_over(link).collect();
        let position = sharing.iter().position(|other| *other == route).unwrap_or(0);
        let shift = position as f64 - (sharing.len() as f64 - 1.0) / 2.0;
        self.line(link, from, shift * ROUTE_GAP * self.unit)
    }

    /// The rectangle of a node.
    fn sides(&self, node: usize) -> Sides {
        let [x, y] = self.place(node);
        let [width, height] = match self.map.nodes[node].is_host {
            true => HOST.map(|length| length / 2.0 * self.unit),
            false => [ROUTER * self.unit; 2],
        };
        [x - width, y - height, x + width, y + height]
    }

    /// Names of nodes, then texts of links, the shortest link first.
    fn place_texts(&self) -> Placed {
        let nodes: Vec<Sides> = (0..self.map.nodes.len()).map(|node| self.sides(node)).collect();
        let lines: Vec<[[f64; 2]; 2]> = (0..self.map.links.len())
            .flat_map(|link| {
                let points = self.line(link, self.map.links[link].ends[0], 0.0);
                points.windows(2).map(|pair| [pair[0], pair[1]]).collect::<Vec<_>>()
            })
            .collect();
        let mut blocks: Vec<(Block, Vec<Place>)> =
            self.map.nodes.iter().enumerate().map(|(index, node)| self.name(index, node)).collect();
        let length = |link: &usize| {
            let [from, to] = self.map.links[*link].ends.map(|end| self.place(end));
            (to[0] - from[0]).hypot(to[1] - from[1])
        };
        let mut links: Vec<usize> = (0..self.map.links.len()).collect();
        links.sort_by(|one, other| length(one).total_cmp(&length(other)).then(one.cmp(other)));
        blocks.extend(links.into_iter().map(|link| self.label(link, &self.map.links[link])));
        place(blocks, &nodes, &lines)
    }

    /// The name of a node with its possible places: below, above and beside it; long names lead away from the network.
    fn name(&self, index: usize, node: &MapNode) -> (Block, Vec<Place>) {
        let ink = if node.is_host { Ink::Text } else { Ink::Soft };
        let kind = Type::new(self.sizes.font_pt, ink).anchored(Anchor::Middle);
        let block = Block::new(vec![(kind, node.name.clone())]);
        let ([left, top, right, bottom], [width, height]) = (self.sides(index), block.size);
        let [x, y] = self.place(index);
        let gap = 2.0 * self.unit;
        let outwards = match node.side {
            Some(MapSide::Left) => right - width / 2.0,
            Some(MapSide::Right) => left + width / 2.0,
            None => x,
        };
        let below = bottom + gap + height / 2.0;
        let above = top - gap - height / 2.0;
        let beside = gap + width / 2.0;
        let places = [
            ([x, below], 0.0),
            ([outwards, below], 0.1),
            ([x, above], 0.3),
            ([outwards, above], 0.4),
            ([left - beside, y], 0.6),
            ([right + beside, y], 0.6),
            ([right + beside, below], 1.5),
            ([left - beside, below], 1.5),
            ([right + beside, above], 1.5),
            ([left - beside, above], 1.5),
        ];
        (block, places.into_iter().map(|(middle, cost)| Place { middle, cost }).collect())
    }

    /// The properties of a link, with candidate places on either side, preferably near its middle.
    fn label(&self, number: usize, link: &MapLink) -> (Block, Vec<Place>) {
        let kind = |ink| Type::new(self.sizes.small_pt, ink).anchored(Anchor::Middle);
        let lines = self
            .words(link)
            .into_iter()
            .enumerate()
            .map(|(row, line)| (kind(if row == 0 { Ink::Soft } else { Ink::Text }), line));
        let block = Block::new(lines.collect());
        let [from, to] = link.ends.map(|end| self.place(end));
        let [nx, ny] = self.across(number, 1.0);
        let routes = self.routes_over(number).count().max(1) as f64;
        let bundle = ((routes - 1.0) * ROUTE_GAP + ROUTE) * self.unit / 2.0;
        // Half of the extent of the block across the link.
        let half = (nx.abs() * block.size[0] + ny.abs() * block.size[1]) / 2.0;
        let mut places = Vec::new();
        for part in ALONG {
            let far = 2.0 * (part - 0.5_f64).abs();
            for (aside, cost) in [(-1.0, 0.0), (1.0, 0.2), (0.0, 2.0)] {
                let shift = self.bend(number) + aside * (bundle + half + 1.5 * self.unit);
                let middle = [
                    from[0] + part * (to[0] - from[0]) + nx * shift,
                    from[1] + part * (to[1] - from[1]) + ny * shift,
                ];
                places.push(Place { middle, cost: cost + far });
            }
        }
        (block, places)
    }

    /// The name and properties of a link, with arrows if its directions differ.
    fn words(&self, link: &MapLink) -> Vec<String> {
        let [from, to] = link.ends.map(|end| self.place(end));
        let arrows =
            if from[0] <= to[0] { ["\u{2192} ", "\u{2190} "] } else { ["\u{2190} ", "\u{2192} "] };
        let short = link.name.rsplit('/').next().unwrap_or(&link.name);
        let network = match link.network {
            0 => String::new(),
            number => format!(" (network {number})"),
        };
        let mut lines = vec![format!("{short}{network}")];
        match &link.directions[..] {
            [both] => lines.push(both.clone()),
            each => {
                lines.extend(each.iter().zip(arrows).map(|(text, arrow)| format!("{arrow}{text}")));
            }
        }
        lines
    }

    /// The rectangle around everything but title and legend.
    fn bounds(&self) -> Sides {
        let nodes = (0..self.map.nodes.len()).map(|node| self.sides(node));
        let texts = self.placed.blocks.iter().map(|(_, sides)| *sides);
        let lines = (0..self.map.links.len()).flat_map(|link| {
            let points = self.line(link, self.map.links[link].ends[0], 0.0);
            points.into_iter().map(|[x, y]| [x, y, x, y])
        });
        let all = nodes.chain(texts).chain(lines);
        let found = all.reduce(|[l, t, r, b], [left, top, right, bottom]| {
            [l.min(left), t.min(top), r.max(right), b.max(bottom)]
        });
        found.unwrap_or([0.0; 4])
    }
}

impl Sketch<'_> {
    fn draw(mut self, title: &str) -> Drawing {
        let margin = MARGIN * self.unit;
        let about = format!(
            "A network of {} and {} with {}, and the routes of the paths through it.",
            counted(self.map.nodes.iter().filter(|node| node.is_host).count(), "host"),
            counted(self.map.nodes.iter().filter(|node| !node.is_host).count(), "router"),
            counted(self.map.links.len(), "link"),
        );
        let mut canvas = Canvas::new(title, &about);
        let [left, top, right, bottom] = self.bounds();
        let legend = self.legend_width();
        let heading = self.sizes.title_pt.map(|size| Type::new(size, Ink::Text));
        let titled = heading.map_or(0.0, |kind| {
            let [start, _, end, _] = kind.sides([0.0, 0.0], title);
            end - start
        });
        let width = (right - left).max(legend).max(titled) + 2.0 * margin;
        let mut y = margin;
        if let Some(kind) = heading {
            let kind = kind.anchored(Anchor::Middle);
            canvas.text([width / 2.0, y + 0.9 * kind.size], kind, title);
            y += 2.0 * kind.size;
        }
        self.shift([(width - right - left) / 2.0, y - top]);
        self.draw_links(&mut canvas);
        self.map.nodes.iter().enumerate().for_each(|(index, node)| {
            self.draw_node(&mut canvas, index, node);
        });
        for (block, sides) in &self.placed.blocks {
            block.draw(&mut canvas, *sides);
        }
        let end = self.draw_legend(&mut canvas, [margin, y + bottom - top + margin]);
        canvas.finish([width, end + margin], Some(self.sizes.page_pt()))
    }

    fn shift(&mut self, [dx, dy]: [f64; 2]) {
        self.layout.places.iter_mut().for_each(|[x, y]| (*x, *y) = (*x + dx, *y + dy));
        for (_, [left, top, right, bottom]) in &mut self.placed.blocks {
            (*left, *top, *right, *bottom) = (*left + dx, *top + dy, *right + dx, *bottom + dy);
        }
    }

    /// Links, and the routes over them.
    fn draw_links(&self, canvas: &mut Canvas) {
        for (number, link) in self.map.links.iter().enumerate() {
            let points = self.line(number, link.ends[0], 0.0);
            let is_used = self.routes_over(number).next().is_some();
            let ink = if is_used { Ink::Faint } else { Ink::Soft };
            canvas.named_line(&link.name, &points, Stroke::solid(ink, LINK * self.unit));
        }
        for (number, route) in self.map.routes.iter().enumerate() {
            let parts = route.links.iter().zip(&route.nodes);
            let points: Vec<[f64; 2]> =
                parts.flat_map(|(link, from)| self.route_line(number, *link, *from)).collect();
            canvas.named_line(&route.name, &points, self.stroke(number));
        }
    }

    fn stroke(&self, route: usize) -> Stroke {
        let dash = DASHES[route / MOST % DASHES.len()];
        Stroke { ink: Ink::Curve(route), width: ROUTE * self.unit, dash }
    }

    fn draw_node(&self, canvas: &mut Canvas, index: usize, node: &MapNode) {
        let title = match node.addresses.is_empty() {
            true => node.name.clone(),
            false => format!("{}: {}", node.name, node.addresses.join(", ")),
        };
        let edge = Stroke::solid(Ink::Text, 1.5 * self.unit);
        if node.is_host {
            let inside = (Ink::Faint, 4.0 * self.unit);
            return canvas.named_rectangle(&title, self.sides(index), inside, edge);
        }
        let [x, y] = self.place(index);
        canvas.named_circle(&title, ([x, y], ROUTER * self.unit), Ink::Paper, edge);
        let arm = 0.55 * ROUTER * self.unit;
        let thin = Stroke::solid(Ink::Text, 1.2 * self.unit);
        canvas.line(&[[x - arm, y], [x + arm, y]], thin);
        canvas.line(&[[x, y - arm], [x, y + arm]], thin);
    }

    /// The lines of the legend: of each route, its words.
    fn legend(&self) -> Vec<String> {
        let routes = self.map.routes.iter().map(|route| {
            let [from, to] = &route.addresses;
            format!("{} ({from} to {to}, {})", route.name, counted(route.links.len(), "link"))
        });
        routes.collect()
    }

    fn legend_width(&self) -> f64 {
        let kind = Type::new(self.sizes.font_pt, Ink::Text);
        let widths = self.legend().into_iter().map(|text| {
            let [_, _, end, _] = kind.sides([50.0 * self.unit, 0.0], &text);
            end
        });
        let [_, _, note, _] = kind.sides([0.0, 0.0], NOTE);
        widths.fold(note, f64::max)
    }

    /// Draws it below a place; returns where it ends.
    fn draw_legend(&self, canvas: &mut Canvas, [left, top]: [f64; 2]) -> f64 {
        let size = self.sizes.font_pt;
        let (text, soft) = (Type::new(size, Ink::Text), Type::new(size, Ink::Soft));
        let row = 1.7 * size;
        let mut y = top + size;
        canvas.text([left, y], soft, "Routes of the associations");
        for (number, words) in self.legend().iter().enumerate() {
            y += row;
            let middle = y - 0.36 * size;
            let sample = [[left, middle], [left + 40.0 * self.unit, middle]];
            canvas.line(&sample, self.stroke(number));
            canvas.text([left + 50.0 * self.unit, y], text, words);
        }
        y += row;
        canvas.text([left, y], soft, NOTE);
        y + 0.3 * size
    }
}

const NOTE: &str = "Squares are hosts, circles are routers. Links: rate, propagation delay, queue.";

fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[cfg(test)]
mod tests;
