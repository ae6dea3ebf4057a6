//! Files in and out: formats, number types, shapes, and what happens to what was there.

use crate::common;

use std::process::Stdio;

use common::{CORNER, Folder, f32s, f64s, npy, npy_f32, npy_f64, npz, parse_csv, split_npy};

const TWO: [f64; 12] = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0];

#[test]
fn npy_in_npy_out() {
    let folder = Folder::new().with("a.npy", npy_f64("(2, 3, 2)", &TWO));
    let run = folder.run("signature --input a.npy --depth 2 --log --output b.npy");
    assert_eq!(run.ok().stdout, "");
    assert!(run.stderr.contains("b.npy`: [2, 3], f64"), "{}", run.stderr);
    let bytes = folder.read("b.npy");
    let (header, data) = split_npy(&bytes);
    assert!(header.starts_with("{'descr': '<f8', 'fortran_order': False, 'shape': (2,3,), }"), "{header}");
    assert_eq!(f64s(data), [1.0, 1.0, 0.5, 1.0, 1.0, -0.5]);
}

#[test]
fn f32_stays_f32() {
    let third: Vec<f32> = TWO.iter().map(|&x| x as f32 / 3.0).collect();
    let folder = Folder::new().with("a.npy", npy_f32("(2, 3, 2)", &third));
    folder.run("signature --input a.npy --depth 1 --output b.npy").ok();
    let bytes = folder.read("b.npy");
    let (header, data) = split_npy(&bytes);
    assert!(header.contains("'<f4'"), "{header}");
    assert_eq!(f32s(data), [1.0_f32 / 3.0; 4]);
    // In f64 the same digits would go on: 0.3333333432674408.
    let csv = folder.run("signature --input a.npy --depth 1");
    assert_eq!(csv.csv()[1], ["1", "0.33333334", "0.33333334"]);
}

#[test]
fn shapes_follow_the_input() {
    let folder = Folder::new().with("one.npy", npy_f64("(3, 2)", &TWO[..6])).with("two.npy", npy_f64("(2, 3, 2)", &TWO));
    let cases = [
        ("one", "", "(6,)"),
        ("one", "--window 1", "(2,6,)"),
        ("one", "--window 99", "(1,6,)"),
        ("one", "--stream", "(2,6,)"),
        ("two", "", "(2,6,)"),
        ("two", "--window 1", "(2,2,6,)"),
        ("two", "--stream", "(2,2,6,)"),
        ("two", "--stream --time", "(2,2,12,)"),
        ("two", "--stream --basepoint", "(2,3,6,)"),
    ];
    for (file, flags, shape) in cases {
        folder.run(&format!("signature --input {file}.npy --depth 2 {flags} --output out.npy")).ok();
        let bytes = folder.read("out.npy");
        let (header, _) = split_npy(&bytes);
        assert!(header.contains(&format!("'shape': {shape}")), "{file} {flags}: {header}");
    }
}

#[test]
fn npz_arrays_are_found_by_name() {
    let one = || npy_f64("(3, 2)", &TWO[..6]);
    let folder = Folder::new()
        .with("one.npz", npz(&[("x.npy", one())]))
        .with("two.npz", npz(&[("x.npy", one()), ("y.npy", npy_f64("(2, 1)", &[0.0, 7.0]))]));
    assert_eq!(folder.run("signature --input one.npz --depth 1").numbers(), [[1.0, 1.0]]);
    assert_eq!(folder.run("signature --input two.npz:y --depth 1").numbers(), [[7.0]]);
    assert_eq!(folder.run("signature --input two.npz --array y --depth 1").numbers(), [[7.0]]);
    folder.run("signature --input two.npz --depth 1").failed(2, &["several arrays", "`x`, `y`", "--array NAME"]);
    folder.run("signature --input two.npz:z --depth 1").failed(2, &["no array `z`", "`x`, `y`"]);
}

#[test]
fn npz_comes_back() {
    let folder = Folder::new().with("a.npy", npy_f32("(3, 1)", &[0.0, 2.0, 5.0]));
    folder.run("signature --input a.npy --depth 1 --stream --output s.npz").ok();
    // The prefixes 2, 5 are themselves a path with increment 3.
    let run = folder.run("signature --input s.npz:signature --depth 1");
    assert_eq!(run.numbers(), [[3.0]]);
}

#[test]
fn csv_output_has_labels_and_indices() {
    let folder = Folder::new().with("a.csv", CORNER);
    folder.run("signature --input a.csv --depth 2 --log --stream --output out.csv").ok();
    let text = String::from_utf8(folder.read("out.csv")).unwrap();
    assert!(text.starts_with("step,1,2,\"[1,2]\"\n"), "{text}");
    let rows = parse_csv(&text);
    assert_eq!(rows[2], ["2", "1.0", "1.0", "0.5"]);
}

#[test]
fn other_layouts_are_understood() {
    let columns: Vec<u8> = [0.0, 1.0, 1.0, 0.0, 0.0, 1.0_f64].iter().flat_map(|x| x.to_le_bytes()).collect();
    let big: Vec<u8> = TWO[..6].iter().flat_map(|&x| (x as f32).to_be_bytes()).collect();
    let integers: Vec<u8> = [0_i16, 0, 1, 0, 1, 1].iter().flat_map(|x| x.to_le_bytes()).collect();
    let folder = Folder::new()
        .with("fortran.npy", npy("<f8", "True", "(3, 2)", &columns))
        .with("big.npy", npy(">f4", "False", "(3, 2)", &big))
        .with("integers.npy", npy("<i2", "False", "(3, 2)", &integers));
    for file in ["fortran", "big", "integers"] {
        let run = folder.run(&format!("signature --input {file}.npy --depth 2 --log"));
        assert_eq!(run.numbers(), [[1.0, 1.0, 0.5]], "{file}");
    }
    let run = folder.run("signature --input integers.npy --depth 1");
    assert!(run.stderr.contains("holds integers; computing in f64"), "{}", run.stderr);
}

#[test]
fn headers_are_detected() {
    let folder =
        Folder::new().with("bare.csv", "0,0\n1,0\n1,1\n").with("bom.csv", format!("\u{feff}{}", CORNER.replace('\n', "\r\n")));
    for file in ["bare", "bom"] {
        assert_eq!(folder.run(&format!("signature --input {file}.csv --depth 2 --log")).numbers(), [[1.0, 1.0, 0.5]]);
    }
}

#[test]
fn a_minus_is_standard_input_and_output() {
    let run = Folder::new().run_with("signature --input - --depth 2 --log --output -", CORNER);
    assert_eq!(run.ok().stdout, "1,2,\"[1,2]\"\n1.0,1.0,0.5\n");
    Folder::new().run_with("signature --input - --depth 1", "x\n1\nb\n").failed(2, &["`standard input`, line 3", "`b`"]);
}

#[test]
fn failures_leave_what_was_there() {
    let folder = Folder::new().with("a.csv", "0\n1e200\n").with("out.csv", "precious");
    folder.run("signature --input a.csv --depth 3 --output out.csv").failed(2, &["`a.csv`", "overflows"]);
    assert_eq!(folder.read("out.csv"), b"precious");
    assert_eq!(folder.names(), ["a.csv", "out.csv"]);
    folder.run("signature --input a.csv --depth 1 --output out.csv").ok();
    assert_eq!(folder.read("out.csv"), b"(1)\n1e200\n");
    assert_eq!(folder.names(), ["a.csv", "out.csv"]);
}

#[cfg(unix)]
#[test]
fn files_get_the_usual_permissions_and_links_stay_links() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new().with("a.csv", CORNER).with("real.csv", "old");
    std::os::unix::fs::symlink("real.csv", folder.path("link.csv")).unwrap();
    folder.run("signature --input a.csv --depth 1 --output link.csv").ok();
    assert!(folder.path("link.csv").is_symlink());
    assert_eq!(folder.read("real.csv"), b"(1),(2)\n1.0,1.0\n");
    let mode = |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("real.csv"), mode("a.csv"));
}

#[test]
fn targets_are_checked_before_the_work() {
    let folder = Folder::new().with("a.csv", "0\nbroken\n");
    folder.run("signature --input a.csv --depth 1 --output x.txt").failed(2, &["`x.txt`", ".csv, .npy or .npz"]);
    folder.run("signature --input a.csv --depth 1 --output no/x.csv").failed(2, &["`no/x.csv`", "folder `no` does not exist"]);
    std::fs::create_dir(folder.path("d.csv")).unwrap();
    folder.run("signature --input a.csv --depth 1 --output d.csv").failed(2, &["no file"]);
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let rows: String = (0..20_000).map(|i| format!("{i}\n")).collect();
    let folder = Folder::new().with("a.csv", rows);
    for flags in ["--output -", "--json"] {
        let mut child = folder
            .command(&format!("signature --input a.csv --depth 4 --stream {flags}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{flags}");
        assert_eq!(output.stderr, b"", "{flags}");
    }
}
