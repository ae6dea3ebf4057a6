//! `ncde completions`: scripts that complete commands.

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::error::Failure;
use crate::output;

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ncde", &mut script);
    output::data(|out| out.write_all(&script))
}
