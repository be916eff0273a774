//! The picture of a network and its routes, as SVG.

mod layout;

use std::fmt::{self, Write};

use polypath_sim::{MapNode, MapSide, NetworkMap};

use self::layout::{Layout, layout};

/// Colours of the routes: they differ in every kind of colour vision (Okabe and Ito).
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"];
/// Strokes, one after the other when the colours are used up.
const STROKES: [&str; 3] = ["", "9 4", "3 3"];
/// Distance of routes over the same link.
const ROUTE_GAP: f64 = 5.0;
/// Distance of links between the same two nodes.
const LINK_GAP: f64 = 76.0;
const MARGIN: [f64; 2] = [110.0, 70.0];
const LEGEND_ROW: f64 = 20.0;
const HOST: [f64; 2] = [44.0, 30.0];
const ROUTER: f64 = 15.0;
/// Characters of a name that fits below a host.
const SHORT_NAME: usize = 9;

/// Draws a network; equal networks make equal pictures.
pub(crate) fn draw(title: &str, map: &NetworkMap) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = Picture { map, layout: layout(map) }.write(title, &mut out);
    out
}

struct Picture<'a> {
    map: &'a NetworkMap,
    layout: Layout,
}

impl Picture<'_> {
    fn write(&self, title: &str, out: &mut String) -> fmt::Result {
        let [width, height] = self.layout.size;
        let (width, body) =
            ((width + 2.0 * MARGIN[0]).max(640.0), height + 2.0 * (MARGIN[1] + self.rise()));
        let total = body + LEGEND_ROW * (self.map.routes.len() as f64 + 2.5);
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {total:.0}\" width=\"{width:.0}\" \
             height=\"{total:.0}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">"
        )?;
        writeln!(out, "<title>{}</title>", escape(title))?;
        writeln!(out, "<rect width=\"{width:.0}\" height=\"{total:.0}\" fill=\"#ffffff\"/>")?;
        let centre = width / 2.0;
        writeln!(
            out,
            "<text x=\"{centre:.1}\" y=\"24\" text-anchor=\"middle\" font-size=\"15\">{}</text>",
            escape(title)
        )?;
        for number in 0..self.map.links.len() {
            self.write_line(number, out)?;
        }
        self.write_routes(out)?;
        for (index, node) in self.map.nodes.iter().enumerate() {
            self.write_node(index, node, out)?;
        }
        for number in 0..self.map.links.len() {
            self.write_label(number, out)?;
        }
        self.write_legend(body, out)?;
        out.write_str("</svg>\n")
    }

    fn place(&self, node: usize) -> [f64; 2] {
        let [x, y] = self.layout.places[node];
        [x + MARGIN[0], y + MARGIN[1] + self.rise()]
    }

    /// How far a link bends aside of the straight line, since others join the same two nodes.
    fn bend(&self, link: usize) -> f64 {
        let [one, two] = self.map.links[link].ends;
        let joins = |other: &usize| {
            let ends = self.map.links[*other].ends;
            ends == [one, two] || ends == [two, one]
        };
        let beside: Vec<usize> = (0..self.map.links.len()).filter(joins).collect();
        let position = beside.iter().position(|other| *other == link).unwrap_or(0);
        (position as f64 - (beside.len() as f64 - 1.0) / 2.0) * LINK_GAP
    }

    /// How far the links bend at most.
    fn rise(&self) -> f64 {
        (0..self.map.links.len()).map(|link| self.bend(link).abs()).fold(0.0, f64::max)
    }

    /// The line of a link from one of its ends, so far aside.
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

    fn write_line(&self, number: usize, out: &mut String) -> fmt::Result {
        let link = &self.map.links[number];
        let points = self.line(number, link.ends[0], 0.0);
        let points: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
        let name = escape(&link.name);
        writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#b0b0b0\" stroke-width=\"1.5\"><title>{name}</title></polyline>",
            points.join(" ")
        )
    }

    /// Routes run beside each other along the links that they share.
    fn write_routes(&self, out: &mut String) -> fmt::Result {
        for (number, route) in self.map.routes.iter().enumerate() {
            let mut points = String::new();
            for (link, ends) in route.links.iter().zip(route.nodes.windows(2)) {
                let sharing: Vec<usize> = self.routes_over(*link).collect();
                let position = sharing.iter().position(|other| *other == number).unwrap_or(0);
                let shift = position as f64 - (sharing.len() as f64 - 1.0) / 2.0;
                for [x, y] in self.line(*link, ends[0], shift * ROUTE_GAP) {
                    write!(points, "{x:.1},{y:.1} ")?;
                }
            }
            let (colour, stroke) = style(number);
            writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.6\" \
                 stroke-linejoin=\"round\"{stroke}><title>{}</title></polyline>",
                points.trim_end(),
                escape(&route.name)
            )?;
        }
        Ok(())
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

    fn write_node(&self, index: usize, node: &MapNode, out: &mut String) -> fmt::Result {
        let [x, y] = self.place(index);
        let title = escape(&match node.addresses.is_empty() {
            true => node.name.clone(),
            false => format!("{}: {}", node.name, node.addresses.join(", ")),
        });
        let below = if node.is_host {
            let [width, height] = HOST;
            writeln!(
                out,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"4\" fill=\"#f4f4f4\" \
                 stroke=\"#202020\" stroke-width=\"1.5\"><title>{title}</title></rect>",
                x - width / 2.0,
                y - height / 2.0
            )?;
            height / 2.0
        } else {
            writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{ROUTER:.0}\" fill=\"#ffffff\" stroke=\"#202020\" \
                 stroke-width=\"1.5\"><title>{title}</title></circle>"
            )?;
            let arm = 0.55 * ROUTER;
            writeln!(
                out,
                "<path d=\"M{:.1} {y:.1}H{:.1}M{x:.1} {:.1}V{:.1}\" stroke=\"#202020\" stroke-width=\"1.2\"/>",
                x - arm,
                x + arm,
                y - arm,
                y + arm
            )?;
            ROUTER
        };
        let weight = if node.is_host { " font-weight=\"bold\"" } else { " fill=\"#404040\"" };
        let y = y + below + 13.0;
        // Long names of hosts lead away from the links.
        match node.side {
            Some(side) if node.is_host && node.name.len() > SHORT_NAME => {
                let (anchor, shift) = match side {
                    MapSide::Left => ("end", HOST[0] / 2.0),
                    MapSide::Right => ("start", -HOST[0] / 2.0),
                };
                write_text_from([x + shift, y], anchor, weight, &node.name, out)
            }
            _ => write_text([x, y], weight, &node.name, out),
        }
    }

    /// What a link is, nearer to the end where fewer links meet.
    fn write_label(&self, number: usize, out: &mut String) -> fmt::Result {
        let link = &self.map.links[number];
        let [from, to] = link.ends.map(|end| self.place(end));
        let meeting = |end: usize| {
            let there = self.map.links.iter().filter(|other| other.ends.contains(&end));
            there.count()
        };
        let [first, second] = link.ends.map(meeting);
        let part = match first.cmp(&second) {
            std::cmp::Ordering::Less => 0.38,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Greater => 0.62,
        };
        let bend = self.across(number, self.bend(number));
        let [x, y] = [0, 1].map(|axis| from[axis] + part * (to[axis] - from[axis]) + bend[axis]);
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
        let is_steep = (from[0] - to[0]).abs() < 60.0;
        let top = y - 7.0 - 12.0 * (lines.len() as f64 - 1.0);
        for (row, line) in lines.iter().enumerate() {
            let weight = if row == 0 {
                " font-size=\"10\" font-style=\"italic\""
            } else {
                " font-size=\"10\""
            };
            let y = top + 12.0 * row as f64;
            if is_steep {
                write_text_from([x + 10.0, y + 12.0], "start", weight, line, out)?;
            } else {
                write_text([x, y], weight, line, out)?;
            }
        }
        Ok(())
    }

    fn write_legend(&self, top: f64, out: &mut String) -> fmt::Result {
        let left = 30.0;
        writeln!(
            out,
            "<text x=\"{left:.1}\" y=\"{top:.1}\" font-weight=\"bold\">Routes of the associations</text>"
        )?;
        for (number, route) in self.map.routes.iter().enumerate() {
            let y = top + LEGEND_ROW * (number as f64 + 1.0);
            let (colour, stroke) = style(number);
            writeln!(
                out,
                "<line x1=\"{left:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" \
                 stroke-width=\"2.6\"{stroke}/>",
                y - 4.0,
                left + 40.0,
                y - 4.0
            )?;
            let [from, to] = &route.addresses;
            writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{y:.1}\">{} ({from} to {to}, {} links)</text>",
                left + 50.0,
                escape(&route.name),
                route.links.len()
            )?;
        }
        let y = top + LEGEND_ROW * (self.map.routes.len() as f64 + 1.0);
        writeln!(
            out,
            "<text x=\"{left:.1}\" y=\"{y:.1}\" fill=\"#606060\">Squares are hosts, circles are routers. Links: rate, \
             propagation delay, queue.</text>"
        )
    }
}

/// Colour and stroke of a route.
fn style(number: usize) -> (&'static str, String) {
    let stroke = STROKES[number / COLOURS.len() % STROKES.len()];
    let stroke = match stroke {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    };
    (COLOURS[number % COLOURS.len()], stroke)
}

/// Text in the middle of a place, with a white rim against the lines behind it.
fn write_text(place: [f64; 2], attributes: &str, text: &str, out: &mut String) -> fmt::Result {
    write_text_from(place, "middle", attributes, text, out)
}

/// The same with another anchor.
fn write_text_from(
    [x, y]: [f64; 2],
    anchor: &str,
    attributes: &str,
    text: &str,
    out: &mut String,
) -> fmt::Result {
    writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" paint-order=\"stroke\" stroke=\"#ffffff\" \
         stroke-width=\"3\"{attributes}>{}</text>",
        escape(text)
    )
}

/// Text as XML takes it.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
