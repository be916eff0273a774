//! Placement of texts in the picture of a network: never on other texts or nodes, and off the lines if there is room.

use polypath_lab::figure::{Canvas, Type};

/// A rectangle: left, top, right, bottom.
pub(super) type Sides = [f64; 4];

/// Lines of text that belong together.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Block {
    lines: Vec<(Type, String)>,
    /// Width and height.
    pub size: [f64; 2],
}

/// A candidate place for a block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Place {
    /// Centre of the block.
    pub middle: [f64; 2],
    /// Penalty of the place.
    pub cost: f64,
}

/// Placed blocks.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Placed {
    pub blocks: Vec<(Block, Sides)>,
    /// Number of overlaps with others.
    pub on_others: usize,
    /// Number of overlaps with lines.
    pub on_lines: usize,
}

/// Line spacing of a block, relative to the font size.
const LINE: f64 = 1.2;
/// Margin of a block, relative to the font size.
const RIM: f64 = 0.15;
/// Penalties for overlapping a line, and a text or node.
const ON_LINE: f64 = 1.0;
const ON_OTHER: f64 = 1000.0;

impl Block {
    /// Of these lines.
    pub fn new(lines: Vec<(Type, String)>) -> Self {
        let widths = lines.iter().map(|(kind, text)| {
            let [left, _, right, _] = kind.sides([0.0, 0.0], text);
            right - left
        });
        let size = lines.iter().map(|(kind, _)| kind.size).fold(0.0, f64::max);
        let width = widths.fold(0.0, f64::max) + 2.0 * RIM * size;
        let height = lines.iter().map(|(kind, _)| kind.size * LINE).sum::<f64>();
        Self { lines, size: [width, height] }
    }

    fn sides(&self, [x, y]: [f64; 2]) -> Sides {
        let [width, height] = self.size.map(|length| length / 2.0);
        [x - width, y - height, x + width, y + height]
    }

    /// Writes it into these sides.
    pub fn draw(&self, canvas: &mut Canvas, [left, top, right, _]: Sides) {
        let (middle, mut y) = ((left + right) / 2.0, top);
        for (kind, text) in &self.lines {
            canvas.text([middle, y + 0.9 * kind.size], kind.patched(), text);
            y += kind.size * LINE;
        }
    }
}

/// Places the blocks one after the other: on none of the rectangles and earlier blocks, and on as few lines as possible.
pub(super) fn place(
    blocks: Vec<(Block, Vec<Place>)>,
    rectangles: &[Sides],
    lines: &[[[f64; 2]; 2]],
) -> Placed {
    let mut placed = Placed { blocks: Vec::new(), on_others: 0, on_lines: 0 };
    for (block, places) in blocks {
        let mut best: Option<(f64, Sides, [usize; 2])> = None;
        for place in places {
            let sides = block.sides(place.middle);
            let others = placed.blocks.iter().map(|(_, other)| other).chain(rectangles);
            let on_others = others.filter(|other| meet(&sides, other)).count();
            let on_lines = lines.iter().filter(|line| crosses(line, &sides)).count();
            let cost = place.cost + ON_LINE * on_lines as f64 + ON_OTHER * on_others as f64;
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, sides, [on_others, on_lines]));
            }
        }
        if let Some((_, sides, [on_others, on_lines])) = best {
            placed.on_others += on_others;
            placed.on_lines += on_lines;
            placed.blocks.push((block, sides));
        }
    }
    placed
}

/// Whether two rectangles overlap.
pub(super) fn meet([l, t, r, b]: &Sides, [left, top, right, bottom]: &Sides) -> bool {
    l < right && left < r && t < bottom && top < b
}

/// Whether a line crosses a rectangle: clips it at each side.
fn crosses([from, to]: &[[f64; 2]; 2], [left, top, right, bottom]: &Sides) -> bool {
    let (mut first, mut last) = (0.0f64, 1.0f64);
    for (start, end, low, high) in [(from[0], to[0], left, right), (from[1], to[1], top, bottom)] {
        let step = end - start;
        if step.abs() < 1e-9 {
            if start <= *low || start >= *high {
                return false;
            }
            continue;
        }
        let (one, other) = ((low - start) / step, (high - start) / step);
        first = first.max(one.min(other));
        last = last.min(one.max(other));
    }
    first < last
}

#[cfg(test)]
mod tests {
    use polypath_lab::figure::Ink;

    use super::*;

    fn block(text: &str) -> Block {
        Block::new(vec![(Type::new(10.0, Ink::Text), text.into())])
    }

    fn at(x: f64, y: f64, cost: f64) -> Place {
        Place { middle: [x, y], cost }
    }

    #[test]
    fn a_block_avoids_others_at_any_cost_and_lines_at_some() {
        let line = [[[0.0, 0.0], [200.0, 0.0]]];
        let places = vec![at(50.0, 0.0, 0.0), at(50.0, 20.0, 0.5), at(50.0, 60.0, 5.0)];
        let one = (block("one"), places.clone());
        let placed = place(vec![one.clone(), one.clone()], &[], &line);
        let middles: Vec<f64> = placed.blocks.iter().map(|(_, s)| (s[1] + s[3]) / 2.0).collect();
        // Off the line, and the second rather on it than on the first or far away.
        assert!((middles[0] - 20.0).abs() < 1e-9 && middles[1].abs() < 1e-9, "{middles:?}");
        assert_eq!((placed.on_others, placed.on_lines), (0, 1));
        let full = place(vec![one.clone(), one.clone(), one.clone(), one], &[], &line);
        assert!(full.on_others == 1 && full.blocks.len() == 4);
        let taken = place(vec![(block("one"), places)], &[[0.0, 10.0, 99.0, 30.0]], &line);
        assert!(taken.on_others == 0 && taken.blocks[0].1[1] < 10.0);
    }

    #[test]
    fn lines_cross_what_they_lead_through() {
        let sides = [10.0, 10.0, 20.0, 20.0];
        for (line, is_crossing) in [
            ([[0.0, 0.0], [30.0, 30.0]], true),
            ([[15.0, 0.0], [15.0, 12.0]], true),
            ([[12.0, 12.0], [13.0, 13.0]], true),
            ([[0.0, 5.0], [30.0, 5.0]], false),
            ([[5.0, 0.0], [5.0, 30.0]], false),
            ([[0.0, 15.0], [30.0, 50.0]], false),
        ] {
            assert_eq!(crosses(&line, &sides), is_crossing, "{line:?}");
        }
    }
}
