//! How files for a saved model are read: as the file that it was trained on.

use ncde_data::{Columns, Layout, ReadOptions, Schema};
use ncde_runtime::{ModelSpec, SPEC, Task};

use super::Error;
use super::settings::task_name;

/// What a model was trained on.
///
/// # Errors
/// If the layout that the model remembers is none.
pub fn schema_of(spec: &ModelSpec) -> Result<Schema, Error> {
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
        table: table.map_err(|e| Error::Unfit(format!("`{SPEC}`: its `schema` is of no use: {e}")))?,
    })
}

/// How a file for a model is read, if nothing is said of its columns.
pub fn options_of(spec: &ModelSpec, schema: &Schema) -> ReadOptions {
    // A model that was trained on a file of another kind says names only.
    let named = schema.table.is_none();
    ReadOptions {
        columns: Columns {
            statics: (named && !spec.statics.is_empty()).then(|| spec.statics.clone()),
            tokens: spec.vocabulary.as_ref().filter(|_| named).and(spec.channels.first().cloned()),
            ..Columns::default()
        },
        task: Some(task_name(&spec.task)),
        layout: schema.table.clone(),
        ..ReadOptions::default()
    }
}
