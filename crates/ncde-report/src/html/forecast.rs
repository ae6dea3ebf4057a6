//! Forecasts by horizon and channel, beside naive ones.

use super::{Column, card, table};
use crate::ahead;
use crate::escape::html as escaped;
use crate::metrics::Forecast;

/// Writes the tables of forecasts.
pub(super) fn cards(page: &mut String, metrics: &Forecast) {
    for own in ahead::tables(metrics) {
        let columns: Vec<(&str, Column)> = own
            .header
            .iter()
            .enumerate()
            .map(|(i, title)| (title.as_str(), if i == 0 { Column::Text } else { Column::Number }))
            .collect();
        let note = format!("<p class=\"soft\">{}</p>", escaped(&ahead::legend(metrics)));
        card(page, own.title, Some(table(&columns, own.rows.into_iter()) + &note), " wide");
    }
}
