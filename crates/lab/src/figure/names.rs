//! Labels of series in figures.

use super::words::SeriesWords;
use crate::study::{FigurePlan, matches};

impl FigurePlan {
    /// Label of a series in a legend beside others, from the plan or from the list of all series.
    pub(super) fn series_name(&self, series: &str, beside: &[SeriesWords]) -> String {
        let named = self.names.iter().find(|(pattern, _)| matches(pattern, series));
        let Some((pattern, name)) = named else {
            let words = SeriesWords::of(series, self.scale);
            return words.map_or_else(|| series.to_owned(), |words| words.label(beside));
        };
        let parts = pattern.split('.').zip(series.split('.'));
        let mut elements = parts.filter(|(wanted, _)| *wanted == "*").map(|(_, given)| given);
        let mut text = String::new();
        for letter in name.chars() {
            match (letter, if letter == '*' { elements.next() } else { None }) {
                ('*', Some(element)) => text += element,
                _ => text.push(letter),
            }
        }
        text
    }

    /// Default label of the axis of numbers.
    pub(super) fn series_names(&self) -> String {
        let mut names: Vec<String> = Vec::new();
        for pattern in &self.series {
            let words = SeriesWords::of(pattern, self.scale).map(|words| words.title());
            let name = self.names.get(pattern).cloned().or(words);
            let name = name.unwrap_or_else(|| pattern.clone());
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }
}
