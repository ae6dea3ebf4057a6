//! Which axis of an array is time.

use std::io::Cursor;

use ncde_data::npy::{Array, Data, write_npz};
use ncde_data::{Columns, Dataset, ReadOptions};

use super::{assert_same, assert_told, load};

fn npz(arrays: &[(&str, Array)]) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    write_npz(arrays, &mut out).unwrap();
    out.into_inner()
}

/// Entry `100 case + 10 step + channel`, with time as the second or the last axis.
fn series(length: usize, channels: usize, channels_first: bool) -> Array {
    let (middle, last) = if channels_first { (channels, length) } else { (length, channels) };
    let mut entries = vec![];
    for case in 0..2 {
        for i in 0..middle {
            for k in 0..last {
                let (step, channel) = if channels_first { (k, i) } else { (i, k) };
                entries.push((1000 * case + 10 * step + channel) as f64);
            }
        }
    }
    Array { shape: vec![2, middle, last], data: Data::F64(entries) }
}

fn floats(entries: &[f64]) -> Array {
    Array { shape: vec![entries.len()], data: Data::F64(entries.to_vec()) }
}

fn read(arrays: &[(&str, Array)], channels_first: Option<bool>) -> ncde_data::Loaded {
    let columns = Columns { channels_first, ..Columns::default() };
    load("x.npz", &npz(arrays), &ReadOptions { columns, ..ReadOptions::default() })
}

const TOLD: &str = "is read as [cases, channels, length]; say so with `--channels-first true`";

#[test]
fn other_arrays_tell_which_axis_is_time() {
    let ints = |shape: &[usize], entries: &[i64]| Array { shape: shape.to_vec(), data: Data::Int(entries.to_vec()) };
    let names = Array { shape: vec![2], data: Data::Text(vec!["u".into(), "v".into()]) };
    for other in [
        ("times", floats(&[0.0, 1.0, 5.0])),
        ("times", Array { shape: vec![2, 3], ..floats(&[0.0, 1.0, 5.0, 0.0, 2.0, 4.0]) }),
        ("lengths", ints(&[2], &[3, 2])),
        ("channels", names),
        ("y", ints(&[2, 3], &[0, 1, 0, 1, 1, 0])),
    ] {
        let wanted: Dataset = {
            let loaded = read(&[("X", series(3, 2, false)), other.clone()], None);
            assert_told(&loaded, &[]);
            loaded.data
        };
        let loaded = read(&[("X", series(3, 2, true)), other.clone()], None);
        assert_same(&loaded.data, &wanted);
        assert_told(&loaded, &[TOLD]);
        assert!(loaded.warnings[0].seen.starts_with("array `X` of shape [2, 2, 3]"));
        let said = read(&[("X", series(3, 2, true)), other], Some(true));
        assert_same(&said.data, &wanted);
        assert_told(&said, &[]);
    }
}

#[test]
fn numbers_that_are_missing_are_so_in_arrays_too() {
    let columns = Columns { missing: Some(vec!["10".into()]), ..Columns::default() };
    let options = ReadOptions { columns, ..ReadOptions::default() };
    let data = load("x.npz", &npz(&[("X", series(2, 1, false))]), &options).data;
    assert!(data.cases[0].values[0] == 0.0 && data.cases[0].values[1].is_nan());
    let data = load("x.ts", b"@problemName p\n@classLabel true a b\n@data\n1,10:a\n", &options).data;
    assert!(data.cases[0].values[1].is_nan());
}

#[test]
fn a_much_longer_last_axis_is_time() {
    let wanted = read(&[("X", series(64, 8, false))], None);
    assert_told(&wanted, &[]);
    let loaded = read(&[("X", series(64, 8, true))], None);
    assert_same(&loaded.data, &wanted.data);
    assert_told(&loaded, &[TOLD]);
    // Nothing tells, or the caller does.
    assert_eq!(read(&[("X", series(64, 9, true))], None).data.channels.len(), 64);
    assert_eq!(read(&[("X", series(64, 8, true))], Some(false)).data.channels.len(), 64);
    assert_same(&read(&[("X", series(5, 4, true))], Some(true)).data, &read(&[("X", series(5, 4, false))], None).data);
}
