//! How this program is started again: a binary, or an interpreter with a module.

use std::ffi::OsString;
use std::process::Command;
use std::sync::OnceLock;

static PROGRAM: OnceLock<Vec<OsString>> = OnceLock::new();

/// Decided once, at the start.
pub(crate) fn set(program: Vec<OsString>) {
    let _ = PROGRAM.set(program);
}

/// The words that start it; an error if they are not known.
pub(crate) fn words() -> Result<&'static [OsString], String> {
    PROGRAM.get().filter(|words| !words.is_empty()).map(Vec::as_slice).ok_or_else(|| "cannot find this program".to_owned())
}

/// A process of it.
pub(crate) fn command() -> Result<Command, String> {
    let words = words()?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    Ok(command)
}
