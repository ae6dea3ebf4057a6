//! `ncde report`: one page from run records.

use ncde_report::RunRecord;

use super::train::write_report;
use crate::args::ReportArgs;
use crate::error::Failure;
use crate::output;

pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    let mut records = Vec::new();
    for path in &args.runs {
        let file = if path.is_dir() { path.join("run.json") } else { path.clone() };
        records.push(RunRecord::read(&file)?);
    }
    let page = write_report(&records, &args.output)?;
    output::data(|out| writeln!(out, "{}\n{}", page.display(), page.with_extension("md").display()))
}
