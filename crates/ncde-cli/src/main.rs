//! The binary `ncde`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let program = std::env::current_exe().map(|program| vec![program.into()]).unwrap_or_default();
    ncde_cli::run(std::env::args_os().skip(1).collect(), program).into()
}
