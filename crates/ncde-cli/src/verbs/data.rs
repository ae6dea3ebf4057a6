//! `ncde data`: what a file of series holds, and other formats.

use ncde_data::{Format, ReadOptions};

use crate::args::DataArgs;
use crate::error::Failure;
use crate::{output, schema};

pub(crate) fn run(args: &DataArgs) -> Result<(), Failure> {
    let data = match &args.file {
        Some(file) => {
            let options = match &args.model {
                None => args.columns.over(ReadOptions::default()),
                Some(model) => {
                    let spec = ncde_runtime::Model::load(model)?.spec().clone();
                    args.columns.over(ncde_train::options_of(&spec, &ncde_train::schema_of(&spec)?))
                }
            };
            let loaded = ncde_data::load(file, &ReadOptions { labels: args.labels.clone(), ..options })?;
            if args.output.is_none() {
                schema::tell(&loaded);
            } else {
                schema::warn(&loaded);
            }
            loaded.data
        }
        None => ncde_train::demo::turns(0),
    };
    if let Some(path) = &args.output {
        let format = Format::of(path).ok_or_else(|| {
            Failure::Refused(format!("`{}`: the extension says no format; use .csv, .ts or .npz", path.display()))
        })?;
        ncde_data::write(&data, path, format)?;
        output::hint(&format!("{} cases in `{}`", data.cases.len(), path.display()));
        return Ok(());
    }
    let summary = data.summary();
    if args.json { output::json(&summary) } else { output::data(|out| write!(out, "{summary}")) }
}
