//! What can be wrong with a file: what was seen, what was wanted, where, and what to try.

mod place;
mod words;

use std::io;

use crate::{Flaw, npy};
pub use place::Place;
pub(crate) use words::{closest, hint, listed, more, shown};

/// Why a file could not be read, brought into a form, or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened.
    #[error("cannot open `{file}`: {source}; check the name")]
    Open {
        /// The file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// Reading failed half way.
    #[error("cannot read `{file}`: {source}")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// Writing failed.
    #[error("cannot write `{file}`: {source}")]
    Write {
        /// The file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// The gzip stream is broken.
    #[error("`{file}` is a broken gzip file: {source}; copy or compress it again")]
    Gzip {
        /// The file.
        file: String,
        /// What is broken.
        source: io::Error,
    },
    /// Neither the name nor the content says what it is.
    #[error(
        "`{file}` is of no format that is known: {seen}; wanted .ts, .arff, .csv, .npz, .npy, .parquet or .arrow (or .gz of these), or say which it is"
    )]
    UnknownFormat {
        /// The file.
        file: String,
        /// What was seen.
        seen: String,
    },
    /// The content is not what the name says.
    #[error("`{file}` is read as {wanted}, but {seen}; name it after what it is, or say which format it has")]
    WrongFormat {
        /// The file.
        file: String,
        /// What the name or the caller says.
        wanted: &'static str,
        /// What was seen.
        seen: &'static str,
    },
    /// A format that is read only with a feature of the crate.
    #[error(
        "`{file}` is {what}, which this build does not read: build with `--features {feature}`, or write csv (pandas: `to_csv(..., index=False)`)"
    )]
    NotBuilt {
        /// The file.
        file: String,
        /// What it is.
        what: &'static str,
        /// The feature.
        feature: &'static str,
    },
    /// A file of a binary format that cannot be read.
    #[error("`{file}` cannot be read as {what}: {problem}; write it again, or as csv")]
    Broken {
        /// The file.
        file: String,
        /// What it is called.
        what: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// There is nothing where data should be.
    #[error("`{file}` {seen}; wanted {wanted}")]
    Empty {
        /// The file.
        file: String,
        /// What there is.
        seen: &'static str,
        /// What there should be.
        wanted: &'static str,
    },
    /// Text that is not UTF-8.
    #[error("{at}: this is not UTF-8 text; save the file as UTF-8")]
    NotUtf8 {
        /// Where.
        at: Box<Place>,
    },
    /// A cell that should hold a number.
    #[error("{at}: `{seen}` is not a number; {fix}")]
    NotANumber {
        /// Where.
        at: Box<Place>,
        /// What was seen.
        seen: String,
        /// What to try.
        fix: &'static str,
    },
    /// A cell that should hold a time.
    #[error("{at}: `{seen}` is not {wanted}; {fix}")]
    NotATime {
        /// Where.
        at: Box<Place>,
        /// What was seen.
        seen: String,
        /// What was wanted.
        wanted: &'static str,
        /// What to try.
        fix: &'static str,
    },
    /// Times must increase within a case.
    #[error("{at}: time `{seen}`{} comes after `{before}`; {fix}", of_case(.case.as_deref()))]
    TimeOrder {
        /// Where.
        at: Box<Place>,
        /// The case, where a line is not one already.
        case: Option<String>,
        /// The time before it.
        before: String,
        /// The time.
        seen: String,
        /// What to try.
        fix: &'static str,
    },
    /// A header line that says something else than it should.
    #[error("{at}: {seen}; {fix}")]
    Header {
        /// Where.
        at: Box<Place>,
        /// What was seen.
        seen: String,
        /// What was wanted, or what to try.
        fix: String,
    },
    /// Too few or too many fields.
    #[error("{at}: the number of {unit} is {seen}, wanted {wanted} ({because}); {fix}")]
    Count {
        /// Where.
        at: Box<Place>,
        /// How many there are.
        seen: usize,
        /// Of what.
        unit: &'static str,
        /// How many there should be.
        wanted: usize,
        /// Who says so.
        because: &'static str,
        /// What to try.
        fix: &'static str,
    },
    /// A quote that is not closed, or text after one.
    #[error("{at}: {seen}; {fix}")]
    Quotes {
        /// Where.
        at: Box<Place>,
        /// What is wrong.
        seen: &'static str,
        /// What to try.
        fix: &'static str,
    },
    /// A case without observations.
    #[error("{at}: case `{case}` has no observations; remove it")]
    EmptyCase {
        /// Where.
        at: Box<Place>,
        /// The case.
        case: String,
    },
    /// A class that was not announced.
    #[error("{at}: class `{seen}` of case `{case}` is not known; known are {known}")]
    UnknownClass {
        /// Where.
        at: Box<Place>,
        /// The class.
        seen: String,
        /// The case.
        case: String,
        /// The classes that are known.
        known: String,
    },
    /// Classes that training did not see.
    #[error(
        "`{name}` has classes that the model was not trained on: {seen} ({count} {}); known are {known}; correct or leave out these \
         rows, or train again with them; `ncde predict` needs no labels",
        if *.count == 1 { "label" } else { "labels" }
    )]
    UnseenClasses {
        /// The dataset.
        name: String,
        /// The classes.
        seen: String,
        /// How many labels are of them.
        count: usize,
        /// The classes that are known.
        known: String,
    },
    /// A token that the vocabulary does not have.
    #[error("{at}: token `{seen}` at observation {observation} of case `{case}` is not known; known are {known}; {fix}")]
    UnknownToken {
        /// Where.
        at: Box<Place>,
        /// The token.
        seen: String,
        /// The observation, counted from 1.
        observation: usize,
        /// The case.
        case: String,
        /// The tokens that are known.
        known: String,
        /// What to try.
        fix: String,
    },
    /// An observation without a token.
    #[error("{at}: observation {observation} of case `{case}` has no token; {fix}")]
    NoToken {
        /// Where.
        at: Box<Place>,
        /// The observation, counted from 1.
        observation: usize,
        /// The case.
        case: String,
        /// What to try.
        fix: &'static str,
    },
    /// Tokens where a model takes numbers.
    #[error("`{name}` holds tokens such as {tokens}, but the model was trained on numbers; give it numbers")]
    Tokens {
        /// The dataset.
        name: String,
        /// Its tokens.
        tokens: String,
    },
    /// Some cases have a label, this one has none.
    #[error("{at}: case `{case}` has no label, but others have one; label it or remove it")]
    NoLabel {
        /// Where.
        at: Box<Place>,
        /// The case.
        case: String,
    },
    /// A column that must be there is not.
    #[error("`{file}` has no column for {role}: {wanted}; its columns are {seen}{hint}")]
    NoColumn {
        /// The file.
        file: String,
        /// What the column is for.
        role: &'static str,
        /// What it should be called.
        wanted: String,
        /// The columns there are.
        seen: String,
        /// A name that is close.
        hint: String,
    },
    /// Several columns could be meant.
    #[error(
        "`{file}`: columns {names} could all hold {role}; say which one does (`{flag}`), and leave the others out (`--ignore`)"
    )]
    SeveralColumns {
        /// The file.
        file: String,
        /// What the column is for.
        role: &'static str,
        /// The columns.
        names: String,
        /// What says it.
        flag: &'static str,
    },
    /// Something that could mean two things, of which one would be a silent mistake.
    #[error("{at}: {seen}; {fix}")]
    Question {
        /// Where.
        at: Box<Place>,
        /// What was seen.
        seen: String,
        /// What to say.
        fix: String,
    },
    /// A category that training did not see.
    #[error("{at}: `{seen}` is not one of those seen in training: {known}; {fix}")]
    UnknownCategory {
        /// Where.
        at: Box<Place>,
        /// The category.
        seen: String,
        /// The categories that are known.
        known: String,
        /// What to try.
        fix: String,
    },
    /// Labels are given twice.
    #[error("`{file}` has labels of its own, and `{labels}` holds labels too; give them once")]
    LabelsTwice {
        /// The file of series.
        file: String,
        /// The file of labels.
        labels: String,
    },
    /// The labels name a case that is not there.
    #[error("{at}: there is no case `{id}` in the data{more}; remove it, or check that both files go together")]
    UnknownId {
        /// Where.
        at: Box<Place>,
        /// The id.
        id: String,
        /// How many others there are, in words.
        more: String,
    },
    /// The labels leave a case out.
    #[error("`{file}` has no row for case `{id}` of the data{more}; add it, or remove the case")]
    MissingId {
        /// The file of labels.
        file: String,
        /// The id.
        id: String,
        /// How many others there are, in words.
        more: String,
    },
    /// A case is named twice.
    #[error("{at}: `{id}` is there already ({before}); ids must differ")]
    RepeatedId {
        /// Where.
        at: Box<Place>,
        /// The id.
        id: String,
        /// Where it was seen first.
        before: String,
    },
    /// A column of numbers that holds too many different texts to be categories.
    #[error("{at}: more than {limit} different texts; leave the column out (`--ignore`), or replace it by numbers")]
    TooManyCategories {
        /// Where.
        at: Box<Place>,
        /// How many are allowed.
        limit: usize,
    },
    /// A static covariate that is not.
    #[error(
        "column `{column}` is to be static, but in case `{case}` it is both `{first}` and `{second}`; leave it out of the statics"
    )]
    NotStatic {
        /// The column.
        column: String,
        /// The case in which it changes.
        case: String,
        /// A value it has there.
        first: f64,
        /// Another one.
        second: f64,
    },
    /// An npy array that cannot be read.
    #[error(transparent)]
    Npy(#[from] npy::Error),
    /// An array of the wrong shape or with wrong entries.
    #[error("{at}: {seen}; wanted {wanted}")]
    Array {
        /// The file and the array.
        at: Box<Place>,
        /// What it is.
        seen: String,
        /// What it should be.
        wanted: String,
    },
    /// The dataset lacks what a model was trained on.
    #[error("`{name}` has no {what} `{missing}`, which the model was trained on; it has {seen}{hint}")]
    Missing {
        /// The dataset.
        name: String,
        /// `channel` or `static covariate`.
        what: &'static str,
        /// The column that is not there.
        missing: String,
        /// Those that are.
        seen: String,
        /// A name that is close.
        hint: String,
    },
    /// Columns without names can only be matched by their number.
    #[error(
        "`{name}` has {seen} {what}s without names, but the model was trained on {wanted}; give the file names, or as many {what}s"
    )]
    Unnamed {
        /// The dataset.
        name: String,
        /// `channel` or `static covariate`.
        what: &'static str,
        /// How many there are.
        seen: usize,
        /// How many there should be.
        wanted: usize,
    },
    /// A dataset with more or fewer targets than cases.
    #[error("`{name}` has {seen} targets, but {wanted} cases; give each case its target")]
    TargetCount {
        /// The dataset.
        name: String,
        /// How many targets it has.
        seen: usize,
        /// How many cases it has.
        wanted: usize,
    },
    /// A case whose parts do not fit together.
    #[error("case `{case}` of `{name}`: {flaw}")]
    Malformed {
        /// The dataset.
        name: String,
        /// The case.
        case: String,
        /// What is wrong with it.
        flaw: Flaw,
    },
    /// Two datasets that do not go together.
    #[error("cannot join `{first}` and `{second}`: {what} are {seen} and {other}; bring both into one form first")]
    Join {
        /// One dataset.
        first: String,
        /// The other.
        second: String,
        /// What differs.
        what: &'static str,
        /// In the first.
        seen: String,
        /// In the second.
        other: String,
    },
    /// A format that cannot hold the dataset, or is not written.
    #[error("cannot write `{name}` as {format}: {why}; {fix}")]
    CannotHold {
        /// The dataset.
        name: String,
        /// The format.
        format: &'static str,
        /// What it has no place for.
        why: String,
        /// What to try.
        fix: &'static str,
    },
}

fn of_case(case: Option<&str>) -> String {
    case.map_or_else(String::new, |case| format!(" of case `{case}`"))
}
