//! Dates and times.

use super::Wanted::{Question, Schema};
use super::{Person, Row, table};

pub(super) fn people() -> Vec<Person> {
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
            "months",
            "",
            &|r| format!("{}-{:02}", 2000 + r.k, 1 + r.series),
            Schema("id -> id, timestamp -> time (year and month, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "names of months",
            "",
            &|r| {
                format!(
                    "{} {}",
                    ["Jan", "Feb", "March", "Apr", "May", "June", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][r.k],
                    2000 + r.k
                )
            },
            Schema("id -> id, timestamp -> time (month and year, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "an hour twice",
            "",
            &|r| format!("2021-10-31 {}", ["01:00", "02:00", "02:30", "02:00", "02:30", "03:00", "03:15", "03:30", "03:45"][r.k]),
            Question(&[
                "time `2021-10-31T02:00:00Z` of case `p1` comes after `2021-10-31T02:30:00Z`",
                "--time-zone Europe/Berlin",
            ]),
        ),
        dated(
            "an hour twice, answered",
            "--time-zone Europe/Berlin",
            &|r| format!("2021-10-31 {}", ["01:00", "02:00", "02:30", "02:00", "02:30", "03:00", "03:15", "03:30", "03:45"][r.k]),
            Schema("id -> id, timestamp -> time (ISO), label -> label, x, y -> channel, zone Europe/Berlin"),
        ),
        dated(
            "days in a zone",
            "--time-zone Europe/Berlin",
            &|r| format!("2021-10-{:02}", r.day()),
            Schema("id -> id, timestamp -> time (ISO, UTC), label -> label, x, y -> channel"),
        ),
        dated(
            "no zone",
            "--time-zone Berlin/Europe",
            &|r| format!("2021-10-{:02}", r.day()),
            Question(&["`Berlin/Europe` is no time zone", "--time-zone"]),
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
            wanted: Schema(
                "id -> id, date -> time (ISO, UTC), label -> label, x -> channel, time -> ignored, times of day in `time`",
            ),
            warning: "columns `date` and `time` are taken together for the time; say so with `--time date,time`",
        },
        Person {
            name: "date and clock, answered",
            flags: "--time Tag,Uhrzeit",
            text: table("id;Tag;Uhrzeit;x;label", |r| {
                format!("{};{:02}.03.2021;{};{};{}", r.id(), r.day(), r.clock(), r.x, r.label())
            }),
            wanted: Schema(
                "id -> id, Tag -> time (day first, UTC), label -> label, x -> channel, Uhrzeit -> ignored, times of day in `Uhrzeit`",
            ),
            warning: "",
        },
        Person {
            name: "two clocks",
            flags: "",
            text: table("id,date,start_time,end_time,x,label", |r| {
                format!("{},2021-03-{:02},{},{},{},{}", r.id(), r.day(), r.clock(), r.clock(), r.x, r.label())
            }),
            wanted: Schema(
                "id -> id, date -> time (ISO, UTC), label -> label, start_time, end_time -> channel (category of 21), x -> channel",
            ),
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
