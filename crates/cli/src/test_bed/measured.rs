//! Converts the meter's document to results with the names of simulated ones.

use polypath_emulate::{Side, TestBed};
use polypath_lab::run::{FlatResult, Outcome, Status};
use serde_json::{Value, json};

/// Results of paths: their names here and in the meter's document.
const OF_PATHS: [(&str, &str); 4] = [
    ("goodput_bit_s", "sent_bits_per_second"),
    ("fast_retransmissions", "fast_retransmits"),
    ("timeout_retransmissions", "timeout_retransmits"),
    ("timeouts", "timeouts"),
];

/// The results, from the document of the meter and the names of the paths.
///
/// # Errors
/// The document has another form, or the measurement did not complete.
pub(super) fn outcome(document: &str, names: &[String]) -> Result<Outcome, String> {
    let document: Value = serde_json::from_str(document)
        .map_err(|error| format!("the meter printed no document: {error}"))?;
    if document["complete"] != true {
        return Err(format!("the measurement ended early: {}", document["error"]));
    }
    let end = &document["end"];
    let received = &end["sum_received"];
    if received["bits_per_second"].as_f64().is_none_or(|rate| rate <= 0.0) {
        return Err("nothing was received".into());
    }
    let empty = Vec::new();
    let reports = end["paths"].as_array().unwrap_or(&empty);
    // A preset may leave paths alone: these have no report.
    let paths = names.iter().enumerate().map(|(number, name)| {
        let address = TestBed::address(Side::A, number).to_string();
        let report = reports.iter().find(|report| report["local_host"] == *address);
        let values = OF_PATHS.into_iter().map(|(own, theirs)| {
            (own.to_owned(), report.map_or(json!(0), |report| report[theirs].clone()))
        });
        let named = [("from", "a"), ("name", name)];
        let named = named.map(|(key, value)| (key.to_owned(), json!(value)));
        Value::Object(named.into_iter().chain(values).collect())
    });
    let result = json!({
        "goodput_bit_s": received["bits_per_second"],
        "paths": paths.collect::<Vec<_>>(),
    });
    Ok(Outcome {
        status: Status::Ok,
        error: None,
        trace_hash: None,
        result: FlatResult::of(&result),
    })
}

#[cfg(test)]
mod tests {
    use polypath_lab::run::Cell;

    use super::*;

    fn document(complete: bool, rate: f64) -> String {
        json!({
            "complete": complete,
            "error": "the peer is gone",
            "end": {
                "sum_received": { "bits_per_second": rate },
                "paths": [{
                    "local_host": "10.78.2.1", "sent_bits_per_second": 7.0, "fast_retransmits": 1,
                    "timeout_retransmits": 2, "timeouts": 3, "path": "x",
                }],
            },
        })
        .to_string()
    }

    #[test]
    fn results_have_the_names_that_simulated_ones_have() {
        let names = ["one".to_owned(), "two".to_owned()];
        let found = outcome(&document(true, 5.0), &names).expect("results").result;
        let value = |name: &str| {
            let place = found.names.iter().position(|known| known == name);
            place.map(|place| found.values[place].clone())
        };
        assert_eq!(value("goodput_bit_s"), Some(Cell::Float(5.0)));
        assert_eq!(value("paths.a.two.goodput_bit_s"), Some(Cell::Float(7.0)));
        assert_eq!(value("paths.a.two.timeouts"), Some(Cell::Int(3)));
        assert_eq!(value("paths.a.one.fast_retransmissions"), Some(Cell::Int(0)));
    }

    #[test]
    fn what_broke_off_is_no_result() {
        for (document, told) in [
            (document(false, 5.0), "the peer is gone"),
            (document(true, 0.0), "nothing was received"),
            ("x".to_owned(), "no document"),
        ] {
            let error = outcome(&document, &["one".to_owned()]).expect_err("no result");
            assert!(error.contains(told), "{error}");
        }
    }
}
