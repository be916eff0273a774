//! Values that a study takes from results.

use polypath_sim::document::nearest;

use super::Cell;
use crate::study::{Aggregate, Measure, matches};

/// A measure names a result that does not exist.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("measure `{measure}`: runs have no result `{result}`{}", match .nearest {
    Some(near) => format!("; did you mean `{near}`?"),
    None => String::new(),
})]
pub struct NoResult {
    /// The measure.
    pub measure: String,
    /// The result that it names.
    pub result: String,
    /// The nearest result.
    pub nearest: Option<String>,
}

impl Measure {
    /// Value in the results of a run; `None` if the run has none.
    ///
    /// # Errors
    /// There is no result of that name, with or without a value.
    pub fn of(&self, names: &[String], values: &[Cell]) -> Result<Option<f64>, NoResult> {
        let value = self.aggregated(&self.result, names, values)?;
        let per = match &self.per {
            Some(per) => self.aggregated(per, names, values)?,
            None => Some(1.0),
        };
        let number = value.zip(per).map(|(value, per)| value / per * self.scale);
        Ok(number.filter(|number| number.is_finite()))
    }

    fn aggregated(
        &self,
        pattern: &str,
        names: &[String],
        values: &[Cell],
    ) -> Result<Option<f64>, NoResult> {
        let mut found =
            names.iter().zip(values).filter(|(name, _)| matches(pattern, name)).peekable();
        if found.peek().is_none() {
            return Err(NoResult {
                measure: self.name.clone(),
                result: pattern.to_owned(),
                nearest: nearest(pattern, names.iter().map(String::as_str)).map(str::to_owned),
            });
        }
        let numbers: Vec<f64> = found.filter_map(|(_, cell)| cell.number()).collect();
        if numbers.is_empty() {
            return Ok(None);
        }
        let sum = || numbers.iter().sum::<f64>();
        Ok(Some(match self.aggregate {
            Aggregate::Sum => sum(),
            Aggregate::Mean => sum() / numbers.len() as f64,
            Aggregate::Min => numbers.iter().copied().fold(f64::INFINITY, f64::min),
            Aggregate::Max => numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Better;

    fn measure(result: &str, aggregate: Aggregate, per: Option<&str>) -> Measure {
        Measure {
            name: "m".into(),
            label: None,
            result: result.into(),
            aggregate,
            per: per.map(str::to_owned),
            scale: 10.0,
            unit: String::new(),
            better: Better::Higher,
        }
    }

    #[test]
    fn values_are_aggregated_divided_and_scaled() {
        let names = ["p.x.n", "p.y.n", "total", "none"].map(str::to_owned);
        let values = [Cell::Int(3), Cell::Int(5), Cell::Float(4.0), Cell::Null];
        let cases = [
            ("p.*.n", Aggregate::Sum, None, Some(80.0)),
            ("p.*.n", Aggregate::Mean, None, Some(40.0)),
            ("p.*.n", Aggregate::Min, None, Some(30.0)),
            ("p.*.n", Aggregate::Max, None, Some(50.0)),
            ("p.*.n", Aggregate::Sum, Some("total"), Some(20.0)),
            ("p.x.n", Aggregate::Sum, Some("p.y.n"), Some(6.0)),
            ("none", Aggregate::Sum, None, None),
            ("total", Aggregate::Sum, Some("none"), None),
        ];
        for (result, aggregate, per, expected) in cases {
            let found = measure(result, aggregate, per).of(&names, &values);
            assert_eq!(found, Ok(expected), "{result} {aggregate:?} {per:?}");
        }
        let error =
            measure("p.x.m", Aggregate::Sum, None).of(&names, &values).expect_err("no such");
        assert_eq!(error.nearest.as_deref(), Some("p.x.n"));
    }
}
