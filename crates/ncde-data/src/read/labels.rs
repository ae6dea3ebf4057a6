//! A file of labels beside the data: `id,label[,statics...]`, a row for each case.

use std::collections::HashMap;
use std::path::Path;

use super::long::{FileKind, Header, Table, begin, expand, groups};
use super::{Input, Loaded, ReadOptions, columnar, in_any_encoding};
use crate::error::{at_field, at_line, more, shown};
use crate::label::{Label, Unlabelled};
use crate::schema::Role;
use crate::{Dataset, Error, Targets};

/// The dataset with targets and statics of the file of labels.
pub(super) fn attach(mut loaded: Loaded, file: &str, labels: &Path, options: &ReadOptions) -> Result<Loaded, Error> {
    let data = &mut loaded.data;
    let shown_labels = labels.display().to_string();
    if data.targets != Targets::None {
        return Err(Error::LabelsTwice { file: file.into(), labels: shown_labels });
    }
    let input = columnar::table(Input::of(labels)?, labels, options)?;
    let ((table, header, warnings), encoding) = in_any_encoding(vec![input], |inputs| {
        let (input, mut header) = (&inputs[0], [Header::of(&inputs[0])?]);
        let (mut table, warnings) = begin(&[input], &mut header, FileKind::Labels, options)?;
        let [header] = header;
        table.take(input, &header, None)?;
        Ok((table, header, warnings))
    })?;
    loaded.warnings.extend(warnings.into_iter().chain(encoding));
    let mut rows = order(data, &table, &shown_labels)?;
    if let Some(column) = table.labels.as_ref().filter(|_| options.reads_labels()) {
        let labels_of = |rows: &[usize]| -> Vec<Label> { rows.iter().map(|&row| table.cases[row].labels[0]).collect() };
        if let Some(unlabelled) = Unlabelled::of(&labels_of(&rows)) {
            unlabelled.leave_out(&mut data.cases);
            unlabelled.leave_out(&mut rows);
            if let Some(groups) = &mut data.groups {
                unlabelled.leave_out(groups);
            }
            loaded.warnings.push(unlabelled.warning);
        }
        let place = |i: usize| {
            let field = format!("column `{}`", column.name);
            at_field(&shown_labels, table.cases[rows[i]].line, field)
        };
        data.targets = column.of_cases(&labels_of(&rows), options.task, |i| data.cases[i].id.clone(), place)?;
    }
    if data.groups.is_none() {
        data.groups = groups(rows.iter().map(|&row| &table.cases[row]), &shown_labels)?;
        if let (None, Some(group), None) = (&data.groups, &options.columns.group, &options.layout) {
            return Err(Error::no_column(&shown_labels, Role::Group.plural(), group, &header.names));
        }
    }
    let (names, numbers) = expand(&table)?;
    if let Some(name) = names.iter().find(|name| data.channels.contains(name) || data.statics.contains(name)) {
        let seen = format!("column `{}` is also one of the data", shown(name));
        return Err(Error::header(at_line(&shown_labels, 1), seen, "give it once, or rename it"));
    }
    // A later file may have them among its own columns.
    if let Some(layout) = &mut loaded.layout {
        layout.columns.extend(table.statics_found()?);
    }
    for (case, &row) in data.cases.iter_mut().zip(&rows) {
        case.statics.extend(&numbers[row]);
    }
    data.statics.extend(names);
    Ok(loaded)
}

/// The row of each case.
fn order(data: &Dataset, table: &Table, labels: &str) -> Result<Vec<usize>, Error> {
    let mut row_of: HashMap<&str, usize> = table.cases.iter().enumerate().map(|(i, row)| (row.id.as_str(), i)).collect();
    let rows: Vec<Option<usize>> = data.cases.iter().map(|case| row_of.remove(case.id.as_str())).collect();
    if let Some(i) = rows.iter().position(Option::is_none) {
        let others = rows.iter().filter(|row| row.is_none()).count() - 1;
        let id = shown(&data.cases[i].id);
        return Err(Error::MissingId { file: labels.into(), id, more: more(others) });
    }
    if let Some(&extra) = row_of.values().min() {
        let row = &table.cases[extra];
        return Err(Error::UnknownId { at: at_line(labels, row.line), id: shown(&row.id), more: more(row_of.len() - 1) });
    }
    Ok(rows.into_iter().flatten().collect())
}
