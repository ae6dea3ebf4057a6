//! Tables that fit the terminal: a column of labels, then as many columns of numbers as fit, the rest below.

const GAP: usize = 2;

/// Cut labels keep at least this much.
const SHORTEST_LABEL: usize = 8;

pub(crate) struct Table {
    /// The heading of the labels.
    pub(crate) corner: String,
    pub(crate) labels: Vec<String>,
    pub(crate) columns: Vec<Column>,
}

pub(crate) struct Column {
    pub(crate) head: String,
    /// One cell for each label.
    pub(crate) cells: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        widest(std::iter::once(&self.head).chain(&self.cells))
    }
}

impl Table {
    /// The table in lines of at most `width` characters, if a label and a number fit into them.
    pub(crate) fn render(&self, width: usize) -> String {
        let widths: Vec<usize> = self.columns.iter().map(Column::width).collect();
        let widest_column = widths.iter().copied().max().unwrap_or(0);
        let room = width.saturating_sub(GAP + widest_column).max(SHORTEST_LABEL);
        let label_width = widest(std::iter::once(&self.corner).chain(&self.labels)).min(room);

        let mut out = String::new();
        let mut first = 0;
        while first < self.columns.len() {
            let mut used = label_width + GAP + widths[first];
            let mut last = first + 1;
            while last < self.columns.len() && used + GAP + widths[last] <= width {
                used += GAP + widths[last];
                last += 1;
            }
            if first > 0 {
                out.push('\n');
            }
            let columns = &self.columns[first..last];
            line(&mut out, label_width, &self.corner, columns, &widths[first..last], |c| &c.head);
            for (i, label) in self.labels.iter().enumerate() {
                line(&mut out, label_width, label, columns, &widths[first..last], |c| &c.cells[i]);
            }
            first = last;
        }
        out
    }
}

fn line(
    out: &mut String,
    label_width: usize,
    label: &str,
    columns: &[Column],
    widths: &[usize],
    cell: impl Fn(&Column) -> &String,
) {
    out.push_str(&format!("{:label_width$}", shorten(label, label_width)));
    for (column, width) in columns.iter().zip(widths) {
        out.push_str(&format!("{:GAP$}{:>width$}", "", cell(column)));
    }
    out.push('\n');
}

fn widest<'a>(texts: impl Iterator<Item = &'a String>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

/// The text, cut if it is longer than `width`.
fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    let kept: String = text.chars().take(width.saturating_sub(2)).collect();
    format!("{kept}..")
}

/// A number to six digits.
pub(crate) fn short(x: f64) -> String {
    // Printing and reading back rounds to six digits, whatever the size.
    let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    match rounded.abs() {
        0.0 => "0".into(),
        1e-4..1e6 => format!("{rounded}"),
        _ => format!("{rounded:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: usize, label: &str) -> Table {
        let column = |i| Column { head: format!("path {i}"), cells: vec![short(i as f64 / 2.0)] };
        Table { corner: "word".into(), labels: vec![label.into()], columns: (1..=columns).map(column).collect() }
    }

    #[test]
    fn a_table_that_fits_is_one_block() {
        let wanted = "word   path 1  path 2\n(1,2)     0.5       1\n";
        assert_eq!(table(2, "(1,2)").render(80), wanted);
    }

    #[test]
    fn a_wide_table_goes_on_below() {
        let text = table(7, "(1,2)").render(24);
        assert_eq!(text.lines().filter(|line| line.starts_with("(1,2)")).count(), 4);
        assert!(text.lines().all(|line| line.chars().count() <= 24), "{text}");
    }

    #[test]
    fn long_labels_are_cut() {
        let text = table(1, &"[1,".repeat(30)).render(40);
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert!(text.contains(".."), "{text}");
    }

    #[test]
    fn numbers_are_short() {
        let cases = [(0.5, "0.5"), (-0.0, "0"), (1.0 / 3.0, "0.333333"), (2.5e-7, "2.5e-7"), (123_456_789.0, "1.23457e8")];
        for (x, text) in cases {
            assert_eq!(short(x), text);
        }
    }
}
