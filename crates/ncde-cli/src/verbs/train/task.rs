//! What is learned, in one line: `regression of `rul` (78 whole numbers); classes instead: --set task=classification`.

use ncde_data::{Layout, Role, Targets};
use ncde_runtime::{At, ModelSpec, Task};

use crate::words::{horizons, listed, one_or, targets};

/// The most classes or channels that are named.
const MAX_NAMES: usize = 4;

/// What the line says of labels.
pub(super) struct Labels {
    /// The column they stand in.
    column: Option<String>,
    /// How many different ones there are, if all are whole numbers.
    whole: Option<usize>,
}

impl Labels {
    pub(super) fn of(targets: &Targets, layout: Option<&Layout>) -> Self {
        let mut numbers: Vec<f64> = match targets {
            Targets::Values { of, .. } => of.clone(),
            Targets::ValueSteps { of, .. } => of.iter().flatten().copied().filter(|x| !x.is_nan()).collect(),
            Targets::Classes { names, .. } | Targets::ClassSteps { names, .. } => {
                names.iter().map(|name| name.parse().unwrap_or(f64::NAN)).collect()
            }
            Targets::None => vec![],
        };
        let is_whole = !numbers.is_empty() && numbers.iter().all(|x| x.fract() == 0.0);
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let column = layout.and_then(|layout| layout.with(Role::Label).next()).map(|column| column.name.clone());
        Self { column, whole: is_whole.then_some(numbers.len()) }
    }

    /// The line for a model that is to be trained.
    pub(super) fn task(&self, spec: &ModelSpec) -> String {
        let column = self.column.as_deref().map_or(String::new(), |column| format!(" of `{column}`"));
        let place = if spec.task.at() == At::Steps { " at every observation" } else { "" };
        match &spec.task {
            Task::Classification { classes, .. } => {
                let instead = self.whole.map_or("", |_| "; numbers instead: --set task=regression");
                format!("classification{column}{place}: {} classes, {}{instead}", classes.len(), listed(classes, MAX_NAMES))
            }
            Task::Regression { target, .. } => {
                let target = self.column.as_deref().unwrap_or(target);
                let instead = self.whole.map_or(String::new(), |count| {
                    let numbers = one_or(count, "number", "numbers");
                    format!(" ({count} whole {numbers}); classes instead: --set task=classification")
                });
                format!("regression of `{target}`{place}{instead}")
            }
            Task::Forecast(forecast) => {
                format!("forecast of {}, {} ahead", targets(forecast, &spec.channels), horizons(forecast))
            }
        }
    }
}
