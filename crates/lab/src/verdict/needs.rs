//! What a statement needs of its study.

use super::{Operand, Statement};
use crate::study::Study;

impl Statement {
    /// The study with only the points and variants that this statement needs; all of it if it lacks something that the statement
    /// names, which [`judge`](super::judge) reports.
    #[must_use]
    pub fn narrow(&self, study: Study) -> Study {
        match self.needs(&study) {
            Ok((points, variants)) => study.narrowed(&points, &variants),
            Err(_) => study,
        }
    }

    /// The numbers of these points and variants.
    fn needs(&self, study: &Study) -> Result<(Vec<usize>, Vec<usize>), String> {
        let selected = study.select(&self.selection)?;
        let (mut points, mut variants) = (selected.clone(), Vec::new());
        for operand in self.rule.operands() {
            operand.check(study, &selected)?;
            points.extend(selected.iter().flat_map(|point| operand.points(study, *point)));
            add_variants(operand, study, &mut variants)?;
        }
        Ok((points, variants))
    }
}

/// Adds the variants of a curve, and of those that it is divided by or that are subtracted.
fn add_variants(operand: &Operand, study: &Study, variants: &mut Vec<usize>) -> Result<(), String> {
    variants.push(operand.variant_in(study)?);
    let mut others = operand.minus.iter().chain(&operand.divided_by);
    others.try_for_each(|other| add_variants(other, study, variants))
}
