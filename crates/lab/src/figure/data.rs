//! The numbers of a figure as CSV.

use super::sheet::Sheet;

/// The columns.
pub(super) const COLUMNS: [&str; 7] = ["panel", "curve", "x", "place", "y", "low", "high"];

impl Sheet {
    /// A line for each spot of each curve, in the order of the legend: panel and curve by their labels in the figure, the
    /// place as number and name, the value, and the ends of its interval.
    ///
    /// # Errors
    /// None in memory; errors of the writer are passed on.
    pub fn csv(&self) -> Result<Vec<u8>, String> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        let wrong = |error: csv::Error| error.to_string();
        csv.write_record(COLUMNS).map_err(wrong)?;
        for (number, panel) in self.panels.iter().enumerate() {
            let title = match (self.panels.len(), panel.title.as_str()) {
                // The title of a single panel is that of the figure.
                (..=1, _) => String::new(),
                (_, "") => (number + 1).to_string(),
                (_, title) => title.to_owned(),
            };
            for curve in &panel.curves {
                let label = match curve.label() {
                    label if label.is_empty() => self.note.clone(),
                    label => label,
                };
                for spot in &curve.spots {
                    let place = panel.categories.get(spot.x as usize).map_or("", String::as_str);
                    let [x, y, low, high] =
                        [spot.x, spot.y, spot.low, spot.high].map(|number| number.to_string());
                    csv.write_record([&title, &label, &x, place, &y, &low, &high])
                        .map_err(wrong)?;
                }
            }
        }
        csv.into_inner().map_err(|error| error.to_string())
    }
}
