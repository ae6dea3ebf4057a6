//! What can be said of the columns of a file: the same for readers, configurations and command lines.

use serde::{Deserialize, Serialize};

use crate::{Duplicates, Shape, TimeFormat};

impl Columns {
    /// The columns that name a case, of a file with columns of these names: a name with a comma in it is one column if there is one that is called so.
    pub(crate) fn ids(&self, names: &[String]) -> Vec<String> {
        match &self.id {
            None => Vec::new(),
            Some(id) if names.contains(id) => vec![id.clone()],
            Some(ids) => ids.split(',').map(|id| id.trim().to_owned()).collect(),
        }
    }
}

/// Declares what can be said: the key in a configuration, the field, its type and its meaning.
macro_rules! columns {
    ($($(#[doc = $doc:literal])* $key:literal => $field:ident: $type:ty,)*) => {
        /// What is said of the columns of a file; what is not said is found out from the file.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Columns {
            $($(#[doc = $doc])* #[serde(rename = $key, skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
        }

        impl Columns {
            /// The keys in a configuration, what they mean, and their types.
            pub const KEYS: &[(&'static str, &'static str, &'static str)] = &[$(($key, concat!($($doc),*), stringify!($type)),)*];

            /// What is said here, and what only the other says.
            #[must_use]
            pub fn over(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)* }
            }
        }
    };
}

columns! {
    /// The column (csv) or array (npz) with the name of a case, or several columns (`site,device`); `none` if all rows of a csv file are one.
    "id_column" => id: String,
    /// The column (csv) or array (npz) with times, or two with dates and times of day (`date,clock`); `none` if rows are to be counted.
    "time_column" => time: String,
    /// The column (csv) or array (npz) with labels; `none` if there is none.
    "label_column" => label: String,
    /// The columns that are static covariates, a text column by its name or by those of its categories.
    "statics" => statics: Vec<String>,
    /// The column that says which series belong together: they stay on one side of every split, and are left out together.
    "group_column" => group: String,
    /// Columns that are not read.
    "ignore" => ignore: Vec<String>,
    /// All columns that are channels.
    "channels" => channels: Vec<String>,
    /// Whether the rows of a case are sorted by time; else times that decrease are refused.
    "sort" => sort: bool,
    /// What happens to several rows of one case and time: `refuse`, `first`, `last` or `mean`.
    "duplicates" => duplicates: Duplicates,
    /// How times are written: `number`, `iso`, `us`, `european`, `compact`, `unix`, `unix-ms`, `month`, `named-month` or `clock`.
    "time_format" => time_format: TimeFormat,
    /// The mark before fractions: `.` or `,`.
    "decimal" => decimal: char,
    /// The column that holds tokens: words, or integers that stand for something; of arrays of integers any name.
    "tokens" => tokens: String,
    /// Whether a token that training did not see is taken for `<unknown>`, and a category for none of those it saw; no by default: it is an error.
    "unknown" => unknown: bool,
    /// Texts or numbers that stand for a missing value, such as `9999`, beside the usual ones.
    "missing_cells" => missing: Vec<String>,
    /// How a table holds its series: `long` (a row an observation), `wide` (a row a series, a column a time step) or `melted` (a row a value, with the name of its channel).
    "shape" => shape: Shape,
    /// The zone of dates without an offset, such as `Europe/Berlin`; else they are taken as UTC.
    "time_zone" => time_zone: String,
    /// Whether an array of three axes is `[cases, channels, length]`; else it is `[cases, length, channels]`.
    "channels_first" => channels_first: bool,
}
