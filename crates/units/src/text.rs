//! Reading and printing of numbers with units, in integers only.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

/// Why a text is not a quantity. The message names the text, what was expected and what to write instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The text does not begin with a decimal number.
    #[error("`{input}` is not {quantity}: it has to begin with a number, for example `{example}`")]
    NoNumber {
        /// The text.
        input: String,
        /// What was expected, with its article.
        quantity: &'static str,
        /// A valid text.
        example: &'static str,
    },
    /// A number without its unit.
    #[error("`{input}` has no unit: write {quantity} like `{example}` (units: {units})")]
    NoUnit {
        /// The text.
        input: String,
        /// What was expected, with its article.
        quantity: &'static str,
        /// A valid text.
        example: &'static str,
        /// The accepted units.
        units: UnitList,
    },
    /// A unit that this quantity does not have.
    #[error("`{input}`: `{unit}` is not a unit of {quantity}{}; units: {units}", DidYouMean(*.suggestion))]
    UnknownUnit {
        /// The text.
        input: String,
        /// The part of it that should be a unit.
        unit: String,
        /// What was expected, with its article.
        quantity: &'static str,
        /// The unit that was probably meant.
        suggestion: Option<&'static str>,
        /// The accepted units.
        units: UnitList,
    },
    /// More than the type can hold, or than the quantity can be.
    #[error("`{input}` is too large: {quantity} is at most {largest}")]
    TooLarge {
        /// The text.
        input: String,
        /// What was expected, with its article.
        quantity: &'static str,
        /// The largest value.
        largest: &'static str,
    },
    /// Not a whole number of the smallest step of the quantity.
    #[error("`{input}` is too fine: {quantity} is a whole number of {finest}")]
    TooFine {
        /// The text.
        input: String,
        /// What was expected, with its article.
        quantity: &'static str,
        /// The smallest step.
        finest: &'static str,
    },
}

/// The units that a quantity accepts; prints as a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UnitList(&'static [Unit]);

/// One unit of a quantity.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Unit {
    /// As written.
    pub name: &'static str,
    /// Base steps per unit.
    pub factor: u64,
}

/// What there is to know about a quantity in order to read it.
pub(crate) struct Quantity {
    /// With its article, for messages.
    pub name: &'static str,
    /// A valid text.
    pub example: &'static str,
    /// Accepted units, smallest first.
    pub units: &'static [Unit],
    /// Base steps of a number without unit; `None` when a unit is required.
    pub without_unit: Option<u64>,
    /// Frequent mistakes in lower case and the unit to suggest for each.
    pub mistakes: &'static [(&'static str, &'static str)],
    /// The smallest step.
    pub finest: &'static str,
    /// The largest value in base steps.
    pub max: u64,
    /// The same for messages.
    pub largest: &'static str,
}

impl Quantity {
    /// Base steps that `input` stands for.
    pub fn parse(&self, input: &str) -> Result<u64, ParseError> {
        let text = input.trim();
        let Some((number, rest)) = Decimal::split_off(text) else {
            return Err(ParseError::NoNumber {
                input: text.to_owned(),
                quantity: self.name,
                example: self.example,
            });
        };
        let factor = self.factor(text, rest.trim_start())?;
        let too_large = || ParseError::TooLarge {
            input: text.to_owned(),
            quantity: self.name,
            largest: self.largest,
        };
        match number.times(factor) {
            Scaled::Exact(value) if value <= u128::from(self.max) => Ok(value as u64),
            Scaled::Exact(_) | Scaled::Overflow => Err(too_large()),
            Scaled::Inexact => Err(ParseError::TooFine {
                input: text.to_owned(),
                quantity: self.name,
                finest: self.finest,
            }),
        }
    }

    fn factor(&self, text: &str, unit: &str) -> Result<u64, ParseError> {
        if unit.is_empty() {
            return self.without_unit.ok_or_else(|| ParseError::NoUnit {
                input: text.to_owned(),
                quantity: self.name,
                example: self.example,
                units: UnitList(self.units),
            });
        }
        self.units.iter().find(|u| u.name == unit).map(|u| u.factor).ok_or_else(|| {
            ParseError::UnknownUnit {
                input: text.to_owned(),
                unit: unit.to_owned(),
                quantity: self.name,
                suggestion: self.suggest(unit),
                units: UnitList(self.units),
            }
        })
    }

    /// Units that differ from `unit` only in case come first: `mbit/s` would be a millibit.
    fn suggest(&self, unit: &str) -> Option<&'static str> {
        let lower = unit.to_lowercase();
        let by_case = self.units.iter().map(|u| u.name).find(|name| name.to_lowercase() == lower);
        by_case.or_else(|| {
            self.mistakes.iter().find(|(mistake, _)| *mistake == lower).map(|(_, name)| *name)
        })
    }
}

/// A decimal number `mantissa * 10^exponent`.
struct Decimal {
    /// `None` when there are more digits than 128 bits hold.
    mantissa: Option<u128>,
    exponent: i32,
}

enum Scaled {
    Exact(u128),
    Inexact,
    Overflow,
}

impl Decimal {
    /// The number that `text` begins with, and what follows it. Forms: `12`, `1.5`, `2e-7`.
    fn split_off(text: &str) -> Option<(Self, &str)> {
        let whole_end = digits_end(text, 0);
        if whole_end == 0 {
            return None;
        }
        let mut end = whole_end;
        let mut fraction = "";
        if text.as_bytes().get(end) == Some(&b'.') {
            let fraction_end = digits_end(text, end + 1);
            if fraction_end == end + 1 {
                return None;
            }
            fraction = text[end + 1..fraction_end].trim_end_matches('0');
            end = fraction_end;
        }
        let (power, end) = exponent(text, end);
        let digits = text[..whole_end].bytes().chain(fraction.bytes());
        let mantissa = digits
            .map(|d| u128::from(d - b'0'))
            .try_fold(0u128, |value, digit| value.checked_mul(10)?.checked_add(digit));
        let decimals = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
        Some((Self { mantissa, exponent: power.saturating_sub(decimals) }, &text[end..]))
    }

    fn times(&self, factor: u64) -> Scaled {
        let Some(mut value) = self.mantissa else { return Scaled::Overflow };
        if value == 0 {
            return Scaled::Exact(0);
        }
        let mut factor = u128::from(factor);
        let mut exponent = self.exponent;
        // Dividing first keeps every number that has a result within range.
        while exponent < 0 {
            if factor.is_multiple_of(10) {
                factor /= 10;
            } else if value.is_multiple_of(10) {
                value /= 10;
            } else {
                return divide_last(value, factor, exponent);
            }
            exponent += 1;
        }
        while exponent > 0 {
            let Some(larger) = value.checked_mul(10) else { return Scaled::Overflow };
            value = larger;
            exponent -= 1;
        }
        value.checked_mul(factor).map_or(Scaled::Overflow, Scaled::Exact)
    }
}

/// `value * factor * 10^exponent` for a negative exponent when neither is divisible by ten (1.5 * 1024 is whole).
fn divide_last(value: u128, factor: u128, exponent: i32) -> Scaled {
    let Some(product) = value.checked_mul(factor) else { return Scaled::Overflow };
    match 10u128.checked_pow(exponent.unsigned_abs()) {
        Some(divisor) if product.is_multiple_of(divisor) => Scaled::Exact(product / divisor),
        _ => Scaled::Inexact,
    }
}

fn digits_end(text: &str, start: usize) -> usize {
    start + text.as_bytes()[start..].iter().take_while(|b| b.is_ascii_digit()).count()
}

/// The power of ten written at `start`, if any, and where it ends. Powers beyond any use are cut to `±1000`.
fn exponent(text: &str, start: usize) -> (i32, usize) {
    let bytes = text.as_bytes();
    if !matches!(bytes.get(start), Some(b'e' | b'E')) {
        return (0, start);
    }
    let (sign, first) = match bytes.get(start + 1) {
        Some(b'-') => (-1, start + 2),
        Some(b'+') => (1, start + 2),
        _ => (1, start + 1),
    };
    let end = digits_end(text, first.min(text.len()));
    if end <= first {
        return (0, start);
    }
    let power =
        text[first..end].bytes().fold(0i32, |p, d| (p * 10 + i32::from(d - b'0')).min(1_000));
    (sign * power, end)
}

/// Prints `value / per_unit` exactly, as a decimal number without trailing zeros, then the unit.
/// `per_unit` is a power of ten.
pub(crate) fn write_decimal(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    per_unit: u64,
    unit: &str,
) -> fmt::Result {
    let mut text = alloc::format!("{}", value / per_unit);
    let mut rest = value % per_unit;
    if rest != 0 {
        text.push('.');
    }
    let mut step = per_unit / 10;
    while rest != 0 && step != 0 {
        text.push(char::from(b'0' + (rest / step) as u8));
        rest %= step;
        step /= 10;
    }
    text.push_str(unit);
    f.pad(&text)
}

impl fmt::Display for UnitList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, unit) in self.0.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { ", " }, unit.name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for UnitList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

struct DidYouMean(Option<&'static str>);

impl fmt::Display for DidYouMean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |name| write!(f, ", did you mean `{name}`?"))
    }
}
