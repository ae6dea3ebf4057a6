//! Time-series files in, cases with channels, times, gaps and labels out.
//!
//! ```text
//! bytes -> lines, cells, numbers -> cases, labels -> Dataset -> aligned to a model's Schema
//! gzip     text/                    read/, label     dataset   align
//! ```
//!
//! A [`Dataset`] is a list of [`Case`]s: times `t_0 < t_1 < ...` and values `[length, channels]` with NaN where one is missing,
//! static covariates of the whole case, and [`Targets`]: a class or a number for each case or each observation. [`read`] makes
//! one from
//!
//! | file | cases | times | labels |
//! | --- | --- | --- | --- |
//! | `.ts` (sktime, aeon) | a line each | time stamps, or counted | `@classLabel`, `@targetLabel` |
//! | `.arff` (Weka) | a line each | counted | the nominal attribute |
//! | long csv | rows with one `id` | column `time`: numbers, or dates in many ways | column `label`, or a second file |
//! | wide csv | a line each | names of columns: numbers or dates | column `label` |
//! | melted csv | rows with one `id` | as long csv; a channel for each name | as long csv |
//! | `.json`, `.jsonl` | as csv, or an object each with lists of values | as csv | as csv |
//! | a folder of csv files | a file each | as csv | as csv, `labels.csv`, or a folder each |
//! | `.npz`, `.npy` (numpy) | first axis | array `times`, or counted | array `y` |
//!
//! or from gzip of these, or standard input (`-`). What the columns of a csv file are for is said by the caller or guessed from
//! names and cells; [`load`] returns the decision, a [`Layout`], and a [`Warning`] for each guess. A model keeps the layout, and
//! whatever reads for it later, files ([`ReadOptions::layout`]) or lines of a stream ([`LineReader`]), obeys it. If the only channel holds words, or the caller asks for tokens, its values are numbers of tokens of the
//! dataset's `vocabulary`. Files are parsed as they are read (csv twice: all cells of a column decide what it is), lines of `.ts`
//! and `.arff` in parallel, so memory is that of the numbers. Every error says what was seen, what was wanted, where, and what to try.
//!
//! ```
//! use ncde_data::{ReadOptions, read_bytes};
//! let train = b"id,time,temp,unit,label\na,0,20.5,C,ok\na,1.5,,C,ok\nb,0,70,F,bad\nb,1,71,F,bad\n";
//! let train = read_bytes("train.csv", train, &ReadOptions::default())?;
//! assert_eq!(train.channels, ["temp"]);
//! assert_eq!(train.statics, ["unit=C", "unit=F"]); // text, and the same within each case
//! assert_eq!(train.targets.classes(), ["bad", "ok"]);
//!
//! // Another file takes the form of the first: columns in order, categories it lacks as zeros.
//! let new = read_bytes("new.csv", b"time,unit,temp\n0,C,19\n2,C,18\n", &ReadOptions::default())?;
//! let new = new.aligned(&train.schema())?;
//! assert_eq!(new.cases[0].values, [19.0, 18.0]);
//! assert_eq!(new.cases[0].statics, [1.0, 0.0]);
//! # Ok::<(), ncde_data::Error>(())
//! ```

mod align;
mod arrays;
mod columns;
mod dataset;
mod error;
mod join;
mod label;
pub mod npy;
mod order;
mod read;
mod schema;
mod shape;
pub mod summary;
mod text;
mod vocabulary;
mod write;

pub use columns::Columns;
pub use dataset::{Case, Clock, Dataset, Flaw, Targets};
pub use error::{Error, SourceLocation};
pub use label::TaskName;
pub use read::{Format, Given, Line, LineReader, Loaded, ReadOptions, load, load_bytes, read, read_bytes};
pub use schema::{Cells, Column, Duplicates, Layout, Role, Schema, Warning};
pub use shape::Shape;
pub use summary::Summary;
pub use text::marks::Marks;
pub use text::time::TimeFormat;
pub use vocabulary::UNKNOWN;
pub use write::write;
