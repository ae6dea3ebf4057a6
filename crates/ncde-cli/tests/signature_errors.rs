//! Bad input: the message each must produce, and exit code 2.

use crate::common;

use common::{CORNER, Folder, npy, npy_f64, npz};

/// Files in `tests/bad`, further flags, and what the message must say.
const BAD: &[(&str, &str, &[&str])] = &[
    ("empty.csv", "", &["is empty"]),
    ("blank.csv", "", &["is empty"]),
    ("only_header.csv", "", &["header row but no numbers"]),
    ("one_observation.csv", "", &["one observation", "at least two", "--basepoint"]),
    ("ragged.csv", "", &["line 3", "3 cells", "have 2"]),
    ("short_row.csv", "", &["line 4", "1 cells", "have 2"]),
    ("not_a_number.csv", "", &["line 3, column `price`", "`cheap` is not a number"]),
    ("mixed_first_line.csv", "", &["line 1, column `2`", "`b` is not a number", "header"]),
    ("semicolons.csv", "", &["line 2", "`0;1` is not a number", "separated by commas"]),
    ("gap.csv", "", &["line 3, column `y`", "is missing", "--missing forward", "--missing interpolate"]),
    ("nan.csv", "", &["line 2, column `1`", "is missing"]),
    ("infinite.csv", "", &["line 3, column `y`", "inf", "finite"]),
    ("infinite.csv", "--missing forward", &["line 3, column `y`", "inf"]),
    ("gap_at_start.csv", "--missing forward", &["line 2, column `y`", "nothing to carry forward", "--basepoint"]),
    ("never.csv", "--missing interpolate", &["line 2, column `y`", "no value at all"]),
    ("times.csv", "--times t", &["line 4, column `t`", "the time 1 comes after 1", "must increase"]),
    ("times.csv", "--times z", &["no column `z`", "`t`, `x`"]),
    ("times.csv", "--times 3", &["no column `3`", "`t`, `x`"]),
    ("gap_in_times.csv", "--times t --missing forward", &["line 3, column `t`", "time is missing"]),
    ("only_times.csv", "--times t", &["no channel beside the times", "--time"]),
    ("fine.csv", "--interpolation rectilinear", &["add `--time`"]),
    ("fine.csv", "--interpolation rectilinear --time --missing interpolate", &["--missing forward"]),
    ("fine.csv", "--array x", &["not an .npz"]),
];

#[test]
fn bad_text_is_explained() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bad");
    for (file, flags, parts) in BAD {
        let run = Folder::new().run(&format!("signature --input {folder}/{file} --depth 2 {flags}"));
        run.failed(2, parts);
        assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    }
}

#[test]
fn every_bad_file_is_in_the_table() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bad")).unwrap();
    for file in files {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(BAD.iter().any(|(file, ..)| *file == name), "{name} has no message");
    }
}

#[test]
fn bad_arrays_are_explained() {
    let nan = f64::NAN;
    let zip_of_text = npz(&[("readme.txt", b"hello".to_vec())]);
    let broken_zip = npz(&[("x.npy", npy_f64("(2, 1)", &[0.0, 1.0]))])[..40].to_vec();
    let header = |text: &str| {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    };
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("text.npy", CORNER.into(), &["does not start with the npy magic", "name it .csv"]),
        ("text.npz", CORNER.into(), &["does not start as a zip archive", "name it .csv"]),
        ("array.csv", npy_f64("(1, 1)", &[0.0]), &["starts with the npy magic", "name it .npy"]),
        ("array.npz", npy_f64("(1, 1)", &[0.0]), &["does not start as a zip archive", "name it .npy"]),
        ("empty.npy", vec![], &["is empty"]),
        ("zip.npz", zip_of_text, &["holds no arrays"]),
        ("broken.npz", broken_zip, &["broken zip archive"]),
        ("inside.npz", npz(&[("x.npy", CORNER.into())]), &["inside.npz:x", "npy magic"]),
        ("short.npy", b"\x93NUMPY\x01\x00\x50".to_vec(), &["broken npy header", "ends inside"]),
        ("version.npy", b"\x93NUMPY\x07\x00\x50\x00".to_vec(), &["version 7"]),
        ("keys.npy", header("{'descr': '<f8'}"), &["`fortran_order` is missing"]),
        ("shape.npy", npy("<f8", "False", "(2, -1)", &[]), &["`-1`", "not a size"]),
        ("truncated.npy", npy_f64("(3, 2)", &[0.0; 5]), &["ends too early", "48 bytes", "40 are there"]),
        ("huge.npy", npy_f64("(9999999999, 9999999999, 9999999999)", &[]), &["ends too early"]),
        ("complex.npy", npy("<c16", "False", "(2, 1)", &[0; 32]), &["`<c16`", "astype"]),
        ("strings.npy", npy("<U3", "False", "(2, 1)", &[0; 24]), &["holds text", "astype"]),
        ("half.npy", npy("<f2", "False", "(2, 1)", &[0; 4]), &["`<f2`", "astype"]),
        ("flat.npy", npy_f64("(2,)", &[0.0, 1.0]), &["1 dimension, [2]", "reshape(-1, 1)"]),
        ("four.npy", npy_f64("(1, 1, 2, 1)", &[0.0, 1.0]), &["4 dimensions, [1, 1, 2, 1]", "[batch, length, channels]"]),
        ("nothing.npy", npy_f64("(0, 2, 1)", &[]), &["is empty", "[0, 2, 1]"]),
        ("nan.npy", npy_f64("(2, 2, 1)", &[0.0, 1.0, nan, 2.0]), &["entry [1, 0, 0]", "is missing"]),
        ("one.npy", npy_f64("(5, 1, 2)", &[0.0; 10]), &["one observation"]),
    ];
    for (name, bytes, parts) in cases {
        let run = Folder::new().with(name, bytes).run(&format!("signature --input {name} --depth 2"));
        run.failed(2, parts);
        assert!(run.stderr.contains(name), "{}", run.stderr);
    }
}

#[test]
fn bad_names_are_explained() {
    let folder = Folder::new().with("a.txt", CORNER);
    folder.run("signature --input nope.csv --depth 2").failed(2, &["cannot open `nope.csv`", "check the name"]);
    folder.run("signature --input a.txt --depth 2").failed(2, &["`a.txt`", ".csv, .npy or .npz"]);
    folder.run("signature --input nope --depth 2").failed(2, &["`nope`", ".csv, .npy or .npz"]);
}

#[test]
fn bad_usage_is_explained() {
    let folder = Folder::new().with("a.csv", CORNER);
    let cases: &[(&str, &[&str])] = &[
        ("signature --input a.csv", &["--depth"]),
        ("signature --input a.csv --depth 0", &["depth 0 keeps only the constant 1"]),
        ("signature --input a.csv --depth two", &["whole number"]),
        ("signature --input a.csv --depth 2 --window 0", &["1 or more"]),
        ("signature --input a.csv --depth 2 --refinement 99999999", &["1 to 65536"]),
        ("signature --input a.csv --depth 2 --window 2 --stream", &["cannot be used with"]),
        ("signature --input a.csv --depth 2 --basis hall", &["--log"]),
        ("signature --input a.csv --depth 2 --basis lie", &["lyndon, hall, expanded"]),
        ("signature --input a.csv --depth 2 --json --output b.csv", &["cannot be used with"]),
        ("signature --inptu a.csv", &["--input"]),
        ("signatur", &["signature"]),
        ("", &["Usage"]),
    ];
    for (arguments, parts) in cases {
        folder.run(arguments).failed(2, parts);
    }
}

#[test]
fn sizes_are_counted_before_memory_is_asked_for() {
    let folder = Folder::new().with("a.csv", "0,0,0,0,0,0,0,0,0,0\n1,1,1,1,1,1,1,1,1,1\n");
    folder.run("signature --input a.csv --depth 30").failed(2, &["1111111111111111111111111111110 coordinates"]);
    folder.run("signature --input a.csv --depth 1000").failed(2, &["about 1e1000 coordinates"]);
    if cfg!(target_os = "linux") {
        folder
            .run("signature --input a.csv --depth 12")
            .failed(2, &["1111111111110 coordinates", "TiB are needed", "of memory are available", "lower `--depth`"]);
        folder.run("signature --input a.csv --depth 12 --log").failed(2, &["10 channels at depth 12", "TiB are needed"]);
    }
}
