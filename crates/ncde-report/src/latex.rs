//! Tables as LaTeX, with the rules of the package `booktabs`.

use std::fmt::Write;

use crate::cell::{Cell, cells};
use crate::escape::latex as escaped;

/// A table as LaTeX: a name in the first column, numbers centred in the others. `±` is set as in formulas. Everything that is put in is escaped.
///
/// ```
/// use ncde_report::{Cell, latex_table};
/// let table = latex_table("Accuracy (%)", &["model", "cycle_1"], vec![vec![Cell::from("dense".to_owned()), Cell::bold("99.1 ± 0.2")]]);
/// assert!(table.contains("\\begin{tabular}{lc}") && table.contains("\nmodel & cycle\\_1 \\\\\n"));
/// assert!(table.contains("dense & \\textbf{99.1 $\\pm$ 0.2} \\\\") && table.contains("\\caption{Accuracy (\\%)}"));
/// ```
pub fn latex_table<C: Into<Cell>>(caption: &str, header: &[&str], rows: Vec<Vec<C>>) -> String {
    let columns = "c".repeat(header.len().saturating_sub(1));
    let names: Vec<String> = header.iter().map(|name| escaped(name)).collect();
    let mut text = format!(
        "\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\begin{{tabular}}{{l{columns}}}\n\\toprule\n{} \\\\\n\\midrule\n",
        escaped(caption),
        names.join(" & ")
    );
    for row in cells(rows) {
        let cell = |Cell { text, bold }: &Cell| {
            let text = escaped(text);
            if *bold { format!("\\textbf{{{text}}}") } else { text }
        };
        let _ = writeln!(text, "{} \\\\", row.iter().map(cell).collect::<Vec<_>>().join(" & "));
    }
    text.push_str("\\bottomrule\n\\end{tabular}\n\\end{table}\n");
    text
}

/// A paragraph as LaTeX.
pub fn latex_paragraph(words: &str) -> String {
    escaped(words) + "\n"
}
