//! Evaluation of statements.

use serde::Serialize;

use super::claimed::claimed;
use super::deciding::deciding;
use super::enough::needed;
use super::rule::{self, Verdict};
use super::statement::{
    About, Alike, AlmostNothing, Along, Between, Comparison, Degree, Over, Proportional, Ranking,
    Rule, Statement,
};
use crate::results::Dataset;
use crate::stats::{Confidence, Estimate, Interval, mean, paired_difference, ratio, slope};
use crate::study::{Better, Operand, Study};

/// With this many equal runs, a difference occurs in fewer than one run in twenty, with a confidence of 95 %: 0.95^59 < 0.05.
const EQUAL_RUNS: usize = 59;

/// A statement with its verdict.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Judgement {
    /// Name of the statement.
    pub id: String,
    /// Key of the paper.
    pub paper: String,
    /// Figure, table or section.
    pub figure: String,
    /// The statement as text.
    pub statement: String,
    /// How it is judged.
    pub rule: &'static str,
    /// Runs from which the number below is calculated.
    pub n: usize,
    /// Whether it holds.
    pub verdict: Verdict,
    /// The number that the rule evaluates, at the place that decides: of the places that differ, or else are undecided, the one
    /// furthest from the required range (the nearest, if one place is enough); if the statement holds, the first.
    pub measured: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// That place as text, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Unit of both: that of the measure; [`RELATIVE`] for a fraction of another number (0.2 is 20 %); empty for other
    /// quotients and counts.
    pub unit: String,
    /// Values for which the statement would hold.
    pub expected: String,
    /// Why it differs, if known; also while it is undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Names of statements and studies that show the cause.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown_by: Vec<String>,
    /// All comparisons and points.
    pub places: Vec<PlaceJudgement>,
}

/// One comparison at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlaceJudgement {
    /// The comparison and point, as text.
    pub what: String,
    /// Whether the rule holds there.
    pub verdict: Verdict,
    /// The number; `None` if no run has one.
    pub estimate: Option<Estimate>,
    /// If undecided: number of runs that would probably decide, if the estimate stays the same; `None` if no practicable number
    /// would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_needed: Option<usize>,
    /// The required range of the number; a missing end is infinite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Interval>,
    /// Numbers of the points from whose runs it is calculated.
    #[serde(skip)]
    pub points: Vec<usize>,
}

/// A statement that cannot be judged by this study.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("statement `{id}`: {message}")]
pub struct StatementError {
    /// Name of the statement.
    pub id: String,
    /// The error.
    pub message: String,
}

/// The unit of fractions.
pub const RELATIVE: &str = "1";

pub(super) type Places = Result<Vec<PlaceJudgement>, String>;

/// Judges a statement by the results of its study.
///
/// # Errors
/// The study lacks something that the statement names.
pub fn judge(
    statement: &Statement,
    paper: &str,
    data: &Dataset,
) -> Result<Judgement, StatementError> {
    let wrong = |message| StatementError { id: statement.id.clone(), message };
    let points = data.study().select(&statement.selection).map_err(wrong)?;
    if points.is_empty() {
        return Err(wrong("no point of the study is selected".into()));
    }
    let judge = Judge { data, points, over: statement.over, confidence: data.study().confidence() };
    let (mut places, expected) = judge.rule(&statement.rule).map_err(wrong)?;
    judge.find_points(&statement.rule, &mut places);
    for (number, place) in places.iter_mut().enumerate() {
        place.claimed = Some(claimed(&statement.rule, number));
    }
    let verdicts = places.iter().map(|place| place.verdict);
    let verdict = match statement.over {
        Over::Any => judge.any_point(&places),
        Over::Each | Over::Mean => Verdict::all(verdicts),
    };
    let deciding = deciding(&statement.rule, statement.over, verdict, &places);
    let estimate = deciding.and_then(|place| place.estimate);
    Ok(Judgement {
        id: statement.id.clone(),
        paper: paper.to_owned(),
        figure: statement.figure.clone(),
        statement: statement.statement.clone(),
        rule: statement.rule.name(),
        n: estimate.map_or(0, |estimate| estimate.n),
        verdict,
        measured: estimate.map(|estimate| estimate.value),
        interval: estimate.map(|estimate| estimate.interval),
        place: deciding.filter(|_| places.len() > 1).map(|place| place.what.clone()),
        unit: unit(&statement.rule, data.study()),
        expected,
        cause: statement.cause.clone().filter(|_| verdict != Verdict::Holds),
        shown_by: match verdict {
            Verdict::Holds => Vec::new(),
            Verdict::Undecided | Verdict::Differs => statement.shown_by.clone(),
        },
        places,
    })
}

pub(super) struct Judge<'a> {
    pub(super) data: &'a Dataset,
    pub(super) points: Vec<usize>,
    over: Over,
    pub(super) confidence: Confidence,
}

/// Runs with a value of each of two curves.
type Pairs = Vec<(f64, f64)>;

impl Judge<'_> {
    fn rule(&self, rule: &Rule) -> Result<(Vec<PlaceJudgement>, String), String> {
        let places = match rule {
            Rule::About(About { of, value, within }) => {
                self.means(of, |place, e| rule::about(e, value.at(place), within.as_f64()))
            }
            Rule::Between(Between { of, from, to }) => {
                let low = from.unwrap_or(f64::NEG_INFINITY);
                let band = Interval { low, high: to.unwrap_or(f64::INFINITY) };
                self.means(of, |_, estimate| rule::between(estimate.interval, band))
            }
            Rule::Alike(Alike { of, within }) => self.alike(of, within.as_f64()),
            Rule::Better(comparison) => self.comparison(comparison, Side::Better),
            Rule::Worse(comparison) => self.comparison(comparison, Side::Worse),
            Rule::Ranking(Ranking { of }) => self.ranking(of),
            Rule::AlmostNothing(rule) => self.almost_nothing(rule),
            Rule::Rises(along) => self.trend(along, 1.0),
            Rule::Falls(along) => self.trend(along, -1.0),
            Rule::Proportional(rule) => self.proportional(rule),
            Rule::Knee(knee) => self.knee(knee),
        }?;
        Ok((places, expected(rule)))
    }

    /// Adds to each place the points from whose runs it is calculated.
    fn find_points(&self, rule: &Rule, places: &mut [PlaceJudgement]) {
        let goes_along =
            matches!(rule, Rule::Rises(_) | Rule::Falls(_) | Rule::Proportional(_) | Rule::Knee(_));
        let is_whole = goes_along || self.over == Over::Mean;
        let study = self.data.study();
        for (number, place) in places.iter_mut().enumerate() {
            let of = match is_whole {
                true => &self.points[..],
                // Comparisons come one after the other, each at all points.
                false => &self.points[number % self.points.len()..][..1],
            };
            let operands = rule.operands();
            let points = of.iter().flat_map(|p| operands.iter().flat_map(|o| o.points(study, *p)));
            place.points = points.collect();
            place.points.sort_unstable();
            place.points.dedup();
        }
    }

    /// With `any`, a point holds where all comparisons at it hold; comparisons are listed one after the other.
    fn any_point(&self, places: &[PlaceJudgement]) -> Verdict {
        let points = self.points.len();
        if !places.len().is_multiple_of(points) {
            return Verdict::any(places.iter().map(|place| place.verdict));
        }
        let at = |point| places.iter().skip(point).step_by(points).map(|place| place.verdict);
        Verdict::any((0..points).map(|point| Verdict::all(at(point))))
    }

    /// Values of a curve by replication at each place: at each point, or the mean over all points.
    fn curve(&self, operand: &Operand) -> Result<Vec<Vec<Option<f64>>>, String> {
        let curves: Result<Vec<_>, String> =
            self.points.iter().map(|point| operand.values(self.data, *point)).collect();
        let curves = curves?;
        if self.over != Over::Mean {
            return Ok(curves);
        }
        let runs = curves.iter().map(Vec::len).min().unwrap_or(0);
        let mean_of = |run: usize| {
            let values: Option<Vec<f64>> = curves.iter().map(|curve| curve[run]).collect();
            values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
        };
        Ok(vec![(0..runs).map(mean_of).collect()])
    }

    /// Names of the places.
    fn places(&self) -> Vec<String> {
        if self.over == Over::Mean {
            return vec!["mean over all points".into()];
        }
        let study = self.data.study();
        let name = |point: &usize| {
            let values = study.points().at(*point).values.into_iter().zip(study.axes());
            let values: Vec<String> = values
                .map(|(index, axis)| format!("{} {}", axis.name, axis.label_of(index)))
                .collect();
            values.join(", ")
        };
        self.points.iter().map(name).collect()
    }

    pub(super) fn name(&self, operand: &Operand) -> String {
        operand.describe(self.data.study())
    }

    fn means(&self, of: &Operand, judged: impl Fn(usize, &Estimate) -> Verdict) -> Places {
        let name = self.name(of);
        let curves = self.curve(of)?.into_iter().zip(self.places()).enumerate();
        Ok(curves
            .map(|(number, (values, place))| {
                let values: Vec<f64> = values.into_iter().flatten().collect();
                let estimate = mean(&values, self.confidence);
                self.place(format!("{name}; {place}"), estimate, |found| judged(number, found))
            })
            .collect())
    }

    pub(super) fn place(
        &self,
        what: String,
        estimate: Option<Estimate>,
        judged: impl Fn(&Estimate) -> Verdict,
    ) -> PlaceJudgement {
        let verdict = estimate.as_ref().map_or(Verdict::Undecided, &judged);
        let needed = match (verdict, estimate) {
            (Verdict::Undecided, Some(estimate)) => needed(estimate, judged),
            _ => None,
        };
        PlaceJudgement {
            what,
            verdict,
            estimate,
            runs_needed: needed,
            claimed: None,
            points: Vec::new(),
        }
    }

    /// Two curves at each place, run by run.
    fn pairs(&self, one: &Operand, other: &Operand) -> Result<Vec<Pairs>, String> {
        let paired = |(one, other): (Vec<Option<f64>>, Vec<Option<f64>>)| {
            one.into_iter().zip(other).filter_map(|(a, b)| a.zip(b)).collect()
        };
        Ok(self.curve(one)?.into_iter().zip(self.curve(other)?).map(paired).collect())
    }

    fn compare(
        &self,
        one: &Operand,
        other: &Operand,
        estimate: impl Fn(&Pairs) -> Option<Estimate>,
        judged: impl Fn(&Estimate, &Pairs) -> Verdict,
    ) -> Places {
        let (one_name, other_name) = (self.name(one), self.name(other));
        let pairs = self.pairs(one, other)?.into_iter().zip(self.places());
        Ok(pairs
            .map(|(pairs, place)| {
                let what = format!("{one_name} against {other_name}; {place}");
                self.place(what, estimate(&pairs), |estimate| judged(estimate, &pairs))
            })
            .collect())
    }

    fn alike(&self, of: &[Operand], within: f64) -> Places {
        if of.len() < 2 {
            return Err("`alike` needs at least two curves".into());
        }
        let mut places = Vec::new();
        for (index, one) in of.iter().enumerate() {
            for other in &of[index + 1..] {
                let relative = |pairs: &Pairs| self.relative(pairs, Better::Higher);
                let judged =
                    |estimate: &Estimate, _: &Pairs| rule::alike(estimate.interval, within);
                places.extend(self.compare(one, other, relative, judged)?);
            }
        }
        Ok(places)
    }

    fn comparison(&self, comparison: &Comparison, side: Side) -> Places {
        let Comparison { of, than, by } = comparison;
        if than.is_empty() {
            return Err("a comparison needs at least one other curve".into());
        }
        let mut places = Vec::new();
        for other in than {
            let (one, other) = match side {
                Side::Better => (of, other),
                Side::Worse => (other, of),
            };
            places.extend(self.is_better(one, other, *by)?);
        }
        Ok(places)
    }

    fn is_better(&self, one: &Operand, other: &Operand, by: Degree) -> Places {
        let better = one.better(self.data.study())?;
        let relative = |pairs: &Pairs| self.relative(pairs, better);
        match by {
            Degree::Any => self.compare(
                one,
                other,
                |pairs| self.difference(pairs, better),
                |estimate, pairs| {
                    let found = relative(pairs).map(|estimate| estimate.interval);
                    let verdict = rule::unless_equivalent(rule::better(estimate.interval), found);
                    self.unless_equal(estimate, verdict)
                },
            ),
            Degree::Slightly => self.compare(one, other, relative, |estimate, _| {
                let found = estimate.interval;
                let verdict = rule::unless_equivalent(rule::slightly(found), Some(found));
                self.unless_equal(estimate, verdict)
            }),
            Degree::Clearly => {
                let judged = |estimate: &Estimate, _: &Pairs| {
                    rule::clearly(estimate.interval, rule::CLEARLY)
                };
                self.compare(one, other, relative, judged)
            }
            Degree::AtLeast(part) => {
                let judged =
                    |estimate: &Estimate, _: &Pairs| rule::clearly(estimate.interval, part);
                self.compare(one, other, relative, judged)
            }
        }
    }

    /// Equal pairs of runs show that differences are rare, not that there are none: their cause may not have occurred. One pair
    /// suffices for a deterministic study; others need so many that a difference occurs in fewer than one run in twenty.
    fn unless_equal(&self, estimate: &Estimate, verdict: Verdict) -> Verdict {
        let equal = estimate.interval == Interval { low: 0.0, high: 0.0 };
        match self.confidence {
            Confidence::Level(_) | Confidence::Always(_) if equal && estimate.n < EQUAL_RUNS => {
                Verdict::Undecided
            }
            Confidence::Level(_) | Confidence::Always(_) | Confidence::Deterministic => verdict,
        }
    }

    fn ranking(&self, of: &[Operand]) -> Places {
        if of.len() < 2 {
            return Err("a ranking needs at least two curves".into());
        }
        let pairs: Result<Vec<_>, String> =
            of.windows(2).map(|pair| self.is_better(&pair[0], &pair[1], Degree::Any)).collect();
        Ok(pairs?.into_iter().flatten().collect())
    }

    /// The advantage of one curve over another, in the unit of the measure.
    fn difference(&self, pairs: &Pairs, better: Better) -> Option<Estimate> {
        let estimate = paired_difference(pairs, self.confidence)?;
        Some(match better {
            Better::Higher => estimate,
            Better::Lower => Estimate {
                value: -estimate.value,
                interval: estimate.interval.scaled(-1.0),
                ..estimate
            },
        })
    }

    /// The advantage of one curve relative to the other. Relative to zero, any difference is infinite.
    fn relative(&self, pairs: &Pairs, better: Better) -> Option<Estimate> {
        let sign = if better == Better::Higher { 1.0 } else { -1.0 };
        if let Some(estimate) = ratio(pairs, self.confidence) {
            let interval = estimate.interval.shifted(-1.0).scaled(sign);
            return Some(Estimate { value: (estimate.value - 1.0) * sign, interval, ..estimate });
        }
        let difference = self.difference(pairs, better)?;
        let infinite = |number: f64| if number == 0.0 { 0.0 } else { number * f64::INFINITY };
        let Interval { low, high } = difference.interval;
        let interval = Interval { low: infinite(low), high: infinite(high) };
        Some(Estimate { value: infinite(difference.value), interval, ..difference })
    }

    fn almost_nothing(&self, rule: &AlmostNothing) -> Places {
        let AlmostNothing { of, beside, below } = rule;
        let mut best: Vec<Option<(f64, Pairs)>> = vec![None; self.places().len()];
        for other in beside {
            for (best, pairs) in best.iter_mut().zip(self.pairs(of, other)?) {
                let sum: f64 = pairs.iter().map(|(_, other)| other).sum();
                let height = sum / pairs.len() as f64;
                if best.as_ref().is_none_or(|(known, _)| height > *known) && height.is_finite() {
                    *best = Some((height, pairs));
                }
            }
        }
        let name = self.name(of);
        let places = best.into_iter().zip(self.places());
        Ok(places
            .map(|(best, place)| {
                let part = best.and_then(|(_, pairs)| ratio(&pairs, self.confidence));
                let judged = |e: &Estimate| rule::almost_nothing(e.interval, below.as_f64());
                self.place(format!("{name} beside the best; {place}"), part, judged)
            })
            .collect())
    }

    /// Positions along an axis, and the curve of each run; runs without a value at some point do not count.
    fn along(&self, of: &Operand, axis: &str) -> Result<(Vec<f64>, Vec<Vec<f64>>), String> {
        let study = self.data.study();
        let names = study.axes().iter().map(|axis| axis.name.as_str());
        let number = study.axis(axis).ok_or_else(|| crate::study::unknown("axis", axis, names))?;
        let mut positions = Vec::new();
        let mut curves: Vec<Vec<Option<f64>>> = Vec::new();
        for point in &self.points {
            let index = study.points().at(*point).values[number];
            let position = study.axes()[number].position(index);
            positions
                .push(position.ok_or_else(|| format!("the values of `{axis}` are not numbers"))?);
            curves.push(of.values(self.data, *point)?);
        }
        let runs = curves.iter().map(Vec::len).min().unwrap_or(0);
        let run = |run: usize| curves.iter().map(|curve| curve[run]).collect::<Option<Vec<f64>>>();
        Ok((positions, (0..runs).filter_map(run).collect()))
    }

    fn trend(&self, rule: &Along, sign: f64) -> Places {
        let (x, curves) = self.along(&rule.of, &rule.along)?;
        let estimate = slope(&x, &curves, self.confidence);
        let whole = self.change_over_all(rule, &x)?;
        let judged = |estimate: &Estimate| {
            let change = whole.map(|whole| estimate.interval.scaled(whole));
            let verdict = rule::better(estimate.interval.scaled(sign));
            self.unless_equal(estimate, rule::unless_equivalent(verdict, change))
        };
        let what = format!("slope of {} along {}", self.name(&rule.of), rule.along);
        Ok(vec![self.place(what, estimate, judged)])
    }

    /// Factor from a slope to a relative change: from the first place to the last, as a fraction of the mean of the curve (of the
    /// minuend, if one is subtracted).
    fn change_over_all(&self, rule: &Along, x: &[f64]) -> Result<Option<f64>, String> {
        let whole = Operand { minus: None, ..rule.of.clone() };
        let (_, curves) = self.along(&whole, &rule.along)?;
        let values: Vec<f64> = curves.into_iter().flatten().collect();
        let (low, high) = x
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
        let scale = mean(&values, self.confidence).map(|mean| (high - low) / mean.value.abs());
        Ok(scale.filter(|scale| scale.is_finite()))
    }

    fn proportional(&self, rule: &Proportional) -> Places {
        let (x, curves) = self.along(&rule.of, &rule.along)?;
        let Some((last, others)) = x.split_last() else { return Ok(Vec::new()) };
        let name = self.name(&rule.of);
        let place = |(index, x): (usize, &f64)| {
            let pair = |curve: &Vec<f64>| Some((curve[index] / x, curve.last()? / last));
            let pairs: Pairs = curves.iter().filter_map(pair).collect();
            let estimate = self.relative(&pairs, Better::Higher);
            let judged = |e: &Estimate| rule::alike(e.interval, rule.within.as_f64());
            self.place(format!("{name} per {}; {x}", rule.along), estimate, judged)
        };
        Ok(others.iter().enumerate().map(place).collect())
    }
}

#[derive(Clone, Copy)]
enum Side {
    Better,
    Worse,
}

/// The unit of the number that a rule evaluates.
fn unit(rule: &Rule, study: &Study) -> String {
    match rule {
        Rule::About(About { of, .. }) | Rule::Between(Between { of, .. }) => of.unit(study),
        Rule::Better(Comparison { of, by: Degree::Any, .. })
        | Rule::Worse(Comparison { of, by: Degree::Any, .. }) => of.unit(study),
        Rule::Ranking(Ranking { of }) => of.first().map(|of| of.unit(study)).unwrap_or_default(),
        Rule::Rises(Along { of, along }) | Rule::Falls(Along { of, along }) => {
            let axis = study.axis(along).and_then(|number| study.axes()[number].unit.as_deref());
            match axis {
                Some(axis) => format!("{} per {axis}", of.unit(study)),
                None => format!("{} per unit of {along}", of.unit(study)),
            }
        }
        Rule::Knee(_) => String::new(),
        Rule::Alike(_)
        | Rule::Better(_)
        | Rule::Worse(_)
        | Rule::AlmostNothing(_)
        | Rule::Proportional(_) => RELATIVE.into(),
    }
}

/// Values for which the rule would hold, as text.
fn expected(rule: &Rule) -> String {
    let percent = |part: f64| format!("{} %", (part * 1e4).round() / 1e2);
    match rule {
        Rule::About(About { value, within, .. }) => {
            format!("{value} ± {}", percent(within.as_f64()))
        }
        Rule::Between(Between { from, to, .. }) => match (from, to) {
            (Some(from), Some(to)) => format!("from {from} to {to}"),
            (Some(from), None) => format!("at least {from}"),
            (None, Some(to)) => format!("at most {to}"),
            (None, None) => "anything".into(),
        },
        Rule::Alike(Alike { within, .. }) => format!("within ± {}", percent(within.as_f64())),
        Rule::Better(comparison) | Rule::Worse(comparison) => match comparison.by {
            Degree::Any => "above 0".into(),
            Degree::Slightly => format!("above 0 and below {}", percent(rule::CLEARLY)),
            Degree::Clearly => format!("at least {}", percent(rule::CLEARLY)),
            Degree::AtLeast(part) => format!("at least {}", percent(part)),
        },
        Rule::Ranking(_) | Rule::Rises(_) | Rule::Knee(_) => "above 0".into(),
        Rule::Falls(_) => "below 0".into(),
        Rule::AlmostNothing(AlmostNothing { below, .. }) => {
            format!("below {}", percent(below.as_f64()))
        }
        Rule::Proportional(Proportional { within, .. }) => {
            format!("within ± {}", percent(within.as_f64()))
        }
    }
}
