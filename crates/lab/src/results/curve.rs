//! Values of the curves that statements and figures name.

use super::Dataset;
use crate::study::Operand;

impl Operand {
    /// Its values at a point, by replication.
    ///
    /// # Errors
    /// There is no such variant, measure, axis or value.
    pub fn values(&self, data: &Dataset, point: usize) -> Result<Vec<Option<f64>>, String> {
        let study = data.study();
        let variant = self.variant_in(study)?;
        let mut values =
            data.values(self.point_in(study, point)?, variant, self.measure_in(study)?);
        if let Some(other) = &self.minus {
            combine(&mut values, &other.values(data, point)?, |a, b| a - b);
        }
        if let Some(other) = &self.divided_by {
            combine(&mut values, &other.values(data, point)?, |a, b| a / b);
        }
        Ok(values)
    }
}

/// Combines values of the same runs; leaves out runs that lack one, and results that are not numbers.
fn combine(values: &mut [Option<f64>], others: &[Option<f64>], with: fn(f64, f64) -> f64) {
    for (run, value) in values.iter_mut().enumerate() {
        let other = others.get(run).copied().flatten();
        *value = value.zip(other).map(|(a, b)| with(a, b)).filter(|number| number.is_finite());
    }
}
