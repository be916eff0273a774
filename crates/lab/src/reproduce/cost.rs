//! Cost of reproducing papers.

use serde::Serialize;

use super::{Order, ReproduceError, study};
use crate::run::{Cost, cost};

/// Cost of the studies of a paper.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PaperCost {
    /// Key of the paper.
    pub paper: String,
    /// Each study with its cost.
    pub studies: Vec<(String, Cost)>,
    /// Their sum.
    pub sum: Cost,
}

/// The studies that would be run, and their cost, estimated from trial runs.
///
/// # Errors
/// As [`super::reproduce`].
pub fn costs(order: &Order<'_>) -> Result<Vec<PaperCost>, ReproduceError> {
    let parts = order.target.among(order.papers).map_err(ReproduceError::Target)?;
    let mut papers = Vec::new();
    for part in parts {
        let paper = &order.papers[part.paper];
        let mut costs =
            PaperCost { paper: paper.key().to_owned(), studies: Vec::new(), sum: Cost::default() };
        for name in &part.studies {
            let (study, place) = study::read(order, &part, name)?;
            if study::objection(order, paper, &study).is_some() {
                continue;
            }
            let one = cost(&study, &order.out.join(place), order.shard)?;
            costs.sum += one;
            costs.studies.push((name.clone(), one));
        }
        papers.push(costs);
    }
    Ok(papers)
}
