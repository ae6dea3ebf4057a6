//! What can be wrong with a file: what was seen, what was wanted, where, and what to try.

mod location;
mod words;

use std::io;

use crate::text::time::written;
use crate::{Clock, Flaw, npy};
pub use location::SourceLocation;
pub(crate) use location::{Location, at_field, at_line};
pub(crate) use words::{closest, hint, listed, more, shown};

/// Why a file could not be read, brought into a form, or written.
///
/// Fields mean the same in all variants: `file` and `name` are the file and the dataset as the user named them, `at` is the place
/// in the file, `seen` what is there, `wanted` what should be there, and `fix` what to try. `hint` and `more` end a message.
#[expect(missing_docs, reason = "the fields are described once, above")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened.
    #[error("cannot open `{file}`: {source}; check the name")]
    Open { file: String, source: io::Error },
    /// Reading failed half way.
    #[error("cannot read `{file}`: {source}")]
    Read { file: String, source: io::Error },
    /// Writing failed.
    #[error("cannot write `{file}`: {source}")]
    Write { file: String, source: io::Error },
    /// The gzip stream is broken.
    #[error("`{file}` is a broken gzip file: {source}; copy or compress it again")]
    Gzip { file: String, source: io::Error },
    /// Neither the name nor the content says what it is.
    #[error(
        "`{file}` is of no format that is known: {seen}; wanted .ts, .arff, .csv, .json, .npz, .npy, .parquet or .arrow (or .gz of these), or say which it is"
    )]
    UnknownFormat { file: String, seen: String },
    /// The content is not what the name says.
    #[error("`{file}` is read as {wanted}, but {seen}; name it after what it is, or say which format it has")]
    WrongFormat { file: String, wanted: &'static str, seen: String },
    /// A format that is read only with a feature of the crate.
    #[error(
        "`{file}` is {what}, which this build does not read: build with `--features {feature}`, or write csv (pandas: `to_csv(..., index=False)`)"
    )]
    NotBuilt { file: String, what: &'static str, feature: &'static str },
    /// A file of a binary format that cannot be read.
    #[error("`{file}` cannot be read as {what}: {problem}; write it again, or as csv")]
    Broken { file: String, what: &'static str, problem: String },
    /// There is nothing where data should be.
    #[error("`{file}` {seen}; wanted {wanted}")]
    Empty { file: String, seen: &'static str, wanted: &'static str },
    /// Text that is not UTF-8.
    #[error("{at}: this is not UTF-8 text; save the file as UTF-8")]
    NotUtf8 { at: Box<SourceLocation> },
    /// A cell that should hold a number.
    #[error("{at}: `{seen}` is not a number; {fix}")]
    NotANumber { at: Box<SourceLocation>, seen: String, fix: &'static str },
    /// A cell that should hold a time.
    #[error("{at}: `{seen}` is not {wanted}; {fix}")]
    NotATime { at: Box<SourceLocation>, seen: String, wanted: &'static str, fix: &'static str },
    /// Times must increase within a case.
    #[error("{at}: time `{seen}`{} comes after `{before}`; {fix}", of_case(.case.as_deref()))]
    TimeOrder { at: Box<SourceLocation>, case: Option<String>, before: String, seen: String, fix: &'static str },
    /// A header line that says something else than it should.
    #[error("{at}: {seen}; {fix}")]
    Header { at: Box<SourceLocation>, seen: String, fix: String },
    /// Too few or too many fields.
    #[error("{at}: the number of {unit} is {seen}, wanted {wanted} ({because}); {fix}")]
    Count { at: Box<SourceLocation>, seen: usize, unit: &'static str, wanted: usize, because: &'static str, fix: &'static str },
    /// A quote that is not closed, or text after one.
    #[error("{at}: {seen}; {fix}")]
    Quotes { at: Box<SourceLocation>, seen: &'static str, fix: &'static str },
    /// A case without observations.
    #[error("{at}: case `{case}` has no observations; remove it")]
    EmptyCase { at: Box<SourceLocation>, case: String },
    /// A class that was not announced.
    #[error("{at}: class `{seen}` of case `{case}` is not known; known are {known}")]
    UnknownClass { at: Box<SourceLocation>, seen: String, case: String, known: String },
    /// Classes that training did not see.
    #[error(
        "`{name}` has classes that the model was not trained on: {seen} ({count} {}); known are {known}; correct or leave out these \
         rows, or train again with them; `ncde predict` needs no labels",
        if *.count == 1 { "label" } else { "labels" }
    )]
    UnseenClasses { name: String, seen: String, count: usize, known: String },
    /// A token that the vocabulary does not have.
    #[error("{at}: token `{seen}` at observation {observation} of case `{case}` is not known; known are {known}; {fix}")]
    UnknownToken { at: Box<SourceLocation>, seen: String, observation: usize, case: String, known: String, fix: String },
    /// An observation without a token.
    #[error("{at}: observation {observation} of case `{case}` has no token; {fix}")]
    NoToken { at: Box<SourceLocation>, observation: usize, case: String, fix: &'static str },
    /// Tokens where a model takes numbers.
    #[error("`{name}` holds tokens such as {tokens}, but the model was trained on numbers; give it numbers")]
    Tokens { name: String, tokens: String },
    /// Some cases have a label, this one has none.
    #[error("{at}: case `{case}` has no label, but others have one; label it or remove it")]
    NoLabel { at: Box<SourceLocation>, case: String },
    /// A column that must be there is not.
    #[error("`{file}` has no column for {role}: {wanted}; its columns are {seen}{hint}")]
    NoColumn { file: String, role: &'static str, wanted: String, seen: String, hint: String },
    /// Several columns could be meant.
    #[error(
        "`{file}`: columns {names} could all hold {role}; say which one does (`{flag}`), and leave the others out (`--ignore`)"
    )]
    SeveralColumns { file: String, role: &'static str, names: String, flag: &'static str },
    /// Something that could mean two things, of which one would be a silent mistake.
    #[error("{at}: {seen}; {fix}")]
    Question { at: Box<SourceLocation>, seen: String, fix: String },
    /// A category that training did not see.
    #[error("{at}: `{seen}` is not one of those seen in training: {known}; {fix}")]
    UnknownCategory { at: Box<SourceLocation>, seen: String, known: String, fix: String },
    /// Labels are given twice.
    #[error("`{file}` has labels of its own, and `{labels}` holds labels too; give them once")]
    LabelsTwice { file: String, labels: String },
    /// The labels name a case that is not there.
    #[error("{at}: there is no case `{id}` in the data{more}; remove it, or check that both files go together")]
    UnknownId { at: Box<SourceLocation>, id: String, more: String },
    /// The labels leave a case out.
    #[error("`{file}` has no row for case `{id}` of the data{more}; add it, or remove the case")]
    MissingId { file: String, id: String, more: String },
    /// A case is named twice.
    #[error("{at}: `{id}` is there already ({before}); ids must differ")]
    RepeatedId { at: Box<SourceLocation>, id: String, before: String },
    /// A column of numbers that holds too many different texts to be categories.
    #[error("{at}: more than {limit} different texts; leave the column out (`--ignore`), or replace it by numbers")]
    TooManyCategories { at: Box<SourceLocation>, limit: usize },
    /// A static covariate that is not.
    #[error(
        "column `{column}` is to be static, but in case `{case}` it is both `{first}` and `{second}`; leave it out of the statics"
    )]
    NotStatic { column: String, case: String, first: f64, second: f64 },
    /// An npy array that cannot be read.
    #[error(transparent)]
    Npy(#[from] npy::Error),
    /// An array of the wrong shape or with wrong entries.
    #[error("{at}: {seen}; wanted {wanted}")]
    Array { at: Box<SourceLocation>, seen: String, wanted: String },
    /// The dataset lacks what a model was trained on.
    #[error("`{name}` has no {what} `{missing}`, which the model was trained on; it has {seen}{hint}")]
    Missing { name: String, what: &'static str, missing: String, seen: String, hint: String },
    /// Columns without names can only be matched by their number.
    #[error(
        "`{name}` has {seen} {what}s without names, but the model was trained on {wanted}; give the file names, or as many {what}s"
    )]
    Unnamed { name: String, what: &'static str, seen: usize, wanted: usize },
    /// A dataset with more or fewer targets than cases.
    #[error("`{name}` has {seen} targets, but {wanted} cases; give each case its target")]
    TargetCount { name: String, seen: usize, wanted: usize },
    /// A dataset with more or fewer groups than cases.
    #[error("`{name}` has {seen} groups, but {wanted} cases; give each case its group, or none a group")]
    GroupCount { name: String, seen: usize, wanted: usize },
    /// A case whose parts do not fit together.
    #[error("case `{case}` of `{name}`: {flaw}")]
    Malformed { name: String, case: String, flaw: Flaw },
    /// Two datasets that do not go together.
    #[error("cannot join `{first}` and `{second}`: {what} are {seen} and {other}; bring both into one form first")]
    Join { first: String, second: String, what: &'static str, seen: String, other: String },
    /// A format that cannot hold the dataset, or is not written.
    #[error("cannot write `{name}` as {format}: {why}; {fix}")]
    CannotHold { name: String, format: &'static str, why: String, fix: &'static str },
}

impl Error {
    pub(crate) fn header(at: Location, seen: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Header { at, seen: seen.into(), fix: fix.into() }
    }

    pub(crate) fn question(file: &str, seen: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Question { at: at_line(file, 0), seen: seen.into(), fix: fix.into() }
    }

    /// Times that do not increase: `t` after `before`, of a case if its name is not the place already.
    pub(crate) fn time_order(at: Location, case: Option<&str>, [before, t]: [f64; 2], clock: Clock, fix: &'static str) -> Self {
        Self::TimeOrder { at, case: case.map(shown), before: written(before, clock), seen: written(t, clock), fix }
    }

    /// An observation, counted from 0, without a token.
    pub(crate) fn no_token(at: Location, observation: usize, case: &str, fix: &'static str) -> Self {
        Self::NoToken { at, observation: observation + 1, case: shown(case), fix }
    }

    /// There is no column of the name that the caller gave.
    pub(crate) fn no_column<S: AsRef<str>>(file: &str, role: &'static str, name: &str, names: &[S]) -> Self {
        Self::wanted_column(file, role, format!("`{}` was named", shown(name)), name, names)
    }

    /// There is no column for a role, though one was wanted; `name` is what it might be called.
    pub(crate) fn wanted_column<S: AsRef<str>>(file: &str, role: &'static str, wanted: String, name: &str, names: &[S]) -> Self {
        Self::NoColumn { file: file.into(), role, wanted, seen: listed(names), hint: hint(name, names) }
    }
}

fn of_case(case: Option<&str>) -> String {
    case.map_or_else(String::new, |case| format!(" of case `{case}`"))
}
