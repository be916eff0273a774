//! The deciding place of a statement.

use super::evaluate::PlaceJudgement;
use super::rule::{self, Verdict};
use super::statement::{About, Between, Comparison, Degree, Over, Rule, Wanted};

/// The place that decides. If the rule must hold at each place, this is the one furthest from its range; if one place is enough,
/// the nearest. If the statement holds, it is the first place where the rule does.
pub(super) fn deciding<'a>(
    rule: &Rule,
    over: Over,
    verdict: Verdict,
    places: &'a [PlaceJudgement],
) -> Option<&'a PlaceJudgement> {
    let alike = || places.iter().filter(|place| place.verdict == verdict);
    let first = alike().next().or(places.first());
    if verdict == Verdict::Holds {
        return first;
    }
    let sign = if over == Over::Any { -1.0 } else { 1.0 };
    let measured = alike().filter_map(|place| Some((place, place.estimate?.value)));
    // The first of equal ones.
    let order = |value: &f64| -sign * distance(rule, *value);
    measured.min_by(|a, b| order(&a.1).total_cmp(&order(&b.1))).map(|(place, _)| place).or(first)
}

/// Distance of a number from what a rule requires.
fn distance(rule: &Rule, value: f64) -> f64 {
    match rule {
        Rule::About(About { value: Wanted::One(wanted), .. }) => (value - wanted).abs(),
        // Places with different required numbers are not comparable: the first one decides.
        Rule::About(About { value: Wanted::Each(_), .. }) => 0.0,
        Rule::Between(Between { from, to, .. }) => {
            let below = from.map_or(f64::NEG_INFINITY, |from| from - value);
            below.max(to.map_or(f64::NEG_INFINITY, |to| value - to))
        }
        Rule::Alike(_) | Rule::Proportional(_) => value.abs(),
        Rule::Better(Comparison { by: Degree::Slightly, .. })
        | Rule::Worse(Comparison { by: Degree::Slightly, .. }) => {
            (-value).max(value - rule::CLEARLY)
        }
        Rule::Better(_) | Rule::Worse(_) | Rule::Ranking(_) | Rule::Rises(_) | Rule::Knee(_) => {
            -value
        }
        Rule::AlmostNothing(_) | Rule::Falls(_) => value,
    }
}
