//! The two ways out: data on stdout, messages on stderr. `--quiet` silences messages, but no warning and no error.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::error::Failure;

/// The width of a table that nobody is looking at.
const DEFAULT_WIDTH: usize = 80;

pub(crate) fn data(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(Failure::Stdout)
}

/// Writes a line of JSON to stdout.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    data(|out| {
        serde_json::to_writer(&mut *out, value)?;
        writeln!(out)
    })
}

/// Writes a file, whole or not at all.
pub(crate) fn file(path: &Path, text: &str) -> Result<(), Failure> {
    ncde_files::write_whole(path, text.as_bytes()).map_err(|source| Failure::Write { path: path.into(), source })
}

/// Whether messages are left out; decided once, at the start.
static QUIET: AtomicBool = AtomicBool::new(false);

pub(crate) fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints one line on stderr, unless `--quiet` is set.
pub(crate) fn info(line: &str) {
    if !is_quiet() {
        warn(line);
    }
}

/// Prints an error or a warning on stderr, even with `--quiet`.
pub(crate) fn warn(line: &str) {
    // If even stderr is gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints one line on stderr if that is a terminal.
pub(crate) fn hint(line: &str) {
    if io::stderr().is_terminal() {
        info(line);
    }
}

/// A progress bar on stderr; hidden where that is no terminal, and with `--quiet`.
pub(crate) fn bar(length: u64, template: &str) -> ProgressBar {
    if is_quiet() || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(10));
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Prints one line above a bar.
pub(crate) fn above(bar: &ProgressBar, line: &str) {
    bar.suspend(|| info(line));
}

/// Whether stdout is read by a person.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// What a reader of stdout can show.
pub(crate) fn glyphs() -> ncde_report::Glyphs {
    if is_terminal() { ncde_report::Glyphs::Unicode } else { ncde_report::Glyphs::Ascii }
}

/// The width to which tables are laid out: `COLUMNS`, else the terminal's, else 80.
pub(crate) fn width() -> usize {
    std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok())
        .or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
        .unwrap_or(DEFAULT_WIDTH)
}
