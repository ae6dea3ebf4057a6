//! What can be said of the columns of a file, the same after every verb that reads files.

use clap::Args;
use ncde_data::{Columns, Duplicates, ReadOptions, Shape, TimeFormat};

use super::named;

/// Each goes before what a model remembers of the file it was trained on.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Columns of a CSV file (what is not said is what the model remembers, or a guess that is told)")]
pub(crate) struct ColumnArgs {
    /// The column that names the series, or several (`site,device`); `none` if all rows are one
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,

    /// The column with times, or those with dates and with times of day (`date,clock`); `none` if rows are to be counted
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

    /// The zone of dates without an offset, such as Europe/Berlin; else they are taken as UTC
    #[arg(long, value_name = "ZONE")]
    pub(crate) time_zone: Option<String>,

    /// Texts or numbers that stand for a missing value, beside the usual ones (`9999,-999`)
    #[arg(long, value_name = "CELL,...", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) missing: Option<Vec<String>>,

    /// What a row is: an observation (`long`), a series (`wide`), or a value with the name of its channel (`melted`)
    #[arg(long, value_name = "SHAPE", value_parser = named(&Shape::ALL))]
    pub(crate) shape: Option<Shape>,

    /// Whether arrays are `[cases, channels, length]`
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) channels_first: Option<bool>,
}

impl ColumnArgs {
    /// What is said here.
    pub(crate) fn columns(&self) -> Columns {
        let own = self.clone();
        Columns {
            id: own.id,
            time: own.time,
            label: own.label,
            statics: own.statics,
            group: own.group,
            ignore: own.ignore,
            channels: own.channels,
            sort: own.sort.then_some(true),
            duplicates: own.duplicates,
            time_format: own.time_format,
            decimal: own.decimal,
            time_zone: own.time_zone,
            missing: own.missing,
            shape: own.shape,
            channels_first: own.channels_first,
            ..Columns::default()
        }
    }

    /// These options, with what is said here first.
    pub(crate) fn over(&self, options: ReadOptions) -> ReadOptions {
        ReadOptions { columns: self.columns().over(options.columns), ..options }
    }
}
