//! The columns of a file, read whole: batches of typed arrays.

use std::borrow::Cow;
use std::io::{Cursor, Read};
use std::panic::{catch_unwind, set_hook, take_hook};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, Schema};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::super::{Format, Input, ReadOptions};
use super::{cell, messages, pages};
use crate::Error;
use crate::error::{at_field, shown};
use crate::schema::Role;

/// How a file of Arrow starts; a stream of it has no such start.
const FILE: &[u8] = b"ARROW1";

/// The most rows that are believed: so many for each byte of the file, and some more.
const ROWS_A_BYTE: usize = 1000;
const FEW_ROWS: usize = 1 << 16;

/// A table in memory.
pub(in super::super) struct Columns {
    names: Vec<String>,
    /// Columns whose cells are left out.
    left_out: Vec<bool>,
    batches: Vec<RecordBatch>,
}

impl Columns {
    pub(super) fn read(input: &Input<'_>, format: Format, options: &ReadOptions) -> Result<Self, Error> {
        let mut source = input.open()?;
        let mut bytes = Vec::new();
        if let Err(error) = source.reader.read_to_end(&mut bytes) {
            return Err(source.failed(error));
        }
        let most = bytes.len().saturating_mul(ROWS_A_BYTE).saturating_add(FEW_ROWS);
        let broken = |problem: String| Error::Broken { file: input.file().into(), what: format.words(), problem };
        // Of some broken files these crates do not return an error, but panic; that is not for the reader of an error to see.
        let hook = take_hook();
        set_hook(Box::new(|_| ()));
        let read = catch_unwind(|| match format {
            Format::Parquet => parquet(bytes, most),
            _ if bytes.starts_with(FILE) => {
                messages::check_file(&bytes)?;
                let reader = FileReader::try_new(Cursor::new(bytes), None).map_err(told)?;
                all(reader.schema().as_ref().clone(), reader, most)
            }
            _ => {
                messages::check_stream(&bytes)?;
                let reader = StreamReader::try_new(Cursor::new(bytes), None).map_err(told)?;
                all(reader.schema().as_ref().clone(), reader, most)
            }
        });
        set_hook(hook);
        let (schema, batches) = match read {
            Ok(read) => read.map_err(broken)?,
            Err(_) => return Err(broken("its parts contradict each other".into())),
        };
        let mut left_out = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            let name = field.name();
            let is_left_out = is_ignored(name, options);
            if !is_left_out && !cell::is_known(field.data_type()) {
                let seen = format!("it holds `{}`", field.data_type());
                let fix = format!("wanted numbers, texts, booleans or times; leave it out (`--ignore {}`)", shown(name));
                return Err(Error::header(at_field(input.file(), 0, format!("column `{}`", shown(name))), seen, fix));
            }
            left_out.push(is_left_out);
        }
        let names = schema.fields().iter().map(|field| field.name().trim().to_string()).collect();
        Ok(Self { names, left_out, batches })
    }

    pub(in super::super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Calls `each` with every row, counted as the lines of a csv file are: the first is line 2.
    pub(in super::super) fn each(&self, mut each: impl FnMut(u64, &[Cow<'_, [u8]>]) -> Result<(), Error>) -> Result<(), Error> {
        let mut rows = 0;
        for batch in &self.batches {
            for row in 0..batch.num_rows() {
                let cells = batch.columns().iter().zip(&self.left_out);
                let cells: Vec<Cow<'_, [u8]>> = cells
                    .map(|(array, left_out)| if *left_out { Cow::Borrowed(&b""[..]) } else { cell::of(array, row) })
                    .collect();
                rows += 1;
                each(rows + 1, &cells)?;
            }
        }
        Ok(())
    }
}

/// A table, or what is wrong with its file.
type Table = Result<(Schema, Vec<RecordBatch>), String>;

fn parquet(bytes: Vec<u8>, most: usize) -> Table {
    let bytes = Bytes::from(bytes);
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).map_err(told)?;
    pages::check(&bytes, builder.metadata())?;
    let schema = builder.schema().as_ref().clone();
    all(schema, builder.build().map_err(told)?, most)
}

/// All batches, of at most so many rows: columns of nulls cost no bytes, and a broken file can claim any number of them.
fn all(schema: Schema, reader: impl Iterator<Item = Result<RecordBatch, ArrowError>>, most: usize) -> Table {
    let (mut batches, mut rows) = (Vec::new(), 0_usize);
    for batch in reader {
        let batch = batch.map_err(told)?;
        rows = rows.saturating_add(batch.num_rows());
        if rows > most {
            return Err(format!("too many rows: {rows}"));
        }
        batches.push(batch);
    }
    Ok((schema, batches))
}

/// What these crates say, in one line that is not too long.
fn told(error: impl std::fmt::Display) -> String {
    const LONGEST: usize = 200;
    let text = error.to_string();
    text.trim_end_matches('.').chars().take(LONGEST).flat_map(char::escape_debug).collect()
}

/// Whether the caller, or the layout of a model, says that a column is not read.
fn is_ignored(name: &str, options: &ReadOptions) -> bool {
    let by_layout = options.layout.iter().flat_map(|layout| layout.with(Role::Ignored)).any(|column| column.name == name);
    by_layout || options.columns.ignore.iter().flatten().any(|ignored| ignored == name)
}
