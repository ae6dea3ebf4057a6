//! From bytes to lines, cells, numbers and times: what all text formats share.

pub(crate) mod cells;
mod date;
pub(crate) mod encoding;
pub(crate) mod formats;
pub(crate) mod lines;
pub(crate) mod marks;
pub(crate) mod missing;
pub(crate) mod number;
pub(crate) mod time;
pub(crate) mod unit;
pub(crate) mod zone;
