//! Wide and melted tables.

use ncde_data::{Columns, LineReader, ReadOptions, Shape, read_bytes};

use super::{assert_again, assert_same, assert_told, load};

const STEPS: usize = 9;

/// Two series of two channels, and the number of a step at `of`.
fn wide(header: &str, of: impl Fn(usize) -> String) -> String {
    let names = |stem: &str| (0..STEPS).map(|i| format!(",{stem}{}", of(i))).collect::<String>();
    let header =
        header.replace(",X", &names("x_")).replace(",Y", &names("y_")).replace(",T", &names("t")).replace(",N", &names(""));
    let row = |x: usize| (0..STEPS).map(|i| format!(",{}", x * i)).collect::<String>();
    let values = if header.contains("y_") { [row(1) + &row(2), row(3) + &row(4)] } else { [row(1), row(3)] };
    let owner = |i: usize| if header.starts_with(',') { String::new() } else { format!("p{i}") };
    let middle = if header.contains("label") { [",up,40", ",down,50"] } else { ["", ""] };
    let rows: Vec<String> = (0..2).map(|i| format!("{}{}{}", owner(i), middle[i], values[i])).collect();
    let text = format!("{header}\n{}\n{}\n", rows[0], rows[1]);
    text.lines().map(|line| format!("{}\n", line.trim_start_matches(','))).collect()
}

/// The same, a row an observation.
fn long(channels: &[&str], ids: [&str; 2], times: impl Fn(usize) -> String, has_labels: bool) -> String {
    let mut text = format!("id,{}time,{}\n", if has_labels { "label,age," } else { "" }, channels.join(","));
    for (k, id) in ids.iter().enumerate() {
        for i in 0..STEPS {
            let middle = if has_labels { [",up,40", ",down,50"][k] } else { "" };
            let values: Vec<String> = (0..channels.len()).map(|c| ((2 * k + c + 1) * i).to_string()).collect();
            text += &format!("{id}{middle},{},{}\n", times(i), values.join(","));
        }
    }
    text
}

fn read(text: &str) -> ncde_data::Dataset {
    read_bytes("long.csv", text.as_bytes(), &ReadOptions::default()).unwrap()
}

#[test]
fn a_row_a_series_becomes_rows_of_observations() {
    let number = |i: usize| i.to_string();
    let date = |i: usize| format!("2020-01-{:02}", i + 1);
    for (header, of, wanted) in [
        ("id,label,age,T", &number as &dyn Fn(usize) -> String, long(&["value"], ["p0", "p1"], number, true)),
        ("id,label,age,N", &number, long(&["value"], ["p0", "p1"], number, true)),
        ("id,label,age,N", &date, long(&["value"], ["p0", "p1"], date, true)),
        ("id,label,age,X", &number, long(&["x"], ["p0", "p1"], number, true)),
        ("id,label,age,X,Y", &number, long(&["x", "y"], ["p0", "p1"], number, true)),
        (",T", &number, long(&["value"], ["1", "2"], number, false)),
    ] {
        let text = wide(header, of);
        let loaded = load("wide.csv", text.as_bytes(), &ReadOptions::default());
        assert_same(&loaded.data, &read(&wanted));
        let mut told = vec!["are taken for the time steps of a series on each line; say so with `--shape wide`"];
        told.extend(header.contains("age").then_some("`age` never change"));
        assert_told(&loaded, &told);
        assert_again("wide.csv", text.as_bytes(), &loaded);
        // Said, it is no guess; and a long file goes with the same model.
        let said = Columns { shape: Some(Shape::Wide), ..Columns::default() };
        let said = load("wide.csv", text.as_bytes(), &ReadOptions { columns: said, ..ReadOptions::default() });
        assert_told(&said, &told[1..]);
        assert_same(&said.data, &loaded.data);
        assert_again("long.csv", wanted.as_bytes(), &loaded);
        let mut lines = LineReader::new(loaded.schema(), ReadOptions::default());
        let mut rows = wanted.lines();
        lines.header(rows.next().unwrap().as_bytes()).unwrap();
        let line = lines.row(rows.nth(1).unwrap().as_bytes()).unwrap();
        assert_eq!(
            (line.time, &line.values[..]),
            (Some(loaded.data.cases[0].times[1]), loaded.data.cases[0].row(1, line.values.len()))
        );
    }
}

#[test]
fn series_of_unequal_length_end_where_they_end() {
    let mut text = wide(",T", |i| i.to_string());
    text += "5,4,,2,,,,,\n,,,,,,,,\n";
    let data = read_bytes("wide.csv", text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(data.cases.iter().map(ncde_data::Case::len).collect::<Vec<_>>(), [9, 9, 4, 1]);
    assert!(data.cases[2].values[2].is_nan() && data.cases[2].values[3] == 2.0);
}

#[test]
fn an_owner_of_each_row_names_its_series() {
    let numbered = |text: String| text.replace("p0,", "0,").replace("p1,", "1,");
    for (text, id) in [
        (wide("patient_id,label,age,X", |i| i.to_string()), "p1"),
        (numbered(wide("id,label,age,X", |i| i.to_string())), "1"),
        (numbered(wide("id,label,age,T", |i| i.to_string())), "1"),
    ] {
        let loaded = load("wide.csv", text.as_bytes(), &ReadOptions::default());
        assert_eq!((loaded.data.cases.len(), loaded.data.cases[1].len(), &loaded.data.cases[1].id[..]), (2, STEPS, id));
        assert_again("wide.csv", text.as_bytes(), &loaded);
    }
}

#[test]
fn channels_that_are_numbered_stay_channels() {
    let flags = |columns: Columns| ReadOptions { columns, ..ReadOptions::default() };
    // A time, an id of several rows, few columns.
    let timed = wide("time,X", |i| i.to_string()).replace('p', "");
    assert_eq!(read(&timed).channels.len(), STEPS);
    let owned = wide("id,X", |i| i.to_string()).replace("p1", "p0");
    assert_eq!(read(&owned).channels.len(), STEPS);
    // Nobody can tell.
    let bare = wide(",X", |i| i.to_string());
    let error = read_bytes("bare.csv", bare.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("`x_0` to `x_8` may be") && error.contains("--shape wide"), "{error}");
    for (shape, cases) in [(Shape::Wide, 2), (Shape::Long, 1)] {
        let data = read_bytes("bare.csv", bare.as_bytes(), &flags(Columns { shape: Some(shape), ..Columns::default() })).unwrap();
        assert_eq!(data.cases.len(), cases);
    }
    let error = read_bytes("x.csv", b"id,time,x\na,0,1\n", &flags(Columns { shape: Some(Shape::Wide), ..Columns::default() }));
    assert!(error.unwrap_err().to_string().contains("it has no columns that are numbered or dated"));
}

/// Two channels of two series; units of each, and labels.
const MELTED: &str = "id,time,sensor,value,unit,label\n\
                      a,0,temp,20.5,C,up\na,0,hum,40,%,up\na,1,temp,21,C,up\na,2,hum,42,%,up\n\
                      b,0,hum,50,%,down\nb,0,temp,,C,down\nb,3,temp,19,C,down\n";

const PIVOTED: &str = "id,time,temp,hum,label\na,0,20.5,40,up\na,1,21,,up\na,2,,42,up\nb,0,,50,down\nb,3,19,,down\n";

#[test]
fn a_row_a_value_becomes_a_column_a_channel() {
    let mut blocks: Vec<&str> = MELTED.lines().collect();
    blocks[1..].sort_by_key(|line| !line.contains("temp"));
    for text in [MELTED.to_owned(), MELTED.replace("sensor", "variable"), blocks.join("\n")] {
        let loaded = load("melted.csv", text.as_bytes(), &ReadOptions::default());
        assert_same(&loaded.data, &read(PIVOTED));
        assert_told(&loaded, &["is taken to name the channel that `value` holds; say so with `--shape melted`"]);
        assert_again("melted.csv", text.as_bytes(), &loaded);
        assert_again("long.csv", PIVOTED.as_bytes(), &loaded);
    }
    // Other names, said; and a column that is of a channel.
    let columns = Columns { shape: Some(Shape::Melted), ..Columns::default() };
    let options = ReadOptions { columns, ..ReadOptions::default() };
    let text = MELTED.replace("sensor", "tag").replace("value", "Wert").replace("unit", "quality");
    let error = read_bytes("melted.csv", text.as_bytes(), &options).unwrap_err().to_string();
    assert!(error.contains("cannot be told"), "{error}");
    let text = text.replace(",quality", "").replace(",C", "").replace(",%", "");
    let loaded = load("melted.csv", text.as_bytes(), &options);
    assert_same(&loaded.data, &read(PIVOTED));
    assert_told(&loaded, &[]);
    assert_again("melted.csv", text.as_bytes(), &loaded);
    let text = MELTED.replace("unit", "made_by");
    let loaded = load("melted.csv", text.as_bytes(), &ReadOptions::default());
    assert_same(&loaded.data, &read(PIVOTED));
    assert_told(&loaded, &["columns `made_by` differ between the channels", "is taken to name the channel"]);
}

#[test]
fn melted_rows_without_times_are_counted_and_values_twice_are_not_lost() {
    let text = "id,variable,value\na,x,1\na,y,2\na,x,3\na,y,4\nb,y,5\n";
    let data = read(text);
    assert_eq!((data.channels.len(), data.cases[0].values.clone()), (2, vec![1.0, 2.0, 3.0, 4.0]));
    let text = "id,time,variable,value\na,0,x,1\na,0,x,2\na,1,x,3\n";
    let error = read_bytes("melted.csv", text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("time `0`") && error.contains("--duplicates"), "{error}");
    let many: String = (0..300).map(|i| format!("a,{i},c{i},1\n")).collect();
    let text = format!("id,time,variable,value\n{many}");
    let error = read_bytes("melted.csv", text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("more than 256 different names of channels"), "{error}");
    // A date and its clock, in one.
    let text = "id,date,clock,variable,value\na,2021-03-04,10:00,x,1\na,2021-03-04,10:00,y,2\na,2021-03-04,11:30,x,3\n";
    let loaded = load("melted.csv", text.as_bytes(), &ReadOptions::default());
    assert_eq!(loaded.data.cases[0].times[1] - loaded.data.cases[0].times[0], 5400.0);
    assert_again("melted.csv", text.as_bytes(), &loaded);
}
