//! Slopes of curves.

use super::{Confidence, Estimate, mean};

/// The mean slope of curves, one per run, that were measured at the same places `x`, by least squares. `None` for fewer than
/// two different places.
pub fn slope(x: &[f64], curves: &[Vec<f64>], confidence: Confidence) -> Option<Estimate> {
    let slopes: Option<Vec<f64>> = curves.iter().map(|curve| slope_of(x, curve)).collect();
    mean(&slopes?, confidence)
}

/// The slope of one curve by least squares.
fn slope_of(x: &[f64], y: &[f64]) -> Option<f64> {
    let n = x.len() as f64;
    let centre = x.iter().sum::<f64>() / n;
    let squares: f64 = x.iter().map(|x| (x - centre).powi(2)).sum();
    let products: f64 = x.iter().zip(y).map(|(x, y)| (x - centre) * y).sum();
    (x.len() >= 2 && x.len() == y.len() && squares > 0.0).then_some(products / squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope() {
        let curves = [vec![1.0, 3.0, 5.0], vec![0.0, 2.5, 5.0]];
        let estimate = slope(&[0.0, 1.0, 2.0], &curves, Confidence::default()).expect("a slope");
        assert!((estimate.value - 2.25).abs() < 1e-12);
        assert_eq!(estimate.n, 2);
    }

    #[test]
    fn there_is_none_at_one_place() {
        assert_eq!(slope(&[1.0], &[vec![1.0]], Confidence::Deterministic), None);
        assert_eq!(slope(&[1.0, 1.0], &[vec![1.0, 2.0]], Confidence::Deterministic), None);
    }
}
