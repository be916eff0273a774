//! Axes: positions of values, and ticks with their labels.

use super::Scale;

/// An axis.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    /// Values that should have ticks.
    own: Vec<f64>,
    /// Names of the places 0, 1, 2 …
    names: Vec<String>,
}

/// A tick with its label.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tick {
    pub at: f64,
    pub text: String,
}

/// Fraction of the axis that stays free at each end.
const PAD: f64 = 0.04;
/// Maximum number of ticks that are tried.
const MOST_TICKS: u32 = 9;
/// Maximum number of values that have ticks of their own.
const MOST_OWN: usize = 12;
/// Maximum number of powers of ten between the ends of an axis.
const DECADES: f64 = 30.0;

impl Axis {
    /// An axis of names.
    pub fn of_names(names: &[String]) -> Self {
        let high = names.len().max(1) as f64 - 0.5;
        Self { scale: Scale::Linear, low: -0.5, high, own: Vec::new(), names: names.to_vec() }
    }

    /// An axis of positions, from the first to the last.
    pub fn of_places(places: impl Iterator<Item = f64>, scale: Scale) -> Self {
        let mut own: Vec<f64> = places.filter(|x| has_place(*x, scale)).collect();
        own.sort_by(f64::total_cmp);
        own.dedup();
        let (mut low, mut high) = ends(&own, scale);
        match scale {
            Scale::Log => (low, high) = widened_ratio(low, high),
            Scale::Linear => {
                // Values that begin near 0 have an axis that begins there.
                let begins = low >= 0.0 && low <= 0.25 * high;
                let pad = PAD * (high - low).max(f64::MIN_POSITIVE);
                low = if begins { 0.0 } else { low - pad };
                high += pad;
            }
        }
        if own.len() > MOST_OWN || scale == Scale::Linear {
            own.clear();
        }
        Self { scale, low, high, own, names: Vec::new() }
    }

    /// An axis of numbers and the ends of their intervals. A linear one includes 0, and begins there if nothing is below.
    pub fn of_numbers(numbers: impl Iterator<Item = f64>, scale: Scale) -> Self {
        let mut numbers: Vec<f64> = numbers.filter(|y| has_place(*y, scale)).collect();
        numbers.sort_by(f64::total_cmp);
        let (mut low, mut high) = ends(&numbers, scale);
        match scale {
            Scale::Log => (low, high) = widened_ratio(low, high),
            Scale::Linear => {
                (low, high) = (low.min(0.0), high.max(0.0));
                let pad = PAD * 1.5 * (high - low).max(f64::MIN_POSITIVE);
                low -= if low < 0.0 { pad } else { 0.0 };
                high += if high > 0.0 { pad } else { 0.0 };
            }
        }
        Self { scale, low, high, own: Vec::new(), names: Vec::new() }
    }

    /// The lowest value.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// Whether a value has a position: zero has none on a logarithmic axis.
    pub fn has(&self, value: f64) -> bool {
        has_place(value, self.scale)
    }

    /// Position of a value: 0 at the beginning of the axis, 1 at its end. Values outside are at the nearest end.
    pub fn part(&self, value: f64) -> f64 {
        let (value, low, high) = match self.scale {
            Scale::Linear => (value, self.low, self.high),
            Scale::Log => {
                (value.max(f64::MIN_POSITIVE).log10(), self.low.log10(), self.high.log10())
            }
        };
        let part = (value - low) / (high - low);
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The largest candidate set of ticks that fits according to `fit`.
    pub fn ticks(&self, fit: impl Fn(&[Tick]) -> bool) -> Vec<Tick> {
        let mut choices = self.choices();
        let last = choices.pop().unwrap_or_default();
        choices.into_iter().find(|ticks| fit(ticks)).unwrap_or(last)
    }

    fn choices(&self) -> Vec<Vec<Tick>> {
        if !self.names.is_empty() {
            let tick =
                |(place, name): (usize, &String)| Tick { at: place as f64, text: name.clone() };
            return vec![self.names.iter().enumerate().map(tick).collect()];
        }
        match self.scale {
            Scale::Linear => self.steps(),
            Scale::Log => {
                let mut choices = Vec::new();
                if self.own.len() > 1 {
                    choices.push(
                        self.own.iter().map(|at| Tick { at: *at, text: text(*at) }).collect(),
                    );
                }
                for multiples in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
                    choices.push(self.multiples(multiples, 1));
                }
                choices.extend([2, 3, 5, 10].map(|each| self.multiples(&[1.0], each)));
                // An axis within a decade has too few powers of ten.
                choices.retain(|ticks| ticks.len() > 1);
                choices.extend(self.steps());
                choices
            }
        }
    }

    /// Candidate sets of ticks in equal steps, from many to few.
    fn steps(&self) -> Vec<Vec<Tick>> {
        let with = |most: u32| {
            let step = nice_step((self.high - self.low) / f64::from(most));
            let digits = (-step.log10().floor()).clamp(0.0, 12.0);
            // Steps of 2.5 have one more digit.
            let extra = (step * 10f64.powf(digits)).fract() > 1e-6;
            let digits = digits as usize + usize::from(extra);
            let first = (self.low / step - 1e-9).ceil();
            let count = ((self.high / step + 1e-9).floor() - first).clamp(0.0, 50.0) as u32;
            let tick = |number: u32| {
                let at = (first + f64::from(number)) * step;
                let at = if at.abs() < step * 1e-6 { 0.0 } else { at };
                let plain = (1e-4..1e6).contains(&step) || at == 0.0;
                Tick { at, text: if plain { format!("{at:.digits$}") } else { text(at) } }
            };
            (0..=count).map(tick).collect::<Vec<_>>()
        };
        (1..=MOST_TICKS).rev().map(with).filter(|ticks| ticks.len() > 1).collect()
    }

    /// These multiples of each power of ten, or of every `each`th.
    fn multiples(&self, multiples: &[f64], each: i32) -> Vec<Tick> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let powers = (first..=last).filter(|power| power.rem_euclid(each) == 0);
        let values = powers.flat_map(|power| multiples.iter().map(move |m| m * 10f64.powi(power)));
        let (low, high) = (self.low * (1.0 - 1e-9), self.high * (1.0 + 1e-9));
        let inside = values.filter(|at| (low..=high).contains(at));
        inside.map(|at| Tick { at, text: text(at) }).collect()
    }

    /// Short ticks without text.
    pub fn small_ticks(&self) -> Vec<f64> {
        if self.scale == Scale::Linear || !self.names.is_empty() {
            return Vec::new();
        }
        let decades = self.high.log10() - self.low.log10();
        let all: &[f64] = match decades {
            ..6.0 => &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
            _ => &[1.0],
        };
        self.multiples(all, 1).into_iter().map(|tick| tick.at).collect()
    }
}

fn has_place(value: f64, scale: Scale) -> bool {
    value.is_finite() && (scale == Scale::Linear || value > 0.0)
}

/// The first and last of sorted values; for an empty list, ends that an axis can have.
fn ends(sorted: &[f64], scale: Scale) -> (f64, f64) {
    let ends = sorted.first().copied().zip(sorted.last().copied());
    match (ends, scale) {
        (Some((low, high)), Scale::Log) => (low.max(high * 10f64.powf(-DECADES)), high),
        (Some((low, high)), Scale::Linear) if low == high => {
            (low - 0.5 * low.abs(), high + if high == 0.0 { 1.0 } else { 0.5 * high.abs() })
        }
        (Some(ends), Scale::Linear) => ends,
        (None, Scale::Linear) => (0.0, 1.0),
        (None, Scale::Log) => (1.0, 10.0),
    }
}

/// The ends of a logarithmic axis: slightly beyond the values, not at the next power of ten.
fn widened_ratio(low: f64, high: f64) -> (f64, f64) {
    let ratio = if high > low { (high / low).powf(PAD) } else { 1.5 };
    ((low / ratio).max(f64::MIN_POSITIVE), (high * ratio).min(f64::MAX))
}

/// The next of 1, 2, 2.5, 5 and 10, at its power of ten.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.max(f64::MIN_POSITIVE).log10().floor());
    let multiples = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter();
    let mut steps = multiples.map(|multiple| multiple * power);
    steps.find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

/// A number as text: plain if that is short, otherwise with its power of ten.
pub(super) fn text(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-4..1e6).contains(&size) {
        let digits = (3.0 - size.max(1e-9).log10().floor()).clamp(0.0, 8.0) as usize;
        let text = format!("{value:.digits$}");
        return match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        };
    }
    let power = size.log10().floor();
    let multiple = value / 10f64.powf(power);
    let raised: String = format!("{power:.0}").chars().map(superscript).collect();
    match format!("{multiple:.2}").trim_end_matches('0').trim_end_matches('.') {
        "1" => format!("10{raised}"),
        multiple => format!("{multiple}\u{b7}10{raised}"),
    }
}

fn superscript(digit: char) -> char {
    match digit {
        '0' => '\u{2070}',
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        '4'..='9' => char::from_u32(digit as u32 - '4' as u32 + 0x2074).unwrap_or(digit),
        _ => '\u{207b}',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis, most: usize) -> Vec<String> {
        axis.ticks(|ticks| ticks.len() <= most).into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn a_logarithmic_axis_fits_its_values() {
        let sizes = [64.0, 128.0, 256.0, 512.0, 1024.0];
        let axis = Axis::of_places(sizes.into_iter(), Scale::Log);
        assert_eq!(texts(&axis, 9), ["64", "128", "256", "512", "1024"]);
        // Nothing is wasted on whole decades.
        assert!(axis.part(64.0) < 0.06 && axis.part(1024.0) > 0.94);
        assert!((axis.part(256.0) - 0.5).abs() < 1e-9);
        assert!(!axis.has(0.0) && axis.part(0.0) == 0.0);
        let rates = Axis::of_places((0..40).map(|n| 0.1 * 1.2f64.powi(n)), Scale::Log);
        assert_eq!(texts(&rates, 9), ["0.1", "0.3", "1", "3", "10", "30", "100"]);
    }

    #[test]
    fn a_linear_axis_of_numbers_begins_at_nothing() {
        let axis = Axis::of_numbers([3.0, 94.0].into_iter(), Scale::Linear);
        assert_eq!(axis.low(), 0.0);
        assert_eq!(texts(&axis, 6), ["0", "20", "40", "60", "80"]);
        let axis = Axis::of_numbers([-3.0, 4.0].into_iter(), Scale::Linear);
        assert!(axis.low() < -3.0);
        assert_eq!(texts(&axis, 5), ["-2", "0", "2", "4"]);
        let axis = Axis::of_numbers([0.0, 0.00031].into_iter(), Scale::Linear);
        assert_eq!(texts(&axis, 5), ["0.0000", "0.0001", "0.0002", "0.0003"]);
    }

    #[test]
    fn axes_without_or_with_one_value_are_axes() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [vec![], vec![0.0], vec![5.0], vec![1e300, 1e-300], vec![f64::NAN]] {
                for axis in [
                    Axis::of_places(values.clone().into_iter(), scale),
                    Axis::of_numbers(values.clone().into_iter(), scale),
                ] {
                    assert!(!axis.ticks(|ticks| ticks.len() < 9).is_empty(), "{axis:?}");
                    for value in &values {
                        assert!((0.0..=1.0).contains(&axis.part(*value)), "{axis:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, short) in [
            (0.0, "0"),
            (0.25, "0.25"),
            (1000.0, "1000"),
            (1e-6, "10\u{207b}\u{2076}"),
            (5e7, "5\u{b7}10\u{2077}"),
            (-1e9, "-1\u{b7}10\u{2079}"),
        ] {
            assert_eq!(text(value), short);
        }
    }
}
