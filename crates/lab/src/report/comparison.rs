//! Our numbers beside those of other tools.

use super::page::TableHtml;
use super::text::{escape, estimate, number, spread};
use crate::reproduce::{Agreement, Beside};

/// A table for each figure.
pub(super) fn tables(rows: &[Beside]) -> String {
    let mut html = String::new();
    if rows.is_empty() {
        return html;
    }
    let beyond = rows.iter().filter(|row| row.agreement == Agreement::Differs).count();
    let compared = rows.iter().filter(|row| row.agreement != Agreement::Unknown).count();
    html += &format!(
        "<p>{compared} of {} numbers can be compared; {beyond} differ beyond the joint 95 % interval (the root of the sum \
         of both half-widths squared; at least 0.1 %) and are marked ▲ (ours is larger) or ▼ (smaller).</p>\n",
        rows.len()
    );
    let mut figures: Vec<&str> = Vec::new();
    for row in rows {
        if !figures.contains(&row.figure.as_str()) {
            figures.push(&row.figure);
        }
    }
    for figure in figures {
        let rows: Vec<&Beside> = rows.iter().filter(|row| row.figure == figure).collect();
        html += &table(figure, &rows);
    }
    html
}

fn table(figure: &str, rows: &[&Beside]) -> String {
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
        let beyond = if row.agreement == Agreement::Differs { " class=\"beyond\"" } else { "" };
        let cells = [
            escape(&row.curve),
            escape(&row.x),
            ours.map_or("–".into(), estimate),
            spread(row.theirs, row.their_interval),
            ratio.map_or("–".into(), number),
            mark.to_owned(),
        ];
        table.row(beyond, &cells);
    }
    let mut html = table.html();
    let mut notes: Vec<&str> = Vec::new();
    for note in rows.iter().filter_map(|row| row.note.as_deref()) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    if !notes.is_empty() {
        let items: String = notes.iter().map(|note| format!("<li>{}</li>", escape(note))).collect();
        html += &format!("<ul>{items}</ul>\n");
    }
    html
}
