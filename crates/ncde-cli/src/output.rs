//! The two ways out: data on stdout, talk on stderr. `--quiet` silences talk, but no warning and no error.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Failure;

/// The width of a table that nobody is looking at.
const DEFAULT_WIDTH: usize = 80;

/// Writes data to stdout.
pub(crate) fn data(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(Failure::Stdout)
}

/// Whether talk is left out; decided once, at the start.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Leaves out talk from here on.
pub(crate) fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether talk is left out.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Says one line on stderr, unless nobody wants to hear it.
pub(crate) fn talk(line: &str) {
    if !is_quiet() {
        complain(line);
    }
}

/// Says one line on stderr that must be heard: an error, or a warning.
pub(crate) fn complain(line: &str) {
    // If even stderr is gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Says it only to a person: nothing is written if stderr is not a terminal.
pub(crate) fn mention(line: &str) {
    if io::stderr().is_terminal() {
        talk(line);
    }
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
    let asked = std::env::var("COLUMNS").ok();
    asked
        .and_then(|columns| columns.parse().ok())
        .or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
        .unwrap_or(DEFAULT_WIDTH)
}
