//! What is told of how a file was read.

use ncde_data::{Loaded, Schema};

use crate::output;

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
