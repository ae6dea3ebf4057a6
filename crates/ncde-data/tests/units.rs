//! Numbers with a unit, in channels and labels, in a file and for a model that is there.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_data::{Columns, LineReader, ReadOptions, Targets, load_bytes};

const SALES: &str = "id,time,price,share,weight,cost\n\
    a,0,\"€1,134\",10.2%,12 kg,$5\na,1,€980,9%,13 kg,$5\n\
    b,0,€2,11 %,14kg,\"$7,500.5\"\nb,1,\"€12,300\",,15 kg,\"$7,500.5\"\n";

#[test]
fn numbers_with_a_unit_are_numbers() {
    let options = ReadOptions { columns: Columns { label: Some("cost".into()), ..Columns::default() }, ..ReadOptions::default() };
    let loaded = load_bytes("sales.csv", SALES.as_bytes(), &options).unwrap();
    assert_eq!(loaded.data.channels, ["price", "share", "weight"]);
    assert_eq!(loaded.data.cases[0].values, [1134.0, 10.2, 12.0, 980.0, 9.0, 13.0]);
    assert_eq!(loaded.data.cases[1].values.iter().filter(|x| x.is_nan()).count(), 1);
    assert_eq!(loaded.data.targets, Targets::Values { name: "cost".into(), of: vec![5.0, 7500.5] });
    let layout = loaded.layout.clone().unwrap().to_string();
    assert!(layout.contains("price -> channel (decimal `.`, thousands `,`, unit `€`)"), "{layout}");
    assert!(layout.contains("share -> channel (unit `%`)") && layout.contains("weight -> channel (unit `kg`)"), "{layout}");

    // What is read later has the same unit, or none.
    let later = "id,time,price,share,weight\na,0,€7,5,5\n";
    let options = ReadOptions { layout: loaded.layout.clone(), ..ReadOptions::default() };
    assert_eq!(load_bytes("later.csv", later.as_bytes(), &options).unwrap().data.cases[0].values, [7.0, 5.0, 5.0]);
    let other = load_bytes("later.csv", later.replace('€', "$").as_bytes(), &options).unwrap_err().to_string();
    assert!(other.contains("`$7` is not a number"), "{other}");
    let mut lines = LineReader::new(loaded.schema(), ReadOptions::default());
    lines.header(b"id,time,price,share,weight").unwrap();
    assert_eq!(lines.row("a,1,€8,5 %,6 kg".as_bytes()).unwrap().values, [8.0, 5.0, 6.0]);
}

#[test]
fn units_that_differ_make_categories() {
    let text = "id,time,x,size\na,0,1,5 kg\na,1,2,5 g\nb,0,1,5 kg\nb,1,2,5 kg\n";
    let data = load_bytes("mixed.csv", text.as_bytes(), &ReadOptions::default()).unwrap().data;
    assert_eq!(data.channels, ["x", "size=5 g", "size=5 kg"]);
}
