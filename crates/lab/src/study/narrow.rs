//! Studies narrowed to what a statement needs.

use super::{Point, Points, Study, files, places_of};

impl Study {
    /// The same study with only the axis values of these points and only these variants. Points form a grid, so there may be
    /// others between them. The runs that remain are those of the whole study, with the same seeds. It has no figures, since these
    /// may need the rest.
    ///
    /// With `until`, all variants remain, because together they determine the number of runs.
    #[must_use]
    pub fn narrowed(mut self, points: &[usize], variants: &[usize]) -> Self {
        let points: Vec<Point> = points.iter().map(|point| self.points.at(*point)).collect();
        for number in 0..self.file.axes.len() {
            let is_used = |value: &usize| points.iter().any(|point| point.values[number] == *value);
            let kept: Vec<usize> =
                (0..self.file.axes[number].values.len()).filter(is_used).collect();
            self.keep_values(number, &kept);
        }
        if self.file.replications.until.is_none() {
            let all = 0..self.file.variants.len();
            let kept: Vec<usize> = all.filter(|variant| variants.contains(variant)).collect();
            places_of(&mut self.file.variants, &kept);
            places_of(&mut self.variant_places, &kept);
        }
        self.file.figures.clear();
        // Fewer points than before can be numbered.
        self.points = Points::of(&self.file.axes).unwrap_or_default();
        self.axis_words = self.file.axes.iter().map(files::named_only).collect();
        self
    }

    /// Leaves an axis only the values with these numbers.
    pub(super) fn keep_values(&mut self, axis: usize, kept: &[usize]) {
        places_of(&mut self.axis_places[axis], kept);
        let axis = &mut self.file.axes[axis];
        places_of(&mut axis.values, kept);
        if !axis.labels.is_empty() {
            places_of(&mut axis.labels, kept);
        }
        for values in axis.with.values_mut() {
            places_of(values, kept);
        }
    }
}
