//! Tables of rates, delays and losses.

use std::str::FromStr;

use polypath_units::{BitRate, Duration, Fraction};

use super::{AfterEnd, Piece, RateTrace, Service, TraceError};

/// What a column has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quantity {
    Time,
    Rate,
    Delay,
    Loss,
}

/// A column: what it has, and what a number in it is multiplied by.
#[derive(Clone, Copy, Debug)]
struct Column {
    quantity: Quantity,
    /// In nanoseconds, bit/s, or parts of one.
    unit: f64,
}

const NAMES: [(&str, Quantity); 4] = [
    ("time", Quantity::Time),
    ("rate", Quantity::Rate),
    ("delay", Quantity::Delay),
    ("loss", Quantity::Loss),
];

/// A row with what its cells say.
#[derive(Clone, Copy, Default)]
struct Row {
    time: Option<f64>,
    rate: Option<f64>,
    delay: Option<f64>,
    loss: Option<f64>,
}

pub(super) fn read(text: &str, after_end: AfterEnd) -> Result<RateTrace, TraceError> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let Some((number, header)) = lines.next() else {
        return Err(TraceError::new(1, "there is no header"));
    };
    let columns = columns(header).map_err(|message| TraceError::new(number, message))?;
    let mut table = Table::default();
    let mut last_line = number;
    for (number, line) in lines {
        last_line = number;
        let row = row(line, &columns).map_err(|message| TraceError::new(number, message))?;
        table.add(row).map_err(|message| TraceError::new(number, message))?;
    }
    table.close(after_end).map_err(|message| TraceError::new(last_line, message))
}

fn columns(header: &str) -> Result<Vec<Column>, String> {
    let columns: Vec<Column> = header.split(',').map(column).collect::<Result<_, _>>()?;
    for (name, quantity) in NAMES {
        let count = columns.iter().filter(|column| column.quantity == quantity).count();
        if count > 1 {
            return Err(format!("there are {count} columns `{name}`"));
        }
    }
    if columns.first().is_none_or(|_| columns.iter().all(|c| c.quantity != Quantity::Time)) {
        return Err("there is no column `time [s]`".into());
    }
    if columns.len() < 2 {
        return Err("there is nothing but times: a trace has rate, delay or loss".into());
    }
    Ok(columns)
}

/// A cell of the header: `rate [Mbit/s]`.
fn column(cell: &str) -> Result<Column, String> {
    let cell = cell.trim();
    let parts = cell.split_once('[').and_then(|(name, rest)| Some((name, rest.strip_suffix(']')?)));
    let Some((name, unit)) = parts else {
        return Err(format!("`{cell}` has no unit: write, for example, `rate [Mbit/s]`"));
    };
    let (name, unit) = (name.trim(), unit.trim());
    let Some((_, quantity)) = NAMES.iter().find(|(known, _)| *known == name) else {
        return Err(format!("`{name}` is no column; columns: `time`, `rate`, `delay`, `loss`"));
    };
    let one = format!("1 {unit}");
    let unit = match quantity {
        Quantity::Time | Quantity::Delay => parse::<Duration>(&one)?.as_nanos() as f64,
        Quantity::Rate => parse::<BitRate>(&one)?.as_bits_per_second() as f64,
        Quantity::Loss if unit == "1" => 1.0,
        Quantity::Loss => parse::<Fraction>(&one)?.as_f64(),
    };
    Ok(Column { quantity: *quantity, unit })
}

fn parse<T: FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn row(line: &str, columns: &[Column]) -> Result<Row, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != columns.len() {
        return Err(format!("{} cells, but {} columns", cells.len(), columns.len()));
    }
    let mut row = Row::default();
    for (cell, column) in cells.into_iter().zip(columns).filter(|(cell, _)| !cell.is_empty()) {
        let number = cell.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        let Some(number) = number else {
            return Err(format!("`{cell}` is no number from zero on"));
        };
        let value = Some(number * column.unit);
        match column.quantity {
            Quantity::Time => row.time = value,
            Quantity::Rate => row.rate = value,
            Quantity::Delay => row.delay = value,
            Quantity::Loss => row.loss = value,
        }
    }
    Ok(row)
}

/// The largest whole number whose neighbours are numbers too.
const LARGEST: f64 = (1u64 << 53) as f64;

/// The nearest whole number.
fn whole(value: f64) -> Result<u64, String> {
    if value >= LARGEST {
        return Err(format!("{value:e} is too large"));
    }
    Ok((value + 0.5) as u64)
}

#[derive(Default)]
struct Table {
    times: Vec<Duration>,
    pieces: Vec<Piece>,
    delays: Vec<(Duration, Duration)>,
    losses: Vec<(Duration, Fraction)>,
}

impl Table {
    fn add(&mut self, row: Row) -> Result<(), String> {
        let Some(time) = row.time else { return Err("there is no time".into()) };
        let time = Duration::from_nanos(whole(time)?);
        match self.times.last() {
            None if !time.is_zero() => {
                return Err(format!("the first row is at {time}: it must be at time zero"));
            }
            Some(last) if *last >= time => return Err(format!("{time} comes after {last}")),
            _ => {}
        }
        self.times.push(time);
        if let Some(rate) = row.rate {
            let rate = BitRate::from_bits_per_second(whole(rate)?);
            let before = self.pieces.last().map_or(0, |last| last.passed_by(time));
            self.pieces.push(Piece { from: time, rate, before });
        }
        if let Some(delay) = row.delay {
            self.delays.push((time, Duration::from_nanos(whole(delay)?)));
        }
        if let Some(loss) = row.loss {
            let loss = Fraction::from_f64(loss).map_err(|_| "a loss is above 100 %".to_owned())?;
            self.losses.push((time, loss));
        }
        let firsts = [
            ("rate", self.pieces.first().map(|piece| piece.from)),
            ("delay", self.delays.first().map(|(from, _)| *from)),
            ("loss", self.losses.first().map(|(from, _)| *from)),
        ];
        match firsts.into_iter().find(|(_, first)| first.is_some_and(|first| !first.is_zero())) {
            Some((name, _)) => Err(format!("the first row has no {name}")),
            None => Ok(()),
        }
    }

    fn close(self, after_end: AfterEnd) -> Result<RateTrace, String> {
        let Some(last) = self.times.last() else { return Err("there are no rows".into()) };
        let before = self.times.len().checked_sub(2).and_then(|index| self.times.get(index));
        let period = match (after_end, before) {
            (AfterEnd::Hold, _) | (AfterEnd::Repeat, None) => None,
            (AfterEnd::Repeat, Some(before)) => Some(*last + (*last - *before)),
        };
        if !self.pieces.is_empty() && self.pieces.iter().all(|piece| piece.rate.is_zero()) {
            return Err("all rates are zero: to keep a link down, give it an outage".into());
        }
        let service = match self.pieces.is_empty() {
            true => Service::Channel,
            false => Service::Rates(self.pieces),
        };
        Ok(RateTrace { service, delays: self.delays, losses: self.losses, period })
    }
}
