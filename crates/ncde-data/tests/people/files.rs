//! Sixty files of the same twelve series, each written in another way, with the schema it must get or the question it must raise.

use std::fmt::Write;

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
use Wanted::{Question, Schema};

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

/// Separators, quotes, marks in numbers, missing values.
fn ways_of_writing() -> Vec<Person> {
    let semicolons = |decimal: &'static str, thousands: &'static str| {
        move |r: Row| {
            format!(
                "{};{};{};{};{}",
                r.id(),
                marked(r.hours(), decimal, ""),
                marked(r.x, decimal, ""),
                marked(r.y, decimal, thousands),
                r.label()
            )
        }
    };
    let person = |name, flags, text, wanted| Person { name, flags, text, wanted, warning: "" };
    vec![
        person("plain", "", table("id,time,x,y,label", plain), Schema(PLAIN)),
        person("tabs", "", table("id,time,x,y,label", plain).replace(',', "\t"), Schema(PLAIN)),
        person("bars", "", table("id,time,x,y,label", plain).replace(',', "|"), Schema(PLAIN)),
        person("semicolons", "", table("id;time;x;y;label", semicolons(".", "")), Schema(PLAIN)),
        person(
            "capitals",
            "",
            table("ID,Time,X,Y,Label", plain),
            Schema("ID -> id, Time -> time (numbers), Label -> label, X, Y -> channel"),
        ),
        person("windows", "", format!("\u{feff}{}", table("id,time,x,y,label", plain).replace('\n', "\r\n")), Schema(PLAIN)),
        person("spreadsheet", "", format!("sep=;\n{}", table("id;time;x;y;label", semicolons(".", ""))), Schema(PLAIN)),
        person(
            "comments",
            "",
            format!("# made by a device\n# in the cellar\n{}", table("id,time,x,y,label", plain)),
            Schema(PLAIN),
        ),
        person(
            "decimal comma",
            "",
            table("id;time;x;y;label", semicolons(",", "")),
            Schema("id -> id, time -> time (numbers, decimal `,`), label -> label, x, y -> channel (decimal `,`)"),
        ),
        person(
            "decimal comma and points",
            "",
            table("id;time;x;y;label", semicolons(",", ".")),
            Schema(
                "id -> id, time -> time (numbers, decimal `,`), label -> label, x -> channel (decimal `,`), y -> channel (decimal `,`, thousands `.`)",
            ),
        ),
        person(
            "decimal comma and spaces",
            "",
            table("id;time;x;y;label", semicolons(",", "\u{a0}")),
            Schema(
                "id -> id, time -> time (numbers, decimal `,`), label -> label, x -> channel (decimal `,`), y -> channel (decimal `,`, thousands ` `)",
            ),
        ),
        person(
            "thousands",
            "",
            table("id,time,x,y,label", |r| {
                format!("{},{},{},\"{}\",{}", r.id(), r.hours(), r.x, marked(r.y, ".", ","), r.label())
            }),
            Schema("id -> id, time -> time (numbers), label -> label, x -> channel, y -> channel (decimal `.`, thousands `,`)"),
        ),
        person(
            "apostrophes",
            "",
            table("id,time,x,y,label", |r| format!("{},{},{},{},{}", r.id(), r.hours(), r.x, marked(r.y, ".", "'"), r.label())),
            Schema("id -> id, time -> time (numbers), label -> label, x -> channel, y -> channel (decimal `.`, thousands `'`)"),
        ),
        person(
            "whole thousands",
            "",
            table("id,time,y,label", |r| format!("{},{},\"{}\",{}", r.id(), r.k, marked(r.y.floor(), ".", ","), r.label())),
            Question(&["column `y`", "--decimal"]),
        ),
        person(
            "whole thousands, answered",
            "--decimal .",
            table("id,time,y,label", |r| format!("{},{},\"{}\",{}", r.id(), r.k, marked(r.y.floor(), ".", ","), r.label())),
            Schema("id -> id, time -> time (numbers), label -> label, y -> channel (decimal `.`, thousands `,`)"),
        ),
        person(
            "gaps",
            "",
            table("id,time,x,y,label", |r| {
                let gap = ["", "NA", "?", "NaN", "n/a", "null"][(r.series + r.k) % 6];
                let (x, y) = if r.k % 2 == 1 {
                    (gap.into(), r.y.to_string())
                } else {
                    (r.x.to_string(), if r.k == 2 { gap.into() } else { r.y.to_string() })
                };
                format!("{},{},{x},{y},{}", r.id(), r.hours(), r.label())
            }),
            Schema(PLAIN),
        ),
        person(
            "units in headers",
            "",
            table("id,Time (h),\"temp [\u{b0}C], inside\",pressure / hPa,label", plain),
            Schema("id -> id, Time (h) -> time (numbers), label -> label, temp [\u{b0}C], inside, pressure / hPa -> channel"),
        ),
        person(
            "a last separator",
            "",
            table("id,time,x,y,label,", |r| plain(r) + ","),
            Schema("id -> id, time -> time (numbers), label -> label, x, y -> channel, (unnamed) -> ignored"),
        ),
        person(
            "units in cells",
            "",
            table("id,time,x,label", |r| format!("{},{},{} %,{}", r.id(), r.hours(), r.x, r.label())),
            Question(&["column `x`", "look like numbers", "--ignore x"]),
        ),
    ]
}

/// Dates and times.
fn ways_of_dating() -> Vec<Person> {
    let dated = |name, flags, date: &dyn Fn(Row) -> String, wanted| Person {
        name,
        flags,
        text: table("id,timestamp,x,y,label", |r| format!("{},{},{},{},{}", r.id(), date(r), r.x, r.y, r.label())),
        wanted,
        warning: "",
    };
    let few = |r: Row| format!("{:02}/{:02}/2021 {}", 1 + r.k, 1 + r.k, r.clock());
    vec![
        dated(
            "iso",
            "",
            &|r| format!("2021-03-04 {}", r.clock()),
            Schema("id -> id, timestamp -> time (ISO, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "iso z",
            "",
            &|r| format!("2021-03-04T{}:00Z", r.clock()),
            Schema("id -> id, timestamp -> time (ISO, with offsets), label -> label, x, y -> channel"),
        ),
        dated(
            "iso offsets",
            "",
            &|r| format!("2021-03-04T{}:00.5+01:00", r.clock()),
            Schema("id -> id, timestamp -> time (ISO, with offsets), label -> label, x, y -> channel"),
        ),
        dated(
            "days",
            "",
            &|r| format!("2021-03-{:02}", r.day()),
            Schema("id -> id, timestamp -> time (ISO, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "slashes",
            "",
            &|r| format!("2021/3/{} {}", r.day(), r.clock()),
            Schema("id -> id, timestamp -> time (ISO, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "us",
            "",
            &|r| format!("3/{}/2021 {}", r.day(), r.clock()),
            Schema("id -> id, timestamp -> time (month first, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "us, twelve hours",
            "",
            &|r| format!("03/{:02}/21 {}:30 PM", r.day(), 1 + r.series % 11),
            Schema("id -> id, timestamp -> time (month first, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "european",
            "",
            &|r| format!("{:02}.03.2021 {}", r.day(), r.clock()),
            Schema("id -> id, timestamp -> time (day first, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "european slashes",
            "",
            &|r| format!("{:02}/03/2021", r.day()),
            Schema("id -> id, timestamp -> time (day first, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "month or day",
            "",
            &few,
            Question(&["month and day cannot be told apart", "--time-format us", "--time-format european"]),
        ),
        dated(
            "month or day, answered",
            "--time-format european",
            &few,
            Schema("id -> id, timestamp -> time (day first, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "unix",
            "",
            &|r| r.unix().to_string(),
            Schema("id -> id, timestamp -> time (Unix seconds, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "unix ms",
            "",
            &|r| format!("{}500", r.unix()),
            Schema("id -> id, timestamp -> time (Unix milliseconds, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "time of day",
            "",
            &|r| format!("{}:30", r.clock()),
            Schema("id -> id, timestamp -> time (time of day), label -> label, x, y -> channel"),
        ),
        Person {
            warning: "column `timestamp` holds whole numbers that are read as dates",
            ..dated(
                "compact",
                "",
                &|r| format!("202103{:02}", r.day()),
                Schema("id -> id, timestamp -> time (yyyymmdd, UTC), label -> label, x, y -> channel"),
            )
        },
        Person {
            name: "another name",
            flags: "",
            text: table("id,gemessen,x,y,label", |r| format!("{},{:02}.03.2021,{},{},{}", r.id(), r.day(), r.x, r.y, r.label())),
            wanted: Schema("id -> id, gemessen -> time (day first, UTC), label -> label, x, y -> channel"),
            warning: "column `gemessen` is taken for the time",
        },
        Person {
            name: "date and time",
            flags: "",
            text: table("id,date,time,x,label", |r| format!("{},2021-03-04,{}:00,{},{}", r.id(), r.clock(), r.x, r.label())),
            wanted: Question(&["columns `date`, `time` could all hold times", "--time"]),
            warning: "",
        },
        Person {
            name: "a date that is not the time",
            flags: "",
            text: table("id,time,born,x,y,label", |r| {
                format!("{},{},19{}-05-06,{},{},{}", r.id(), r.hours(), 50 + r.series, r.x, r.y, r.label())
            }),
            wanted: Schema("id -> id, time -> time (numbers), label -> label, x, y -> channel, born -> ignored"),
            warning: "column `born` holds dates but is not the time",
        },
    ]
}

/// Ids, columns that count, texts, statics.
fn ways_of_naming() -> Vec<Person> {
    let person = |name, flags, text, wanted, warning| Person { name, flags, text, wanted, warning };
    let named =
        |name, header: &str, schema: &'static str, warning| person(name, "", table(header, plain), Schema(schema), warning);
    vec![
        named(
            "patient_id",
            "patient_id,time,x,y,label",
            "patient_id -> id, time -> time (numbers), label -> label, x, y -> channel",
            "column `patient_id` is taken for the id of series: 12",
        ),
        named(
            "PatientID",
            "PatientID,time,x,y,class",
            "PatientID -> id, time -> time (numbers), class -> label, x, y -> channel",
            "say so with `--id PatientID`",
        ),
        named(
            "subject",
            "subject,t,x,y,target",
            "subject -> id, t -> time (numbers), target -> label, x, y -> channel",
            "column `subject` is taken",
        ),
        named(
            "series",
            "series,time,x,y,label",
            "series -> id, time -> time (numbers), label -> label, x, y -> channel",
            "column `series` is taken",
        ),
        person(
            "unit and cycle",
            "",
            table("unit,cycle,s1,s2,label", |r| format!("{},{},{},{},{}", r.series + 1, r.k + 1, r.x, r.y, r.label())),
            Schema("unit -> id, cycle -> time (numbers), label -> label, s1, s2 -> channel"),
            "column `cycle` is taken for the time",
        ),
        person(
            "said",
            "--id who --time when --label what",
            table("who,when,x,y,what", plain),
            Schema("who -> id, when -> time (numbers), what -> label, x, y -> channel"),
            "",
        ),
        person(
            "two ids",
            "",
            table("subject,visit_id,time,x,label", |r| {
                format!("{},v{},{},{},{}", r.id(), r.series % 4, r.hours(), r.x, r.label())
            }),
            Question(&["`subject`, `visit_id` could all hold ids", "--id"]),
            "",
        ),
        person(
            "two ids, answered",
            "--id subject",
            table("subject,visit_id,time,x,label", |r| {
                format!("{},v{},{},{},{}", r.id(), r.series % 4, r.hours(), r.x, r.label())
            }),
            Schema("subject -> id, time -> time (numbers), label -> label, x -> channel, visit_id -> ignored"),
            "column `visit_id` is an id by its name, and is ignored; say so with `--ignore visit_id`, or `--static visit_id`",
        ),
        person(
            "pandas",
            "",
            numbered(",id,time,x,y,label", 0),
            Schema("id -> id, time -> time (numbers), label -> label, x, y -> channel, (unnamed) -> ignored"),
            "",
        ),
        person(
            "pandas twice",
            "",
            numbered("Unnamed: 0,id,time,x,y,label", 0),
            Schema("id -> id, time -> time (numbers), label -> label, x, y -> channel, Unnamed: 0 -> ignored"),
            "column `Unnamed: 0` counts the rows",
        ),
        person(
            "row",
            "",
            numbered("row,id,time,x,y,label", 1),
            Schema("id -> id, time -> time (numbers), label -> label, x, y -> channel, row -> ignored"),
            "column `row` counts the rows",
        ),
        person(
            "id of a row",
            "",
            numbered("id,subject,time,x,y,label", 1),
            Schema("subject -> id, time -> time (numbers), label -> label, x, y -> channel, id -> ignored"),
            "column `id` counts the rows",
        ),
        person(
            "event_id",
            "",
            numbered("event_id,id,time,x,y,label", 5000),
            Schema("id -> id, time -> time (numbers), label -> label, x, y -> channel, event_id -> ignored"),
            "column `event_id` is an id by its name",
        ),
        person(
            "category",
            "",
            table("id,time,state,x,label", |r| {
                format!("{},{},{},{},{}", r.id(), r.hours(), ["on", "off", "idle"][(r.series + r.k) % 3], r.x, r.label())
            }),
            Schema("id -> id, time -> time (numbers), label -> label, state -> channel (category of 3), x -> channel"),
            "",
        ),
        person(
            "booleans",
            "",
            table("id,time,alarm,x,label", |r| {
                format!(
                    "{},{},{},{},{}",
                    r.id(),
                    r.hours(),
                    if (r.series + r.k).is_multiple_of(3) { "True" } else { "False" },
                    r.x,
                    r.label()
                )
            }),
            Schema("id -> id, time -> time (numbers), label -> label, alarm -> channel (category of 2), x -> channel"),
            "",
        ),
        person(
            "statics",
            "",
            table("id,time,sex,age,x,y,label", |r| {
                format!(
                    "{},{},{},{},{},{},{}",
                    r.id(),
                    r.hours(),
                    if r.series.is_multiple_of(3) { "f" } else { "m" },
                    40 + r.series,
                    r.x,
                    r.y,
                    r.label()
                )
            }),
            Schema(
                "id -> id, time -> time (numbers), label -> label, sex -> static (category of 2), age -> static, x, y -> channel",
            ),
            "say so with `--static sex,age`",
        ),
        person(
            "statics on first rows",
            "",
            table("id,time,sex,x,y,label", |r| {
                format!(
                    "{},{},{},{},{},{}",
                    r.id(),
                    r.hours(),
                    if r.k > 0 {
                        ""
                    } else if r.series.is_multiple_of(3) {
                        "f"
                    } else {
                        "m"
                    },
                    r.x,
                    r.y,
                    r.label()
                )
            }),
            Schema("id -> id, time -> time (numbers), label -> label, sex -> static (category of 2), x, y -> channel"),
            "`sex` never change",
        ),
        person(
            "notes",
            "",
            table("id,time,note,x,y,label", |r| {
                format!("{},{},\"seen by {} at {}\",{},{},{}", r.id(), r.hours(), r.id(), r.k, r.x, r.y, r.label())
            }),
            Schema("id -> id, time -> time (numbers), label -> label, x, y -> channel, note -> ignored"),
            "column `note` has 84 different texts",
        ),
        person(
            "some channels",
            "--channels y",
            table("id,time,x,y,label", plain),
            Schema("id -> id, time -> time (numbers), label -> label, y -> channel, x -> ignored"),
            "",
        ),
        person(
            "some not",
            "--ignore x",
            table("id,time,x,y,label", plain),
            Schema("id -> id, time -> time (numbers), label -> label, y -> channel, x -> ignored"),
            "",
        ),
        person(
            "another label",
            "--label what",
            table("id,time,x,y,what,label", |r| format!("{},{}", plain(r), r.series % 5)),
            Schema("id -> id, time -> time (numbers), what -> label, x, y -> channel, label -> ignored"),
            "column `label` is called as columns of labels are, but is not that one, and is ignored",
        ),
        person(
            "words in two ways",
            "",
            table("id,time,state,x,label", |r| {
                format!("{},{},{},{},{}", r.id(), r.hours(), ["on", "On", "off"][(r.series + r.k) % 3], r.x, r.label())
            }),
            Schema("id -> id, time -> time (numbers), label -> label, state -> channel (category of 3), x -> channel"),
            "column `state` has both `On` and `on`",
        ),
        person("melted", "", melted(), Question(&["`variable` seems to name what `value` holds", "--channels"]), ""),
        person("wide", "", wide(), Question(&["`t0` to `t9`", "a row is an observation here", "--time none"]), ""),
    ]
}

/// Rows in another order than that of time.
fn ways_of_ordering() -> Vec<Person> {
    let person = |name, flags, text, wanted| Person { name, flags, text, wanted, warning: "" };
    let mut mixed = rows();
    mixed.sort_by_key(|r| (r.k * 5 % 7, r.series));
    let unsorted = mixed.iter().fold("id,time,x,y,label\n".to_owned(), |text, r| text + &plain(*r) + "\n");
    let mut together = rows();
    together.sort_by_key(|r| (r.k, r.series));
    let interleaved = together.iter().fold("id,time,x,y,label\n".to_owned(), |text, r| text + &plain(*r) + "\n");
    let twice = table("id,time,x,y,label", |r| {
        if r.k == 2 { format!("{}\n{},{},-50,0,{}", plain(r), r.id(), r.hours(), r.label()) } else { plain(r) }
    });
    vec![
        person("interleaved", "", interleaved, Schema(PLAIN)),
        person("unsorted", "", unsorted.clone(), Question(&["comes after", "--sort"])),
        person("unsorted, answered", "--sort", unsorted, Schema(PLAIN)),
        person("twice", "", twice.clone(), Question(&["a time may stand once", "--duplicates first"])),
        person("twice, answered", "--duplicates first", twice, Schema(PLAIN)),
        person(
            "no times",
            "",
            table("id,x,y,label", |r| format!("{},{},{},{}", r.id(), r.x, r.y, r.label())),
            Schema("id -> id, label -> label, x, y -> channel, times are counted"),
        ),
    ]
}

/// The plain table with a column before it that counts rows.
fn numbered(header: &str, from: usize) -> String {
    let lines: Vec<String> = rows().into_iter().map(plain).collect();
    let mut text = format!("{header}\n");
    for (i, line) in lines.iter().enumerate() {
        let _ = writeln!(text, "{},{line}", from + i);
    }
    text
}

fn melted() -> String {
    table("id,time,variable,value,label", |r| {
        format!("{0},{1},x,{2},{4}\n{0},{1},y,{3},{4}", r.id(), r.hours(), r.x, r.y, r.label())
    })
}

fn wide() -> String {
    let names: Vec<String> = (0..10).map(|i| format!("t{i}")).collect();
    let line = |series: usize| {
        format!("s{series},{},{}", series % 2, (0..10).map(|i| (i * series % 7).to_string()).collect::<Vec<_>>().join(","))
    };
    (0..12).map(line).fold(format!("id,label,{}\n", names.join(",")), |text, line| text + &line + "\n")
}

/// All of them.
pub(crate) fn people() -> Vec<Person> {
    [ways_of_writing(), ways_of_dating(), ways_of_naming(), ways_of_ordering()].into_iter().flatten().collect()
}

/// The lines of a plain table in the order of their times.
pub(crate) fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let time = |line: &str| line.split(',').nth(1).and_then(|cell| cell.parse::<f64>().ok()).unwrap_or(f64::NAN);
    lines[1..].sort_by(|a, b| time(a).total_cmp(&time(b)));
    lines.join("\n") + "\n"
}
