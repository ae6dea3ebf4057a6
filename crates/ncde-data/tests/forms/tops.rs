//! What stands above the rows, and cells of several lines.

use ncde_data::{ReadOptions, read_bytes};

use super::{PLAIN, assert_again, assert_same, assert_told, load, plain};

/// The plain table with these lines instead of its header.
fn below(top: &str) -> String {
    PLAIN.replacen("id,time,größe,state,label\n", top, 1)
}

fn read(text: &str) -> ncde_data::Dataset {
    read_bytes("top.csv", text.as_bytes(), &ReadOptions::default()).unwrap()
}

#[test]
fn lines_above_the_header_are_skipped() {
    for (top, told) in [
        ("Station 7\nBerlin, roof\n\nid,time,größe,state,label\n", "the header is taken to be line 4, below 2 lines"),
        (
            "exported 2021-03-04;by;a program;of;ours;and more\nid,time,größe,state,label\n",
            "the header is taken to be line 2, below 1 line of",
        ),
        ("Report,,,,\n,,,,\nDate,2021-03-04,,,\nid,time,größe,state,label\n", "line 4, below 3 lines"),
        ("sep=,\n# a comment\nid,time,größe,state,label\n", ""),
    ] {
        let text = below(top);
        let loaded = load("top.csv", text.as_bytes(), &ReadOptions::default());
        assert_same(&loaded.data, &plain());
        if told.is_empty() {
            assert_told(&loaded, &[]);
        } else {
            assert_told(&loaded, &[told]);
        }
        assert_again("top.csv", text.as_bytes(), &loaded);
    }
}

#[test]
fn a_row_of_units_is_skipped() {
    for units in [",s,mm,,", "-,h,\"mm, wet\",[-],[-]", "text,seconds,mm,word,word"] {
        let text = below(&format!("id,time,größe,state,label\n{units}\n"));
        let loaded = load("top.csv", text.as_bytes(), &ReadOptions::default());
        assert_same(&loaded.data, &plain());
        assert_told(&loaded, &["stands above columns of numbers: it is taken for units, and is skipped"]);
        assert_again("top.csv", text.as_bytes(), &loaded);
    }
    let both = below("Station 7\nid,time,größe,state,label\n,s,mm,,\n");
    let loaded = load("top.csv", both.as_bytes(), &ReadOptions::default());
    assert_same(&loaded.data, &plain());
    assert_told(&loaded, &["line 3 (`s`)", "the header is taken to be line 2, below 1 line of"]);
}

#[test]
fn names_of_two_levels_are_joined() {
    for top in ["id,time,in,in,out,out\n,,temp,hum,temp,hum\n", "id,time,in,,out,\n,,temp,hum,temp,hum\n"] {
        let text = format!("{top}a,0,1,2,3,4\na,1,5,6,7,8\nb,0,9,8,7,6\n");
        let loaded = load("levels.csv", text.as_bytes(), &ReadOptions::default());
        assert_eq!(loaded.data.channels, ["in_temp", "in_hum", "out_temp", "out_hum"]);
        assert_eq!(loaded.data.cases[0].values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_told(&loaded, &["it is taken for the second part of names"]);
        assert_again("levels.csv", text.as_bytes(), &loaded);
    }
}

#[test]
fn rows_of_words_are_rows() {
    // The first row has a gap, a word that is there again, or is one of too few.
    for (text, rows) in [
        ("id,time,x\na,0,NA\na,1,2\na,2,3\n", 3),
        ("time,state,x\n0,on,1\n1,off,2\n2,on,1\n", 3),
        ("word,label\nthe,a\ncat,b\nsat,a\n", 3),
    ] {
        assert_eq!(read(text).cases.iter().map(ncde_data::Case::len).sum::<usize>(), rows, "{text}");
    }
}

#[test]
fn a_cell_in_quotes_may_hold_ends_of_lines() {
    let text = PLAIN.replace("on,", "\"on\r\n\"\"and\"\" on\",").replace("id,time", "\"id\",\"time\n\"");
    let data = read(&text);
    assert_eq!(data.cases.len(), 2);
    assert_eq!(data.channels, ["größe", "state=off", "state=on\r\n\"and\" on"]);
    assert_eq!(data.cases[1].values[2], 0.0);
    // Lines are those of the file.
    let text = "id,time,note,x\na,0,\"two\nlines\",1\na,1,one,oops\n";
    let error = read_bytes("top.csv", text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("`top.csv`, line 4, column `x`: `oops` is not a number"), "{error}");
    // A quote in the middle of a cell opens nothing, and one that is never closed is told where it is.
    assert_eq!(read("time,size,x\n0,5\",1\n1,6\",2\n").cases[0].len(), 2);
    let open = format!("time,x\n0,1\n1,\"2\n{}", "2,3\n".repeat(100_000));
    let error = read_bytes("top.csv", open.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("`top.csv`, line 3: a quote is not closed"), "{error}");
}
