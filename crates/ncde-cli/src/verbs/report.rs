//! `ncde report`: one page, or Markdown, from run records.

use std::path::{Path, PathBuf};

use ncde_report::RunRecord;

use crate::args::ReportArgs;
use crate::error::Failure;
use crate::output;

pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    let page = match args.output.extension().and_then(|ending| ending.to_str()) {
        Some("html" | "htm") => true,
        Some("md" | "markdown") => false,
        _ => {
            return Err(Failure::Refused(format!("`{}`: reports are written as .html or .md", args.output.display())));
        }
    };
    let mut records = Vec::new();
    for path in &args.runs {
        let (file, folder) = match (path.is_dir(), path.parent()) {
            (true, _) => (path.join("run.json"), path.as_path()),
            (false, parent) => (path.clone(), parent.unwrap_or(Path::new(""))),
        };
        records.push(RunRecord { directory: folder.display().to_string(), ..RunRecord::read(&file)? });
    }
    let texts = if page {
        vec![
            (args.output.clone(), ncde_report::html(&records)),
            (args.output.with_extension("md"), ncde_report::markdown(&records)),
        ]
    } else {
        vec![(args.output.clone(), ncde_report::markdown(&records))]
    };
    if let Some((path, _)) = texts.iter().find(|(path, _)| is_foreign(path)) {
        return Err(Failure::Refused(format!(
            "`{}` is there and is no report of ncde, so it is not overwritten; name another file (`--output FILE`)",
            path.display()
        )));
    }
    write_all(&texts)?;
    output::data(|out| texts.iter().try_for_each(|(path, _)| writeln!(out, "{}", path.display())))
}

/// Writes the page of a run and its Markdown into its own directory; the path of the page.
pub(crate) fn write_in(directory: &Path, record: &RunRecord) -> Result<PathBuf, Failure> {
    let (page, records) = (directory.join("report.html"), std::slice::from_ref(record));
    write_all(&[(page.clone(), ncde_report::html(records)), (page.with_extension("md"), ncde_report::markdown(records))])?;
    Ok(page)
}

fn write_all(texts: &[(PathBuf, String)]) -> Result<(), Failure> {
    texts.iter().try_for_each(|(path, text)| {
        ncde_files::write_whole(path, text.as_bytes()).map_err(|source| Failure::Write { path: path.clone(), source })
    })
}

/// Whether something is there that was not written by this verb.
fn is_foreign(path: &Path) -> bool {
    path.exists() && !std::fs::read_to_string(path).is_ok_and(|text| ncde_report::is_report(&text))
}
