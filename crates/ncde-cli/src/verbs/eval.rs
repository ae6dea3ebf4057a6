//! `ncde eval`: metrics of a saved model on a file with labels.

use ncde::train::score;

use super::predict::predict_file;
use crate::args::EvalArgs;
use crate::error::{Failure, first};
use crate::output;

pub(crate) fn run(args: &EvalArgs) -> Result<(), Failure> {
    let predicted = predict_file(&args.on)?;
    let Some(metrics) = score(&predicted.spec.task, &predicted.data, &predicted.predictions) else {
        return Err(Failure::Refused(format!(
            "`{}` has no labels to compare with; give them with `--labels FILE`, or use `ncde predict`",
            args.on.data.display()
        )));
    };
    if !predicted.overflowed.is_empty() {
        let (count, all) = (predicted.overflowed.len(), predicted.data.cases.len());
        output::talk(&format!(
            "warning: {count} of {all} cases have no prediction and count as wrong, as a state grows out of all bounds: {}",
            first(&predicted.overflowed)
        ));
    }
    if args.json {
        let line = serde_json::to_string(&metrics).map_err(|e| Failure::Refused(e.to_string()))?;
        return output::data(|out| writeln!(out, "{line}"));
    }
    output::data(|out| {
        writeln!(out, "{:18} {}", "cases", metrics.cases())?;
        for name in metrics.names() {
            if let Some(value) = metrics.get(name) {
                writeln!(out, "{:18} {value:.4}", name.replace('_', " "))?;
            }
        }
        Ok(())
    })
}
