//! How a model's files are read: what it remembers of the file it was trained on, and what is told of a reading.

use ncde_data::{Columns, Layout, Loaded, ReadOptions, Schema};
use ncde_runtime::{ModelSpec, Task};

use crate::args::ColumnArgs;
use crate::error::Failure;
use crate::output;

/// What the model was trained on.
pub(crate) fn of(spec: &ModelSpec) -> Result<Schema, Failure> {
    let layout = |value: &serde_json::Value| serde_json::from_value::<Layout>(value.clone());
    let table = spec.schema.as_ref().map(layout).transpose();
    let classes = match &spec.task {
        Task::Classification { classes, .. } => classes.clone(),
        Task::Regression { .. } | Task::Forecast { .. } => Vec::new(),
    };
    Ok(Schema {
        channels: spec.channels.clone(),
        statics: spec.statics.clone(),
        classes,
        vocabulary: spec.vocabulary.clone(),
        table: table.map_err(|e| Failure::Refused(format!("`{}`: its `schema` is of no use: {e}", ncde_runtime::SPEC)))?,
    })
}

/// How a file for the model is read.
pub(crate) fn options(spec: &ModelSpec, schema: &Schema, columns: &ColumnArgs) -> ReadOptions {
    // A model that was trained on a file of another kind says names only.
    let named = schema.table.is_none();
    columns.over(ReadOptions {
        columns: Columns {
            statics: (named && !spec.statics.is_empty()).then(|| spec.statics.clone()),
            tokens: spec.vocabulary.as_ref().filter(|_| named).and(spec.channels.first().cloned()),
            ..Columns::default()
        },
        task: Some(ncde_train::task_name(&spec.task)),
        layout: schema.table.clone(),
        ..ReadOptions::default()
    })
}

/// How a file was read: the schema, and every guess that could be wrong.
pub(crate) fn told(loaded: &Loaded) -> Vec<String> {
    loaded.layout.iter().map(|layout| format!("schema: {layout}")).chain(warned(loaded)).collect()
}

/// Says how a file was read.
pub(crate) fn tell(loaded: &Loaded) {
    told(loaded).iter().for_each(|line| output::info(line));
}

/// Says every guess that could be wrong in a file that is read for a model. If the model was trained on a file without columns, all of them are guesses.
pub(crate) fn warn_for(schema: &Schema, loaded: &Loaded) {
    if let (None, Some(layout)) = (&schema.table, &loaded.layout) {
        output::warn(&format!(
            "warning: the model was trained on a file that has no columns, so those of this one are guessed: {layout}; if that is wrong, \
             say what they are (`--id`, `--time`, `--label`)"
        ));
    }
    warn(loaded);
}

/// Says every guess that could be wrong.
pub(crate) fn warn(loaded: &Loaded) {
    warned(loaded).iter().for_each(|line| output::info(line));
}

/// Every guess that could be wrong.
pub(crate) fn warned(loaded: &Loaded) -> Vec<String> {
    loaded.warnings.iter().map(|warning| format!("warning: {warning}")).collect()
}
