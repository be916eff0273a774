//! Our numbers beside those of other tools.

use maud::{Markup, Render, html};

use super::page::{RowKind, TableHtml};
use super::text::{estimate, number, spread};
use crate::reproduce::{Agreement, Beside};

/// A table for each figure.
pub(super) fn tables(rows: &[Beside]) -> Markup {
    if rows.is_empty() {
        return Markup::default();
    }
    let beyond = rows.iter().filter(|row| row.agreement == Agreement::Differs).count();
    let compared = rows.iter().filter(|row| row.agreement != Agreement::Unknown).count();
    let mut figures: Vec<&str> = Vec::new();
    for row in rows {
        if !figures.contains(&row.figure.as_str()) {
            figures.push(&row.figure);
        }
    }
    let of_figure =
        |figure: &str| rows.iter().filter(|row| row.figure == figure).collect::<Vec<&Beside>>();
    html! {
        p {
            (compared) " of " (rows.len()) " numbers can be compared; " (beyond) " differ beyond the joint 95 % interval (the \
            root of the sum of both half-widths squared; at least 0.1 %) and are marked ▲ (ours is larger) or ▼ (smaller)."
        }
        @for figure in figures { (table(figure, &of_figure(figure))) }
    }
}

fn table(figure: &str, rows: &[&Beside]) -> Markup {
    let tool = rows.first().map_or("", |row| row.tool.as_str());
    let unit = rows.first().map_or("", |row| row.unit.as_str());
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    let columns = [
        "Curve".into(),
        "At".into(),
        format!("Ours{unit}"),
        format!("{tool}{unit}"),
        "Ratio".into(),
        "".into(),
    ];
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = TableHtml::new(&format!("Figure {figure}, against {tool}"), &columns);
    for row in rows {
        let ours = row.ours.as_ref();
        let ratio = ours.map(|ours| ours.value / row.theirs).filter(|ratio| ratio.is_finite());
        let mark = match (row.agreement, ours) {
            (Agreement::Differs, Some(ours)) if ours.value > row.theirs => "▲ differs",
            (Agreement::Differs, _) => "▼ differs",
            (Agreement::Agrees, _) => "",
            (Agreement::Unknown, Some(_)) => "one run",
            (Agreement::Unknown, None) => "–",
        };
        let kind = match row.agreement {
            Agreement::Differs => RowKind::Beyond,
            Agreement::Agrees | Agreement::Unknown => RowKind::Plain,
        };
        let cells = [
            row.x.render(),
            ours.map_or("–".into(), estimate).render(),
            spread(row.theirs, row.their_interval).render(),
            ratio.map_or("–".into(), number).render(),
            mark.render(),
        ];
        table.row(kind, &row.curve, cells);
    }
    let mut notes: Vec<&str> = Vec::new();
    for note in rows.iter().filter_map(|row| row.note.as_deref()) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    html! {
        (table.html())
        @if !notes.is_empty() {
            ul { @for note in notes { li { (note) } } }
        }
    }
}
