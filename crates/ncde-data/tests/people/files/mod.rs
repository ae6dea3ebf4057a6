//! Seventy files of the same twelve series, each written in another way, with the schema it must get or the question it must raise.

mod dating;
mod labelling;
mod naming;
mod ordering;
mod writing;

/// One observation of one of twelve series; those of even numbers go up.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) series: usize,
    /// Its place in the series.
    pub(crate) k: usize,
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl Row {
    pub(crate) fn id(self) -> String {
        format!("p{}", self.series + 1)
    }

    pub(crate) fn label(self) -> &'static str {
        if self.series.is_multiple_of(2) { "up" } else { "down" }
    }

    /// Irregular, in hours.
    pub(crate) fn hours(self) -> f64 {
        self.k as f64 + 0.25 * ((self.k * self.k + self.series) % 3) as f64
    }

    pub(crate) fn minutes(self) -> usize {
        (60.0 * self.hours()) as usize
    }

    /// `15:04`
    pub(crate) fn clock(self) -> String {
        format!("{:02}:{:02}", self.minutes() / 60, self.minutes() % 60)
    }

    /// Days 1 to 22 of March.
    pub(crate) fn day(self) -> usize {
        1 + 3 * self.k
    }

    pub(crate) fn unix(self) -> usize {
        1_614_816_000 + 60 * self.minutes()
    }
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for series in 0..12_usize {
        let way = if series.is_multiple_of(2) { 1.0 } else { -1.0 };
        for k in 0..6 + series % 3 {
            let wave = ((series * 7 + k * 3) % 5) as f64;
            let round = |x: f64| (x * 8.0).round() / 8.0;
            rows.push(Row {
                series,
                k,
                x: round(20.0 + way * k as f64 + wave / 4.0),
                y: round(1000.5 + 300.0 * wave + k as f64),
            });
        }
    }
    rows
}

/// A header and a line for each row.
pub(crate) fn table(header: &str, line: impl Fn(Row) -> String) -> String {
    rows().into_iter().fold(format!("{header}\n"), |text, row| text + &line(row) + "\n")
}

/// A number as it is written with another mark, and with one between thousands.
pub(crate) fn marked(x: f64, decimal: &str, thousands: &str) -> String {
    let text = x.to_string();
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(whole, fraction)| (whole, Some(fraction)));
    let whole = match whole.len() {
        4.. if !thousands.is_empty() => format!("{}{thousands}{}", &whole[..whole.len() - 3], &whole[whole.len() - 3..]),
        _ => whole.to_string(),
    };
    fraction.map_or(whole.clone(), |fraction| format!("{whole}{decimal}{fraction}"))
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted {
    /// The schema as it is told; then a stream says what `predict` says.
    Schema(&'static str),
    /// What the message holds.
    Question(&'static [&'static str]),
}

#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) name: &'static str,
    pub(crate) flags: &'static str,
    pub(crate) text: String,
    pub(crate) wanted: Wanted,
    /// A guess that is told.
    pub(crate) warning: &'static str,
}

fn plain(r: Row) -> String {
    format!("{},{},{},{},{}", r.id(), r.hours(), r.x, r.y, r.label())
}

const PLAIN: &str = "id -> id, time -> time (numbers), label -> label, x, y -> channel";

/// All of them.
pub(crate) fn people() -> Vec<Person> {
    [writing::people(), dating::people(), naming::people(), ordering::people(), labelling::people()]
        .into_iter()
        .flatten()
        .collect()
}

/// The lines of a plain table in the order of their times.
pub(crate) fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let time = |line: &str| line.split(',').nth(1).and_then(|cell| cell.parse::<f64>().ok()).unwrap_or(f64::NAN);
    lines[1..].sort_by(|a, b| time(a).total_cmp(&time(b)));
    lines.join("\n") + "\n"
}
