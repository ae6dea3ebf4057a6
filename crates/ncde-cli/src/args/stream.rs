//! What can be typed after `stream`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ColumnArgs, positive};

const STREAM_EXAMPLES: &str = "\
Examples:
  echo '{\"id\": \"a\", \"time\": 0.5, \"values\": [1.0, null]}' | ncde stream runs/demo
  tail -f sensors.csv | ncde stream runs/demo
  tail -f sensors.csv | ncde stream runs/demo --state all.json --idle 1h --most 100000 --metrics 9100
      at most 100000 series in memory; those without a line for an hour wait in the state file

One observation a line in, one prediction a line out, as soon as it is known. Lines are JSON objects
(`time`, `values` with null for a gap, and if wanted `id` of the series, `statics` with its first
observation, `end` to forget it; values and statics as lists or by name), or CSV below a header with
the columns the model was trained on, in any order (and if wanted `end`: true, or empty). Cells, times and words are read as in files.
Series may be interleaved. What is printed after an observation is what `predict` gives for the series up to it.
Forecasts of several horizons are a list in one JSON line, and in CSV one row for each horizon.
A series that goes beyond what was seen in training (in length, or in the range of a channel) is named
once on standard error, and its JSON lines have a list `beyond`. A line that is refused changes nothing.
The exit code is 1 if no line could be used, some could not and `--quiet` hides that, or a state overflowed.";

#[derive(Debug, Args)]
#[command(after_help = STREAM_EXAMPLES)]
pub(crate) struct StreamArgs {
    /// The directory of the model
    #[arg(value_name = "DIR")]
    pub(crate) model: PathBuf,

    /// What to do with a line that cannot be used; it is reported by its number either way
    #[arg(long, value_enum, value_name = "WHAT", default_value = "skip")]
    pub(crate) bad: BadLine,

    /// Go on with the series saved in this file, and save them there: at the end, every so often, and when a signal ends the program
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,

    /// How often the state is saved
    #[arg(long, value_name = "SECONDS", default_value = "60", requires = "state")]
    pub(crate) save_every: NonZeroU64,

    /// Let a series go that had no line for so long (30s, 5m, 1h, 2d): it waits in the state file if there is one, else it is dropped
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) idle: Option<Span>,

    /// Hold at most so many series in memory: that without a line for the longest goes, as with `--idle`
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) most: Option<usize>,

    /// Refuse a line farther ahead of the last one of its series (1h, 2d; where times are numbers, a number)
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub(crate) max_gap: Option<Span>,

    /// What to do with a line whose time is not after the last one of its series
    #[arg(long, value_enum, value_name = "WHAT", default_value = "error")]
    pub(crate) late: LateLine,

    /// Prometheus metrics: in a file, written every 10 seconds, or at http://127.0.0.1:PORT/metrics
    #[arg(long, value_name = "FILE|PORT", value_parser = metrics)]
    pub(crate) metrics: Option<MetricsTarget>,

    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BadLine {
    /// Go on with the next line
    Skip,
    /// Stop
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LateLine {
    /// It is a line that cannot be used: see `--bad`
    Error,
    /// Leave it out; the end says how many there were
    Skip,
}

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    /// In seconds; without a unit in that of the times.
    pub(crate) amount: f64,
    pub(crate) has_unit: bool,
}

const UNITS: [(&str, f64); 6] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0), ("w", 604_800.0)];

fn span(text: &str) -> Result<Span, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[number.len()..];
    let factor =
        if unit.is_empty() { Some(1.0) } else { UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor) };
    let amount = number.trim().parse::<f64>().ok().zip(factor).map(|(number, factor)| number * factor);
    match amount.filter(|amount| amount.is_finite() && (0.0..=1e12).contains(amount) && *amount > 0.0) {
        Some(amount) => Ok(Span { amount, has_unit: !unit.is_empty() }),
        None => Err("wanted a positive length of time, such as 90s, 5m, 1h or 2d".into()),
    }
}

fn duration(text: &str) -> Result<Span, String> {
    span(text).and_then(|span| if span.has_unit { Ok(span) } else { Err("wanted a unit: ms, s, m, h, d or w".into()) })
}

/// Where metrics go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MetricsTarget {
    File(PathBuf),
    Port(u16),
}

/// A whole number is a port, anything else a file.
fn metrics(text: &str) -> Result<MetricsTarget, String> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(MetricsTarget::File(text.into()));
    }
    text.parse().map(MetricsTarget::Port).map_err(|_| "wanted a port up to 65535, or the name of a file".into())
}
