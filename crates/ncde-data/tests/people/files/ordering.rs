//! Rows in another order than that of time.

use super::Wanted::{Question, Schema};
use super::{PLAIN, Person, plain, rows, table};

pub(super) fn people() -> Vec<Person> {
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
