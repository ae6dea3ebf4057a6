//! Cases that take a line each (`.ts`, `.arff`): lines are parsed in parallel, cases are checked and collected in order.

use rayon::prelude::*;

use super::{Loaded, ReadOptions};
use crate::dataset::numbered;
use crate::error::{Location, at_field, at_line, shown};
use crate::label::{Label, Labels, TaskName, Unlabelled};
use crate::text::lines::{Line, Lines};
use crate::text::number;
use crate::{Case, Clock, Dataset, Error};

/// Bytes that are parsed side by side.
const BLOCK: usize = 1 << 22;

/// What the label of a case is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LabelKind {
    None,
    /// A class, one of these if any are named.
    Classes(Vec<String>),
    /// A number.
    Target,
    /// A class or a number: the labels themselves decide.
    Either(String),
}

/// What to try if a value is no number.
pub(super) const NUMBER: &str = "write a number, or `?` where it is missing";

/// Where a case is read.
pub(super) struct Row<'a> {
    pub(super) file: &'a str,
    pub(super) line: u64,
    /// What to try if a value is no number.
    pub(super) fix: &'static str,
}

/// A case as its line gives it.
pub(super) struct Parsed {
    pub(super) line: u64,
    pub(super) clock: Clock,
    pub(super) times: Vec<f64>,
    pub(super) values: Vec<f64>,
    pub(super) dimensions: usize,
    pub(super) label: Vec<u8>,
}

impl Row<'_> {
    /// A place in this line; dimension and value are counted from 0 here, from 1 for people.
    pub(super) fn at(&self, dimension: usize, value: usize) -> Location {
        at_field(self.file, self.line, format!("dimension {}, value {}", dimension + 1, value + 1))
    }

    /// A case of dimensions `1,2,3` without times.
    pub(super) fn plain<'a>(&self, dimensions: impl Iterator<Item = &'a [u8]>, label: Vec<u8>) -> Result<Parsed, Error> {
        let mut values = Vec::new();
        let mut length = 0;
        let mut count = 0;
        for text in dimensions {
            let before = values.len();
            self.dimension(text, count, &mut values)?;
            let seen = values.len() - before;
            if count == 0 {
                length = seen;
            } else if seen != length {
                return Err(Error::Count {
                    at: at_field(self.file, self.line, format!("dimension {}", count + 1)),
                    seen,
                    unit: "values",
                    wanted: length,
                    because: "dimension 1 has so many",
                    fix: "without time stamps all dimensions of a case are of one length: write `?` for what is missing",
                });
            }
            count += 1;
        }
        let times = (0..length).map(|i| i as f64).collect();
        let values = turned(&values, length, count);
        Ok(Parsed { line: self.line, clock: Clock::Index, times, values, dimensions: count, label })
    }

    fn dimension(&self, text: &[u8], dimension: usize, into: &mut Vec<f64>) -> Result<(), Error> {
        let start = into.len();
        let mut rest = text.trim_ascii();
        if rest.is_empty() {
            return Ok(());
        }
        loop {
            // The short way reads up to the comma; a cell it does not understand is cut out and read again.
            let (x, used) = match number::prefix(rest) {
                Some((x, used)) if matches!(rest.get(used), None | Some(b',')) => (x, used),
                _ => {
                    let used = rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len());
                    let cell = rest[..used].trim_ascii();
                    let wrong = || Error::NotANumber {
                        at: self.at(dimension, into.len() - start),
                        seen: shown(cell),
                        fix: match cell.first() {
                            Some(b'(') => "if values carry their times, say `@timeStamps true`",
                            _ => self.fix,
                        },
                    };
                    (number::cell(cell).value().ok_or_else(wrong)?, used)
                }
            };
            into.push(x);
            if used == rest.len() {
                return Ok(());
            }
            rest = &rest[used + 1..];
        }
    }
}

/// From `[dimensions, length]` to `[length, dimensions]`.
fn turned(values: &[f64], length: usize, dimensions: usize) -> Vec<f64> {
    let mut turned = Vec::with_capacity(values.len());
    for i in 0..length {
        turned.extend((0..dimensions).map(|k| values[k * length + i]));
    }
    turned
}

/// Cases as they come.
pub(super) struct Rows<'a> {
    file: &'a str,
    announced: Option<usize>,
    kind: LabelKind,
    cases: Vec<Case>,
    lines: Vec<u64>,
    dimensions: Option<usize>,
    clock: Option<Clock>,
    labels: Labels,
    seen: Vec<Label>,
}

impl<'a> Rows<'a> {
    /// No case yet, of so many dimensions if the file says it.
    pub(super) fn new(file: &'a str, kind: LabelKind, announced: Option<usize>) -> Self {
        let labels = match &kind {
            LabelKind::Classes(names) => Labels::announced("label", names.clone()),
            LabelKind::Either(name) => Labels::new(name),
            LabelKind::Target | LabelKind::None => Labels::new("target"),
        };
        Self { file, announced, kind, cases: vec![], lines: vec![], dimensions: announced, clock: None, labels, seen: vec![] }
    }

    /// Reads all lines that are left. A line that holds no case gives `None`.
    pub(super) fn take(
        &mut self,
        lines: &mut Lines<'_>,
        parse: impl Fn(Line<'_>) -> Result<Option<Parsed>, Error> + Sync,
    ) -> Result<(), Error> {
        while let Some(block) = lines.block(BLOCK)? {
            let parsed: Vec<_> = block.lines().into_par_iter().map(&parse).collect();
            for row in parsed {
                if let Some(row) = row? {
                    self.push(row)?;
                }
            }
            lines.reuse(block);
        }
        Ok(())
    }

    fn push(&mut self, row: Parsed) -> Result<(), Error> {
        let wanted = *self.dimensions.get_or_insert(row.dimensions);
        let at = || at_line(self.file, row.line);
        if row.dimensions != wanted {
            return Err(Error::Count {
                at: at(),
                seen: row.dimensions,
                unit: "dimensions",
                wanted,
                because: if self.announced.is_some() { "`@dimensions` says so" } else { "the first case has so many" },
                fix: if self.kind == LabelKind::None && row.dimensions == wanted + 1 {
                    "if the last field is a label, say `@classLabel true ...` or `@targetLabel true`"
                } else {
                    "give every case all dimensions"
                },
            });
        }
        let id = (self.cases.len() + 1).to_string();
        if row.times.is_empty() {
            return Err(Error::EmptyCase { at: at(), case: id });
        }
        if *self.clock.get_or_insert(row.clock) != row.clock {
            let seen = "time stamps are dates in one case and numbers in another";
            return Err(Error::header(at(), seen, "write them all in one way"));
        }
        if self.kind != LabelKind::None {
            let label = self.labels.label(&row.label, || at_field(self.file, row.line, "label"))?;
            self.seen.push(label);
        }
        self.cases.push(Case { id, times: row.times, values: row.values, statics: vec![] });
        self.lines.push(row.line);
        Ok(())
    }

    pub(super) fn finish(mut self, name: String, options: &ReadOptions) -> Result<Loaded, Error> {
        let Some(clock) = self.clock else {
            return Err(Error::Empty {
                file: self.file.into(),
                seen: "has no series after `@data`",
                wanted: "a line for each case",
            });
        };
        if !options.reads_labels() {
            self.seen.clear();
        }
        let mut warnings = Vec::new();
        if let Some(unlabelled) = Unlabelled::of(&self.seen) {
            unlabelled.leave_out(&mut self.cases);
            unlabelled.leave_out(&mut self.lines);
            unlabelled.leave_out(&mut self.seen);
            warnings.push(unlabelled.warning);
        }
        let place = |i: usize| at_field(self.file, self.lines[i], "label");
        let task = options.task.or((self.kind == LabelKind::Target).then_some(TaskName::Regression));
        let targets = self.labels.of_cases(&self.seen, task, |i| self.cases[i].id.clone(), place)?;
        let channels = numbered(self.dimensions.unwrap_or(0));
        let data =
            Dataset { name, channels, statics: vec![], times: clock, cases: self.cases, targets, vocabulary: None, groups: None };
        Ok(Loaded::of(data, warnings))
    }
}
