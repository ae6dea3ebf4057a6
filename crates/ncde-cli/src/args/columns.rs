//! What can be said of the columns of a file, the same after every verb that reads files.

use clap::Args;
use ncde_data::{Columns, Duplicates, ReadOptions, TimeFormat};

use super::named;

/// Each goes before what a model remembers of the file it was trained on.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Columns of a CSV file (what is not said is what the model remembers, or a guess that is told)")]
pub(crate) struct ColumnArgs {
    /// The column that names the series, or several (`site,device`); `none` if all rows are one
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,

    /// The column with times; `none` if rows are to be counted
    #[arg(long, value_name = "COLUMN")]
    pub(crate) time: Option<String>,

    /// The column with labels; `none` if there is none
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,

    /// The columns that are static covariates
    #[arg(long = "static", value_name = "COLUMN,...", value_delimiter = ',')]
    pub(crate) statics: Option<Vec<String>>,

    /// The column that says which series belong together: they are on one side of every split
    #[arg(long, value_name = "COLUMN")]
    pub(crate) group: Option<String>,

    /// Columns that are not read
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    pub(crate) ignore: Option<Vec<String>>,

    /// All columns that are channels
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    pub(crate) channels: Option<Vec<String>>,

    /// Sort the rows of a series by time, instead of refusing times that decrease
    #[arg(long)]
    pub(crate) sort: bool,

    /// What happens to several rows of one series and time
    #[arg(long, value_name = "WHAT", value_parser = named(&Duplicates::ALL))]
    pub(crate) duplicates: Option<Duplicates>,

    /// How times are written
    #[arg(long, value_name = "FORMAT", value_parser = named(&TimeFormat::ALL))]
    pub(crate) time_format: Option<TimeFormat>,

    /// The mark before fractions
    #[arg(long, value_name = "MARK", value_parser = named(&[(".", '.'), (",", ',')]))]
    pub(crate) decimal: Option<char>,
}

impl ColumnArgs {
    /// What is said here.
    pub(crate) fn columns(&self) -> Columns {
        let Self { id, time, label, statics, group, ignore, channels, sort, duplicates, time_format, decimal } = self.clone();
        let sort = sort.then_some(true);
        Columns {
            id,
            time,
            label,
            statics,
            group,
            ignore,
            channels,
            sort,
            duplicates,
            time_format,
            decimal,
            ..Columns::default()
        }
    }

    /// These options, with what is said here first.
    pub(crate) fn over(&self, options: ReadOptions) -> ReadOptions {
        ReadOptions { columns: self.columns().over(options.columns), ..options }
    }
}
