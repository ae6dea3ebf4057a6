//! Separators, quotes, marks in numbers, missing values.

use super::Wanted::{Question, Schema};
use super::{PLAIN, Person, Row, marked, plain, table};

pub(super) fn people() -> Vec<Person> {
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
            "gaps of other kinds",
            "",
            table("id,time,x,y,label", |r| {
                let gap = ["-", "--", ".", "None", "missing", " none "][(r.series + r.k) % 6];
                let (x, y) = if r.k % 2 == 1 { (gap.into(), r.y.to_string()) } else { (r.x.to_string(), gap.into()) };
                format!("{},{},{x},{y},{}", r.id(), r.hours(), if r.label() == "up" { "none" } else { "some" })
            }),
            Schema(PLAIN),
        ),
        person(
            "gaps as numbers",
            "--missing 9999,-99.9",
            table("id,time,x,y,label", |r| {
                let x = if r.k == 1 { "9999.0".into() } else { r.x.to_string() };
                format!("{},{},{x},{},{}", r.id(), r.hours(), if r.k == 2 { -99.9 } else { r.y }, r.label())
            }),
            Schema(PLAIN),
        ),
        person(
            "infinite",
            "",
            table("id,time,x,y,label", |r| {
                format!(
                    "{},{},{},{},{}",
                    r.id(),
                    r.hours(),
                    if r.k == 1 { "inf".into() } else { r.x.to_string() },
                    r.y,
                    r.label()
                )
            }),
            Question(&["column `x`: `inf` is not a number", "--missing inf,-inf"]),
        ),
        person(
            "infinite, answered",
            "--missing inf,-inf",
            table("id,time,x,y,label", |r| {
                let x = ["-Inf".into(), "inf".into(), r.x.to_string(), r.x.to_string()][r.k.min(3)].clone();
                format!("{},{},{x},{},{}", r.id(), r.hours(), r.y, r.label())
            }),
            Schema(PLAIN),
        ),
        Person {
            warning: "column `state` has the category `-`; say `--missing -` if such cells are missing",
            ..person(
                "a word or a gap",
                "",
                table("id,time,state,x,label", |r| {
                    format!("{},{},{},{},{}", r.id(), r.hours(), ["on", "off", "-"][(r.series + r.k) % 3], r.x, r.label())
                }),
                Schema("id -> id, time -> time (numbers), label -> label, state -> channel (category of 3), x -> channel"),
            )
        },
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
            Schema("id -> id, time -> time (numbers), label -> label, x -> channel (unit `%`)"),
        ),
        person(
            "units that differ",
            "",
            table("id,time,x,label", |r| {
                let unit = if r.label() == "up" { "kg" } else { "g" };
                format!("{},{},{} {unit},{}", r.id(), r.hours(), r.x, r.label())
            }),
            Question(&["column `x`", "look like numbers", "--ignore x"]),
        ),
    ]
}
