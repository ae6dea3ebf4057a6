//! `ncde report`: one page, or Markdown, from run records.

use std::path::{Path, PathBuf};

use ncde_report::{RunRecord, html, is_report, json, markdown};

use crate::args::ReportArgs;
use crate::error::{Failure, refuse};
use crate::output;

pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    let page = match args.output.extension().and_then(|ending| ending.to_str()) {
        Some("html" | "htm") => true,
        Some("md" | "markdown") => false,
        _ => {
            refuse!("`{}`: reports are written as .html or .md", args.output.display());
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
    let texts = if page { page_and_texts(&args.output, &records) } else { vec![(args.output.clone(), markdown(&records))] };
    if let Some((path, _)) = texts.iter().find(|(path, _)| is_foreign(path)) {
        refuse!(
            "`{}` is there and is no report of ncde, so it is not overwritten; name another file (`--output FILE`)",
            path.display()
        );
    }
    write_all(&texts)?;
    output::data(|out| texts.iter().try_for_each(|(path, _)| writeln!(out, "{}", path.display())))
}

/// Writes the page of a run and its Markdown into its own directory; the path of the page.
pub(crate) fn write_in(directory: &Path, record: &RunRecord) -> Result<PathBuf, Failure> {
    let page = directory.join("report.html");
    write_all(&page_and_texts(&page, std::slice::from_ref(record)))?;
    Ok(page)
}

fn page_and_texts(page: &Path, records: &[RunRecord]) -> Vec<(PathBuf, String)> {
    let beside = [("md", markdown(records)), ("json", json(records))];
    let beside = beside.map(|(extension, text)| (page.with_extension(extension), text));
    std::iter::once((page.into(), html(records))).chain(beside).collect()
}

fn write_all(texts: &[(PathBuf, String)]) -> Result<(), Failure> {
    texts.iter().try_for_each(|(path, text)| output::file(path, text))
}

/// Whether something is there that was not written by this verb.
fn is_foreign(path: &Path) -> bool {
    path.exists() && !std::fs::read_to_string(path).is_ok_and(|text| is_report(&text))
}
