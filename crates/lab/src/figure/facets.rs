//! Division of many curves into several panels.

use super::canvas::Drawing;
use super::palette::MOST;
use super::picture::{Curve, Picture};
use super::sheet::{Sharing, Sheet};
use super::style::FigureStyle;

impl Picture {
    /// Draws the picture: in one panel, or in several if it has more curves than there are styles.
    pub fn draw(&self, style: FigureStyle) -> Drawing {
        self.sheet().draw(style)
    }

    /// Its panels. Common properties of all curves are in the note, not in the legend.
    pub fn sheet(&self) -> Sheet {
        let mut picture = self.clone();
        let common = take_common(&mut picture.curves);
        let notes = [self.note.clone(), common.join(", ")];
        let note = notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join("; ");
        let (panels, sharing) = match picture.curves.len() {
            ..=MOST => (vec![picture], Sharing::All),
            _ => match facets(&picture) {
                Some(panels) => (panels, Sharing::All),
                None => (in_turn(&picture), Sharing::Axes),
            },
        };
        Sheet { title: self.title.clone(), note, panels, sharing }
    }
}

/// Removes the parts of labels that all curves share, and returns them. A single curve loses all of them.
fn take_common(curves: &mut [Curve]) -> Vec<String> {
    let Some(first) = curves.first().map(|curve| curve.parts.clone()) else { return Vec::new() };
    if !is_regular(curves) {
        return Vec::new();
    }
    let same = |part: &usize| curves.iter().all(|curve| curve.parts[*part] == first[*part]);
    let common: Vec<usize> = (0..first.len()).filter(same).collect();
    // Curves with equal labels keep them.
    if curves.len() > 1 && common.len() == first.len() {
        return Vec::new();
    }
    for curve in curves {
        common.iter().for_each(|part| curve.parts[*part].clear());
    }
    let texts = common.into_iter().map(|part| first[part].clone());
    texts.filter(|text| !text.is_empty()).collect()
}

fn is_regular(curves: &[Curve]) -> bool {
    curves.windows(2).all(|pair| pair[0].parts.len() == pair[1].parts.len())
}

/// A panel for each combination of as few parts of the labels as possible, so that curves differ within each panel, and
/// equal labels have equal styles in all panels.
fn facets(picture: &Picture) -> Option<Vec<Picture>> {
    let count = picture.curves.first()?.parts.len();
    if !is_regular(&picture.curves) || count > 8 {
        return None;
    }
    let mut best: Option<(usize, u32)> = None;
    // Each bit stands for a part that is the same in a panel.
    for chosen in 1..(1u32 << count) {
        let panels = distinct(&picture.curves, |part| is_in(chosen, part)).len();
        let looks = distinct(&picture.curves, |part| !is_in(chosen, part)).len();
        let is_better = best.is_none_or(|(fewest, _)| panels < fewest);
        if looks <= MOST && looks > 1 && panels > 1 && is_better {
            best = Some((panels, chosen));
        }
    }
    let (_, chosen) = best?;
    let titles = distinct(&picture.curves, |part| is_in(chosen, part));
    let looks = distinct(&picture.curves, |part| !is_in(chosen, part));
    let panel = |title: &Vec<String>| {
        let here = picture.curves.iter().filter(|c| kept(c, |part| is_in(chosen, part)) == *title);
        let curve = |curve: &Curve| {
            let parts = kept(curve, |part| !is_in(chosen, part));
            let look = looks.iter().position(|known| *known == parts).unwrap_or_default();
            Curve { parts, look, spots: curve.spots.clone() }
        };
        Picture {
            curves: here.map(curve).collect(),
            title: Curve { parts: title.clone(), look: 0, spots: Vec::new() }.label(),
            ..picture.clone()
        }
    };
    Some(titles.iter().map(panel).collect())
}

fn is_in(chosen: u32, part: usize) -> bool {
    chosen & (1 << part) != 0
}

fn kept(curve: &Curve, keeps: impl Fn(usize) -> bool) -> Vec<String> {
    let parts = curve.parts.iter().enumerate();
    parts.map(|(n, part)| if keeps(n) { part.clone() } else { String::new() }).collect()
}

/// The distinct combinations of some parts, in the order of the curves.
fn distinct(curves: &[Curve], keeps: impl Fn(usize) -> bool) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    for curve in curves {
        let parts = kept(curve, &keeps);
        if !found.contains(&parts) {
            found.push(parts);
        }
    }
    found
}

/// As few panels as possible, with about equal numbers of consecutive curves.
fn in_turn(picture: &Picture) -> Vec<Picture> {
    let panel = |curves: &[Curve]| {
        let curves = curves.iter().cloned().enumerate();
        Picture {
            title: String::new(),
            curves: curves.map(|(look, curve)| Curve { look, ..curve }).collect(),
            ..picture.clone()
        }
    };
    let count = picture.curves.len();
    let each = count.div_ceil(count.div_ceil(MOST).max(1)).max(1);
    picture.curves.chunks(each).map(panel).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Scale, Shape, Spot};
    use super::*;

    fn picture(labels: &[&[&str]]) -> Picture {
        let curve = |(look, parts): (usize, &&[&str])| Curve {
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            look,
            spots: vec![Spot::exact(1.0, look as f64), Spot::exact(2.0, 1.0)],
        };
        Picture {
            title: "t".into(),
            note: String::new(),
            x_label: "x".into(),
            y_label: "y".into(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            categories: Vec::new(),
            shape: Shape::MarkedLines,
            curves: labels.iter().enumerate().map(curve).collect(),
            references: Vec::new(),
        }
    }

    #[test]
    fn what_all_curves_have_is_said_once() {
        let sheet = picture(&[&["cmt", "loss 1 %"], &["rp", "loss 1 %"]]).sheet();
        assert_eq!((sheet.note.as_str(), sheet.panels.len()), ("loss 1 %", 1));
        let labels: Vec<String> = sheet.panels[0].curves.iter().map(Curve::label).collect();
        assert_eq!(labels, ["cmt", "rp"]);
        let single = picture(&[&["cmt", "loss 1 %"]]).sheet();
        assert_eq!(single.note, "cmt, loss 1 %");
        let same = picture(&[&["cmt"], &["cmt"]]).sheet();
        assert_eq!((same.note.as_str(), same.panels[0].curves[1].label().as_str()), ("", "cmt"));
    }

    #[test]
    fn more_than_eight_curves_become_panels_with_one_legend() {
        let losses = ["1 %", "2 %", "3 %", "4 %", "5 %"];
        let labels: Vec<[&str; 2]> =
            losses.iter().flat_map(|loss| [["cmt", *loss], ["rp", *loss]]).collect();
        let labels: Vec<&[&str]> = labels.iter().map(|label| &label[..]).collect();
        let sheet = picture(&labels).sheet();
        // Two panels of five curves, not five of two.
        let titles: Vec<&str> = sheet.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["cmt", "rp"]);
        for panel in &sheet.panels {
            let looks: Vec<(usize, String)> =
                panel.curves.iter().map(|curve| (curve.look, curve.label())).collect();
            let expected: Vec<(usize, String)> =
                losses.iter().enumerate().map(|(n, loss)| (n, (*loss).to_owned())).collect();
            assert_eq!(looks, expected);
        }
        let spots: usize = sheet.panels.iter().map(|panel| panel.curves.len()).sum();
        assert_eq!((spots, sheet.sharing), (10, Sharing::All));
    }

    #[test]
    fn labels_of_one_part_go_into_panels_in_turn() {
        let names: Vec<String> = (0..20).map(|number| format!("series {number}")).collect();
        let labels: Vec<[&str; 1]> = names.iter().map(|name| [name.as_str()]).collect();
        let labels: Vec<&[&str]> = labels.iter().map(|label| &label[..]).collect();
        let sheet = picture(&labels).sheet();
        let counts: Vec<usize> = sheet.panels.iter().map(|panel| panel.curves.len()).collect();
        assert_eq!((counts, sheet.sharing), (vec![7, 7, 6], Sharing::Axes));
        assert!(sheet.panels.iter().all(|panel| panel.curves.iter().all(|c| c.look < MOST)));
    }
}
