//! Times in answers, written as in the files that a model reads.

use ncde_data::{Cells, Clock, Layout, Role, TimeFormat};

const DAY: f64 = 86_400.0;

/// How times are written.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    /// Whose zone they are in.
    layout: Option<Layout>,
    format: TimeFormat,
    /// Whether dates come without a time of day.
    is_daily: bool,
}

impl Times {
    /// As in the time column of a layout, or in ISO 8601 where there is none and times are dates; `steps` tells whole days from others.
    pub(crate) fn new(layout: Option<&Layout>, clock: Clock, mut steps: impl Iterator<Item = f64>) -> Self {
        let column = layout.and_then(|layout| layout.with(Role::Time).next());
        let format = match column.map(|column| &column.cells) {
            Some(Cells::Time { format, .. }) => *format,
            _ if clock == Clock::Dates => TimeFormat::Iso,
            _ => TimeFormat::Number,
        };
        Self { layout: layout.cloned(), format, is_daily: steps.all(|time| time % DAY == 0.0) }
    }

    pub(crate) fn text(&self, time: f64) -> String {
        let zoned = self.layout.as_ref().and_then(|layout| layout.written(time, self.is_daily));
        zoned.unwrap_or_else(|| self.format.written(time, self.is_daily))
    }

    /// For JSON: what is no date is a number.
    pub(crate) fn value(&self, time: f64) -> serde_json::Value {
        match self.format {
            TimeFormat::Number | TimeFormat::Unix => time.into(),
            TimeFormat::UnixMs => (time * 1000.0).into(),
            _ => self.text(time).into(),
        }
    }
}
