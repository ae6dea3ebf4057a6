//! Forecasts in tables: by horizon, channel and series, beside the naive ones.

use crate::format::{MISSING, capital, number, percent};
use crate::metrics::{Errors, Forecast};
use crate::summary::series_counted;
use crate::tables::{Column, Table};

/// The most rows of a table: horizons are left out in between.
const ROWS: usize = 12;

/// What goes beside the headline: the variance explained, coverage, series.
pub(crate) fn certainty(metrics: &Forecast) -> String {
    let mut parts = Vec::new();
    parts.extend(metrics.r2.map(|r2| format!("R\u{b2} {}", number(r2))));
    if let (Some(level), Some(coverage)) = (metrics.level, metrics.coverage) {
        parts.push(format!("{:.0} % intervals hold {}", 100.0 * level, percent(coverage)));
    }
    parts.push(series_counted(metrics.cases));
    parts.join("; ")
}

/// The tables with their titles: by horizon, and by channel and series where there are several.
pub(crate) fn tables(metrics: &Forecast) -> Vec<(&'static str, Table)> {
    let scaled = metrics.mase.is_some();
    let shown = |value: Option<f64>| value.map_or(MISSING.into(), number);
    // Of a horizon that no case reaches nothing was compared.
    let mae = |mean: &Errors| (mean.numbers > 0).then_some(mean.mae);
    let error = |mean: &Errors| shown(if scaled { mean.mase } else { mae(mean) });
    let unit = if scaled { "MASE" } else { "MAE" };
    let mut columns = vec![unit];
    columns.extend(metrics.naive.iter().map(|naive| naive.name.as_str()));
    columns.extend(["R\u{b2}", "MAE"]);
    columns.extend(metrics.level.map(|_| "covered"));
    let row = |(name, means): (String, &Vec<Errors>)| -> Vec<String> {
        let mut cells = vec![name];
        cells.extend(means.iter().map(error));
        let model = means.first();
        cells.extend([shown(model.and_then(|errors| errors.r2)), shown(model.and_then(mae))]);
        // A cell for each column, whether the horizon has a coverage or not.
        cells.extend(metrics.level.map(|_| model.and_then(|errors| errors.coverage).map_or(MISSING.into(), percent)));
        cells
    };
    let horizons = metrics.by_horizon();
    let rows = ROWS.min(horizons.len());
    let chosen = (0..rows).map(|i| &horizons[i * (horizons.len() - 1) / (rows - 1).max(1)]);
    let channels = metrics.by_channel();
    let several = if channels.len() > 1 { &channels[..] } else { &[] };
    let parts: [(_, _, Vec<Vec<String>>); 3] = [
        ("By horizon", "ahead", chosen.map(|(k, means)| row((k.to_string(), means))).collect()),
        ("By channel", "channel", several.iter().map(|(name, means)| row(((*name).to_owned(), means))).collect()),
        (
            "By series, the furthest off first",
            "series",
            metrics.series.iter().take(ROWS).map(|series| row((series.id.clone(), &series.errors))).collect(),
        ),
    ];
    let table = |first, rows| Table::of_numbers((first, Column::Name), columns.iter().copied(), rows);
    parts.into_iter().filter(|(_, _, rows)| !rows.is_empty()).map(|(title, first, rows)| (title, table(first, rows))).collect()
}

/// What the columns mean.
pub(crate) fn legend(metrics: &Forecast) -> String {
    let mut words = "MASE is the mean size of the error in units of ".to_owned();
    words += &match metrics.period {
        Some(period) => format!("that of the seasonal naive forecast (the value {period} observations before)"),
        None => "that of repeating the last value once".to_owned(),
    };
    words += " on the training part, below 1 is better than that; beside it that of naive forecasts. R\u{b2} is the mean of those of the channels.";
    if let Some(level) = metrics.level {
        words += &format!(" Covered: the share of values in the {:.0} % intervals.", 100.0 * level);
    }
    capital(&words)
}
