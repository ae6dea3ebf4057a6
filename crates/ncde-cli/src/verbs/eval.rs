//! `ncde eval`: metrics of a saved model on a file with labels.

use ncde_report::{Metrics, confusion_matrix};
use ncde_runtime::Task;
use ncde_train::score;

use super::predict::{Where, predict_file};
use crate::args::EvalArgs;
use crate::error::{Failure, refuse};
use crate::output;
use crate::words::listed;

pub(crate) fn run(args: &EvalArgs) -> Result<(), Failure> {
    let predicted = predict_file(&args.on, true, |_| Ok(Where::Everywhere))?;
    let Some(metrics) = score(&predicted.spec.task, &predicted.data, &predicted.predictions) else {
        refuse!(
            "`{}` has no labels to compare with; give them with `--labels FILE`, or use `ncde predict`",
            args.on.data.display()
        );
    };
    if !predicted.overflowed.is_empty() {
        let (count, all) = (predicted.overflowed.len(), predicted.data.cases.len());
        output::info(&format!(
            "warning: {count} of {all} cases have no prediction and count as wrong, as a state overflows: {}",
            listed(&predicted.overflowed, 8)
        ));
    }
    if args.json {
        return output::json(&metrics);
    }
    let glyphs = output::glyphs();
    output::data(|out| {
        writeln!(out, "{:18} {}", "cases", metrics.cases())?;
        for name in metrics.names() {
            if let Some(value) = metrics.get(name) {
                writeln!(out, "{:18} {value:.4}", name.replace('_', " "))?;
            }
        }
        if let (Metrics::Classification(metrics), Task::Classification { classes, .. }) = (&metrics, &predicted.spec.task) {
            if let Some((class, score)) = metrics.rarest() {
                let name = classes.get(class).map_or("", String::as_str);
                let average = metrics.average_precision.get(class).copied().flatten();
                let shares = [
                    ("recall", score.recall, format!("  ({} of {} found)", score.found, score.cases)),
                    ("precision", score.precision, format!("  ({} of {} right)", score.found, score.predicted)),
                    ("average precision", average, String::new()),
                ];
                for (what, share, note) in shares {
                    let share = share.map_or("n/a".into(), |share| format!("{share:.4}"));
                    writeln!(out, "{:18} {share}{note}", format!("{what} of {name}"))?;
                }
            }
            let matrix = confusion_matrix(metrics, classes, "all", output::width(), glyphs);
            write!(out, "{matrix}")?;
            if matrix.is_empty() {
                for (truth, taken, cases) in metrics.errors().into_iter().take(10) {
                    writeln!(out, "{cases} of `{}` taken for `{}`", classes[truth], classes[taken])?;
                }
            }
        }
        Ok(())
    })
}
