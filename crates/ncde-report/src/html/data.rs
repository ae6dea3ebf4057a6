//! What a run was trained on: cases of each part, channels with their ranges.

use super::{Column, card, table};
use crate::RunRecord;
use crate::format::{MISSING, count, number, percent};

/// The most classes that are counted.
const ROWS: usize = 40;

/// Writes the summary of the data.
pub(super) fn cards(page: &mut String, run: &RunRecord) {
    let data = &run.data;
    if !data.counts.is_empty() {
        let rows = data
            .counts
            .iter()
            .enumerate()
            .take(ROWS)
            .map(|(class, counts)| std::iter::once(run.class(class)).chain(counts.iter().map(|own| count(*own))).collect());
        let columns =
            [("class", Column::Name), ("training", Column::Number), ("validation", Column::Number), ("test", Column::Number)];
        card(page, "Cases of each class", Some(table(&columns, rows)), "");
    }
    if !data.columns.is_empty() {
        let cell = |range: Option<[f64; 3]>, place: usize| range.map_or(MISSING.into(), |range| number(range[place]));
        let rows = data
            .columns
            .iter()
            .map(|own| vec![own.name.clone(), cell(own.range, 0), cell(own.range, 1), cell(own.range, 2), percent(own.missing)]);
        let columns = [
            ("channel", Column::Name),
            ("least", Column::Number),
            ("mean", Column::Number),
            ("largest", Column::Number),
            ("missing", Column::Number),
        ];
        let more = (data.channels + data.statics).saturating_sub(data.columns.len());
        let note = if more > 0 { format!("<p class=\"soft\">{} more are not shown.</p>", count(more)) } else { String::new() };
        card(page, "Channels", Some(table(&columns, rows) + &note), "");
    }
}
