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
    if !data.roles.is_empty() {
        let columns = [("column", Column::Name), ("role", Column::Name), ("what it holds", Column::Name)];
        let rows = data.roles.iter().take(ROWS).map(|role| role.to_vec());
        card(page, "Columns of the file", Some(table(&columns, rows) + &more(data.roles.len().saturating_sub(ROWS))), "");
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
        let left_out = (data.channels + data.statics).saturating_sub(data.columns.len());
        card(page, "Channels", Some(table(&columns, rows) + &more(left_out)), "");
    }
}

/// Says how many rows a table does not show.
fn more(left_out: usize) -> String {
    if left_out > 0 { format!("<p class=\"soft\">{} more are not shown.</p>", count(left_out)) } else { String::new() }
}
