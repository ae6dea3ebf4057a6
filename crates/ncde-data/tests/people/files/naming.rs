//! Ids, columns that count, texts, statics.

use std::fmt::Write;

use super::Wanted::{Question, Schema};
use super::{Person, plain, rows, table};

pub(super) fn people() -> Vec<Person> {
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
            "column `visit_id` names what series belong to, and is ignored; say so with `--ignore visit_id`, or `--group visit_id`",
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
