//! JSON: records, lines, columns, series with lists of values.

use ncde_data::{Format, ReadOptions, load_bytes, read_bytes};

use super::{PLAIN, assert_again, assert_same, assert_told, load, plain};

/// The plain table as JSON: each row through `row`.
fn rows(row: impl Fn(&[String]) -> String) -> Vec<String> {
    let cell = |cell: &str| match cell {
        "" => "null".to_owned(),
        number if number.parse::<f64>().is_ok() => number.to_owned(),
        text => format!("\"{text}\""),
    };
    PLAIN.lines().skip(1).map(|line| row(&line.split(',').map(cell).collect::<Vec<String>>())).collect()
}

fn records() -> Vec<String> {
    rows(|c| format!(r#"{{"id": {}, "time": {}, "größe": {}, "state": {}, "label": {}}}"#, c[0], c[1], c[2], c[3], c[4]))
}

#[test]
fn records_lines_and_columns_are_tables() {
    let records = records();
    let list = format!("[\n{}\n]", records.join(",\n"));
    let columns: Vec<String> = PLAIN.lines().next().unwrap().split(',').map(str::to_owned).collect();
    let column = |k: usize| rows(|cells| cells[k].clone());
    let by_column: Vec<String> =
        columns.iter().enumerate().map(|(k, name)| format!("\"{name}\": [{}]", column(k).join(","))).collect();
    let by_number: Vec<String> = columns
        .iter()
        .enumerate()
        .map(|(k, name)| {
            let cells: Vec<String> = column(k).iter().enumerate().map(|(i, cell)| format!("\"{i}\": {cell}")).collect();
            format!("\"{name}\": {{{}}}", cells.join(","))
        })
        .collect();
    let names: Vec<String> = columns.iter().map(|name| format!("\"{name}\"")).collect();
    let split = rows(|cells| format!("[{}]", cells.join(",")));
    for text in [
        list.clone(),
        list.replace("null", "NaN").replace("\"on\"", "\"o\\u006e\""),
        format!("{{\"version\": 3, \"data\": {list}}}"),
        records.join("\n"),
        format!("\u{feff}{}\n\n", records.join("\n")),
        format!("{{{}}}", by_column.join(",")),
        format!("{{{}}}", by_number.join(",")),
        format!("{{\"columns\": [{}], \"data\": [{}]}}", names.join(","), split.join(",")),
    ] {
        let loaded = load("table.json", text.as_bytes(), &ReadOptions::default());
        assert_same(&loaded.data, &plain());
        assert_told(&loaded, &[]);
        assert_again("table.json", text.as_bytes(), &loaded);
        assert_again("table.csv", PLAIN.as_bytes(), &loaded);
        assert_same(&read_bytes("table", text.as_bytes(), &ReadOptions::default()).unwrap(), &plain());
    }
    for name in ["a.jsonl", "a.ndjson", "a.JSON.gz"] {
        assert_eq!(Format::of(name.as_ref()), Some(Format::Json));
    }
}

#[test]
fn objects_with_lists_are_series() {
    let plain = plain();
    let a = r#"{"id": "a", "label": "up", "time": [0, 1.5, 2], "größe": [1.5, null, 2.5], "state": ["on", "off", "on"]}"#;
    let b = r#"{"id": "b", "label": "down", "steps": [{"time": 0, "größe": 7, "state": "off"}, {"time": 4, "größe": 6.25, "state": "on"}, {"time": 5, "größe": 6, "state": "on"}]}"#;
    for text in [format!("[{a}, {b}]"), format!("{a}\n{b}\n"), format!("{{\"cases\": [{a}, {b}]}}")] {
        let loaded = load("series.json", text.as_bytes(), &ReadOptions::default());
        assert_same(&loaded.data, &plain);
        assert_again("series.json", text.as_bytes(), &loaded);
    }
    let text = r#"[{"label": 1, "values": [[1, 2], [3, 4]]}, {"label": 0, "values": [[5, 6]]}]"#;
    let data = read_bytes("series.json", text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!((data.cases.len(), &data.channels[..]), (2, &["values_1".to_owned(), "values_2".into()][..]));
    assert_eq!((&data.cases[1].id[..], &data.cases[0].values[..]), ("2", &[1.0, 2.0, 3.0, 4.0][..]));
}

#[test]
fn what_is_no_table_is_told() {
    for (text, wanted) in [
        ("[1, 2]", "a record is no object; wanted a list of objects"),
        ("3", "the file holds a single value"),
        ("[]", "there are no records"),
        ("{}", "there are no records"),
        ("[{\"x\": 1}", "cannot be read as a JSON file: EOF while parsing a list at line 1 column 9"),
        ("{\"id\": \"a\", \"x\": [1, 2], \"y\": [1]}", "`x` has 2 values, but `y` has 1"),
        ("{\"x\": [1, 2], \"y\": [1]}", "column `x` has 2 values, but `y` has 1"),
        ("{\"columns\": [\"x\", \"y\"], \"data\": [[1]]}", "entry 1 of `data` has 1 values, but there are 2 columns"),
        (
            "{\"time\": 0, \"x\": 1}\n{\"time\": 1, \"x\": 2}\n{\"time\": 2, \"x\": \"oops\"}\n",
            "`bad.json`, line 3, column `x`: `oops`",
        ),
    ] {
        let error = read_bytes("bad.json", text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let keys: Vec<String> = (0..20_000).map(|i| format!("{{\"k{i}\": 1}}")).collect();
    let error = load_bytes("bad.json", keys.join("\n").as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("different keys"), "{error}");
}
