//! The numbers for which a statement holds.

use super::rule::CLEARLY;
use super::statement::{
    About, Alike, AlmostNothing, Between, Comparison, Degree, Proportional, Rule,
};
use crate::stats::Interval;

/// The required range of the number at a place; places count from 0.
pub(super) fn claimed(rule: &Rule, place: usize) -> Interval {
    let above = |low| Interval { low, high: f64::INFINITY };
    let below = |high| Interval { low: f64::NEG_INFINITY, high };
    match rule {
        Rule::About(About { value, within, .. }) => {
            let value = value.at(place);
            Interval::around(value, (within.as_f64() * value).abs())
        }
        Rule::Between(Between { from, to, .. }) => {
            Interval { low: from.unwrap_or(f64::NEG_INFINITY), high: to.unwrap_or(f64::INFINITY) }
        }
        Rule::Alike(Alike { within, .. }) | Rule::Proportional(Proportional { within, .. }) => {
            Interval::around(0.0, within.as_f64())
        }
        Rule::Better(Comparison { by, .. }) | Rule::Worse(Comparison { by, .. }) => match by {
            Degree::Any => above(0.0),
            Degree::Slightly => Interval { low: 0.0, high: CLEARLY },
            Degree::Clearly => above(CLEARLY),
            Degree::AtLeast(part) => above(*part),
        },
        Rule::Ranking(_) | Rule::Rises(_) | Rule::Knee(_) => above(0.0),
        Rule::Falls(_) => below(0.0),
        Rule::AlmostNothing(AlmostNothing { below: part, .. }) => below(part.as_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(rule: &str, place: usize) -> [f64; 2] {
        let rule: Rule = toml::from_str(rule).expect("a rule");
        let Interval { low, high } = claimed(&rule, place);
        [low, high]
    }

    #[test]
    fn each_rule_claims_a_range() {
        const INFINITE: f64 = f64::INFINITY;
        let about = "about = { of = { variant = \"a\" }, value = [10, -20], within = \"10 %\" }";
        assert_eq!(range(about, 0), [9.0, 11.0]);
        assert_eq!(range(about, 1), [-22.0, -18.0]);
        assert_eq!(range("between = { of = { variant = \"a\" }, to = 3 }", 0), [-INFINITE, 3.0]);
        let better = |by: &str| {
            range(&format!("better = {{ of = {{}}, than = [{{ variant = \"b\" }}]{by} }}"), 5)
        };
        assert_eq!(better(""), [0.0, INFINITE]);
        assert_eq!(better(", by = \"slightly\""), [0.0, 0.2]);
        assert_eq!(better(", by = \"clearly\""), [0.2, INFINITE]);
        assert_eq!(better(", by = { at-least = 1.0 }"), [1.0, INFINITE]);
        assert_eq!(range("falls = { of = {}, along = \"x\" }", 0), [-INFINITE, 0.0]);
        assert_eq!(range("alike = { of = [{}, { variant = \"b\" }] }", 0), [-0.05, 0.05]);
    }
}
