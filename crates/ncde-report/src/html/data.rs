//! What a run was trained on: cases of each part, channels with their ranges.

use super::{card, soft, table};
use crate::RunRecord;
use crate::format::{MISSING, count, number, percent};
use crate::tables::Column::{Name, Number};

/// The most classes that are counted.
const ROWS: usize = 40;

pub(super) fn cards(page: &mut String, run: &RunRecord) {
    let data = &run.data;
    if !data.counts.is_empty() {
        let row = |(class, [training, validation, test]): (usize, &[usize; 3])| {
            vec![run.class(class), count(*training), count(*validation), count(*test)]
        };
        let rows = data.counts.iter().enumerate().take(ROWS).map(row);
        let columns = [("class", Name), ("training", Number), ("validation", Number), ("test", Number)];
        card(page, "Cases of each class", Some(table(&columns, rows)), "");
    }
    if !data.roles.is_empty() {
        let columns = [("column", Name), ("role", Name), ("what it holds", Name)];
        let rows = data.roles.iter().take(ROWS).map(|role| role.to_vec());
        card(page, "Columns of the file", Some(table(&columns, rows) + &more(data.roles.len().saturating_sub(ROWS))), "");
    }
    if !data.columns.is_empty() {
        let rows = data.columns.iter().map(|column| {
            let [least, mean, largest] = column.range.map_or([(); 3].map(|()| MISSING.into()), |range| range.map(number));
            vec![column.name.clone(), least, mean, largest, percent(column.missing)]
        });
        let columns = [("channel", Name), ("least", Number), ("mean", Number), ("largest", Number), ("missing", Number)];
        let left_out = (data.channels + data.statics).saturating_sub(data.columns.len());
        card(page, "Channels", Some(table(&columns, rows) + &more(left_out)), "");
    }
}

fn more(left_out: usize) -> String {
    if left_out > 0 { soft(&format!("{} more are not shown.", count(left_out))) } else { String::new() }
}
