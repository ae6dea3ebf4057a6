//! A dataset into a file: csv, `.ts` or `.npz`, packed if the name ends in `.gz`.
//!
//! | | csv | ts | npz |
//! | --- | --- | --- | --- |
//! | ids, names of channels | kept | numbered | kept |
//! | static covariates | on first rows | no place | kept |
//! | labels of observations | kept | no place | kept |
//! | order of classes | sorted when read | kept | kept |
//! | tokens | words | no place | numbers, and the words of the vocabulary |
//!
//! What a format has no place for is an error, but for ids and names in `.ts`. A csv file does not say which columns are
//! static: give the reader their names, or let it find them. Nor does it say that integers are tokens, or `NA`: give the
//! reader the name of the column; its vocabulary is made of the tokens that are there.

mod csv;
mod npz;
mod ts;

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ncde_files::Whole;

use crate::error::shown;
use crate::{Dataset, Error, Format};

/// Writes a dataset, whole or not at all.
///
/// ```
/// use ncde_data::{Format, ReadOptions, read, read_bytes, write};
/// let data = read_bytes("two.csv", b"id,time,x\na,0,1.5\na,2,\nb,0,3\n", &ReadOptions::default())?;
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("two.npz");
/// write(&data, &file, Format::Npz)?;
/// assert_eq!(read(&file, &ReadOptions::default())?.cases[0].times, [0.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::CannotHold`] if the format has no place for something, [`Error::Write`] if writing fails.
pub fn write(data: &Dataset, path: impl AsRef<Path>, format: Format) -> Result<(), Error> {
    let path = path.as_ref();
    check_tokens(data, format)?;
    match format {
        Format::Csv => csv::check(data)?,
        Format::Ts => ts::check(data)?,
        Format::Npz => npz::check(data)?,
        Format::Arff | Format::Json | Format::Npy | Format::Parquet | Format::Arrow => {
            return Err(cannot(data, format, "this format is only read".into(), "write csv, ts or npz"));
        }
    }
    let failed = |source| Error::Write { file: path.display().to_string(), source };
    let mut file = Whole::create(path).map_err(failed)?;
    let is_packed = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    let written = if is_packed { packed(data, &mut file, format) } else { plain(data, &mut file, format) };
    written.and_then(|()| file.finish()).map_err(failed)
}

fn plain(data: &Dataset, out: &mut Whole, format: Format) -> io::Result<()> {
    match format {
        Format::Csv => csv::write(data, out),
        Format::Ts => ts::write(data, out),
        _ => npz::write(data, out),
    }
}

fn packed(data: &Dataset, file: &mut Whole, format: Format) -> io::Result<()> {
    let mut out = GzEncoder::new(file, Compression::default());
    match format {
        Format::Csv => csv::write(data, &mut out)?,
        Format::Ts => ts::write(data, &mut out)?,
        _ => {
            // An archive is written with a list at its end that points back.
            let mut archive = io::Cursor::new(Vec::new());
            npz::write(data, &mut archive)?;
            out.write_all(archive.get_ref())?;
        }
    }
    out.finish().map(|_| ())
}

fn cannot(data: &Dataset, format: Format, why: String, fix: &'static str) -> Error {
    Error::CannotHold { name: data.name.clone(), format: format.extension(), why, fix }
}

/// With a vocabulary there is one channel, and each value is a token.
fn check_tokens(data: &Dataset, format: Format) -> Result<(), Error> {
    if data.vocabulary.is_none() {
        return Ok(());
    }
    if data.channels.len() != 1 {
        let why = format!("it has a vocabulary and {} channels", data.channels.len());
        return Err(cannot(data, format, why, "tokens are one channel"));
    }
    for case in &data.cases {
        if let Some(i) = case.values.iter().position(|&x| data.token(x).is_none()) {
            let (x, id) = (case.values[i], shown(&case.id));
            let why = format!("observation {} of case `{id}` is `{x}`, which is no token", i + 1);
            return Err(cannot(data, format, why, "values must count the vocabulary from 0"));
        }
    }
    Ok(())
}

/// A number as readers take it; `missing` if there is none.
fn number(out: &mut impl Write, x: f64, missing: &str) -> io::Result<()> {
    let size = x.abs();
    if x.is_nan() {
        out.write_all(missing.as_bytes())
    } else if size == 0.0 || (1e-5..1e16).contains(&size) {
        write!(out, "{x}")
    } else {
        write!(out, "{x:e}")
    }
}
