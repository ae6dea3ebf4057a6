//! How a table holds its series.

use serde::{Deserialize, Serialize};

/// How a table holds its series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A row an observation: `id,time,x,y,label`.
    #[default]
    Long,
    /// A row a series, a column a time step: `id,label,t0,t1,t2,...`.
    Wide,
    /// A row a value, with the name of its channel: `id,time,variable,value`.
    Melted,
}

impl Shape {
    /// All of them, with what each is called.
    pub const ALL: [(&'static str, Self); 3] = [("long", Self::Long), ("wide", Self::Wide), ("melted", Self::Melted)];

    pub(crate) fn is_long(&self) -> bool {
        *self == Self::Long
    }
}
