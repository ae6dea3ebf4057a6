//! Labels: where they stand, and slips of the pen in them.

use super::Wanted::{Question, Schema};
use super::{PLAIN, Person, Row, plain, table};

pub(super) fn people() -> Vec<Person> {
    let labelled = |name, label: &dyn Fn(Row) -> &'static str, warning| Person {
        name,
        flags: "",
        text: table("id,time,x,y,label", |r| format!("{},{},{},{},{}", r.id(), r.hours(), r.x, r.y, label(r))),
        wanted: Schema(PLAIN),
        warning,
    };
    let last = |r: Row| r.k + 1 == 6 + r.series % 3;
    vec![
        labelled("labels on first rows", &|r| if r.k == 0 { r.label() } else { "" }, ""),
        labelled("labels on last rows", &|r| if last(r) { r.label() } else { "" }, ""),
        labelled("labels of rows", &|r| if (r.k + r.series).is_multiple_of(2) { "up" } else { "down" }, ""),
        labelled(
            "one label slips",
            &|r| if (r.series, r.k) == (4, 3) { "down" } else { r.label() },
            "column `label` changes within 1 of 12 series (`p5` is one), so every observation is taken to have its own label; if a series has one label",
        ),
        labelled(
            "one label is blank",
            &|r| if (r.series, r.k) == (4, 3) { "" } else { r.label() },
            "column `label` never changes within a series, but is blank on some rows of 1 of 12 (`p5` is one)",
        ),
        labelled(
            "labels in two ways",
            &|r| if r.series == 4 { "Up" } else { r.label() },
            "column `label` has both `Up` and `up`; write a class in one way",
        ),
        Person {
            name: "no header",
            flags: "",
            text: table("", plain).trim_start().to_owned(),
            wanted: Question(&["line 1: the first line holds values, as those below it do", "`id,time,x,label`"]),
            warning: "",
        },
        Person {
            name: "numbers for names",
            flags: "--id who --time when --label what",
            text: table("who,when,0.5,0.9,what", plain),
            wanted: Schema("who -> id, when -> time (numbers), what -> label, 0.5, 0.9 -> channel"),
            warning: "",
        },
    ]
}
