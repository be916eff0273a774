//! Measures of the runs of a sample.

use super::kind::Kind;
use super::scenario::MAIN;
use crate::journal::{NoResult, Outcome, Status};
use crate::study::{Aggregate, Better, Measure};

/// The measures of a kind.
pub fn measures(kind: Kind) -> Vec<Measure> {
    let measure = |name: &str, result: String, scale: f64, unit: &str, better: Better| Measure {
        name: name.to_owned(),
        label: None,
        result,
        aggregate: Aggregate::Sum,
        per: None,
        scale,
        unit: unit.to_owned(),
        better,
    };
    let goodput = format!("flows.{MAIN}.a.{MAIN}.goodput_bit_s");
    let delay = |name: &str, of: &str| {
        let result = match kind {
            Kind::Requests => format!("flows.{MAIN}.b.{MAIN} response.response_time.{of}_s"),
            _ => format!("flows.{MAIN}.a.{MAIN}.delay.{of}_s"),
        };
        measure(name, result, 1e3, "ms", Better::Lower)
    };
    match kind {
        Kind::Bulk | Kind::Range | Kind::Changing => {
            vec![measure("goodput", goodput, 1e-6, "Mbit/s", Better::Higher)]
        }
        Kind::File(_) => vec![measure("time", "completed_s".into(), 1.0, "s", Better::Lower)],
        Kind::Requests => vec![delay("p50", "p50"), delay("mean", "mean"), delay("p99", "p99")],
        Kind::Voice => vec![delay("p50", "p50"), delay("p99", "p99"), delay("max", "max")],
    }
}

/// The values of a run. `None` if the association failed, or if finite traffic did not complete.
///
/// # Errors
/// Runs have no such result.
pub(super) fn value(
    kind: Kind,
    measure: &Measure,
    outcome: &Outcome,
) -> Result<Option<f64>, NoResult> {
    if outcome.status != Status::Ok {
        return Ok(None);
    }
    let result = &outcome.result;
    let value = measure.of(&result.names, &result.values)?;
    let has_end = !matches!(kind, Kind::Bulk | Kind::Range | Kind::Changing);
    let completed = result.names.iter().position(|name| name == "completed_s");
    let completed = completed.and_then(|place| result.values.get(place)?.number());
    Ok(value.filter(|_| !has_end || completed.is_some()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use polypath_units::ByteCount;

    use super::*;
    use crate::journal::{Cell, FlatResult};

    fn outcome(status: Status, completed: Cell) -> Outcome {
        let names =
            ["completed_s", "flows.main.a.main.delay.p99_s", "flows.main.a.main.goodput_bit_s"];
        let result = FlatResult {
            names: Arc::new(names.map(str::to_owned).to_vec()),
            values: vec![completed, Cell::Float(0.25), Cell::Int(3_000_000)],
            series: Vec::new(),
        };
        Outcome { status, error: None, trace_hash: None, result }
    }

    #[test]
    fn a_run_that_did_not_end_measured_nothing() {
        let file = Kind::File(ByteCount::from_bytes(10_000));
        let cases = [
            (Kind::Voice, Status::Ok, Cell::Float(2.0), Some(250.0)),
            (Kind::Voice, Status::Ok, Cell::Null, None),
            (Kind::Voice, Status::Failed, Cell::Float(2.0), None),
            (file, Status::Ok, Cell::Float(2.0), Some(2.0)),
            (file, Status::Ok, Cell::Null, None),
            (Kind::Bulk, Status::Ok, Cell::Null, Some(3.0)),
            (Kind::Bulk, Status::Failed, Cell::Null, None),
        ];
        for (kind, status, completed, expected) in cases {
            let measures = measures(kind);
            let measure = measures
                .iter()
                .find(|measure| ["p99", "time", "goodput"].contains(&measure.name.as_str()));
            let measure = measure.expect("a measure");
            assert_eq!(value(kind, measure, &outcome(status, completed)), Ok(expected), "{kind:?}");
        }
        let measures = measures(Kind::Requests);
        assert!(value(Kind::Requests, &measures[0], &outcome(Status::Ok, Cell::Null)).is_err());
    }
}
