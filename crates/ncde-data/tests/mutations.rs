//! Broken copies of good files: whatever the bytes are, a reader gives a dataset that is sound, or an error, and never more.
//!
//! `ncde_reference::mutation` says how to go on for longer.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use ncde_data::npy::{Array, Data, write_npz};
use ncde_data::{Dataset, Format, Layout, LineReader, ReadOptions, Targets, load_bytes, read_bytes};
use ncde_reference::mutation::mutants;
use proptest::prelude::*;

/// What every later stage trusts.
fn assert_sound(data: &Dataset) {
    assert!(!data.cases.is_empty());
    let cases = data.cases.len();
    for case in &data.cases {
        assert!(!case.is_empty());
        assert_eq!(case.values.len(), case.len() * data.channels.len());
        assert_eq!(case.statics.len(), data.statics.len());
        assert!(case.times.iter().all(|t| t.is_finite()));
        assert!(case.times.windows(2).all(|two| two[0] < two[1]));
        assert!(case.values.iter().chain(&case.statics).all(|x| !x.is_infinite()));
    }
    if let Some(vocabulary) = &data.vocabulary {
        let is_token = |x: &f64| *x >= 0.0 && x.fract() == 0.0 && *x < vocabulary.len() as f64;
        assert!(data.channels.len() == 1 && data.cases.iter().all(|case| case.values.iter().all(is_token)));
    }
    let lengths = |of: Vec<usize>| assert!(of.iter().zip(&data.cases).all(|(length, case)| *length == case.len()));
    match &data.targets {
        Targets::None => {}
        Targets::Classes { names, of } => assert!(of.len() == cases && of.iter().all(|&class| class < names.len())),
        Targets::Values { of, .. } => assert!(of.len() == cases && of.iter().all(|x| x.is_finite())),
        Targets::ClassSteps { names, of } => {
            assert!(of.len() == cases && of.iter().flatten().flatten().all(|&class| class < names.len()));
            lengths(of.iter().map(Vec::len).collect());
        }
        Targets::ValueSteps { of, .. } => {
            assert!(of.len() == cases && of.iter().flatten().all(|x| !x.is_infinite()));
            lengths(of.iter().map(Vec::len).collect());
        }
    }
    assert!(data.summary().to_string().lines().all(|line| line.chars().count() <= 80));
    let (unique, dropped) = data.clone().without_duplicates();
    assert_eq!(unique.cases.len() + dropped, cases);
    assert!(data.clone().aligned(&data.schema()).is_ok());
}

pub(crate) fn survives(format: Format, seeds: &[Vec<u8>], rounds: usize) {
    survives_packed(format, seeds, rounds, <[u8]>::to_vec);
}

/// The same of what becomes a file only when it is packed, so that no checksum catches the mutants.
fn survives_packed(format: Format, seeds: &[Vec<u8>], rounds: usize, pack: impl Fn(&[u8]) -> Vec<u8>) {
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    for seed in seeds {
        assert_sound(&read_bytes("seed", &pack(seed), &options).unwrap());
    }
    let (good, bad) = mutants(seeds, rounds, |bytes| match read_bytes("mutant", &pack(bytes), &options) {
        Ok(data) => {
            assert_sound(&data);
            true
        }
        Err(error) => {
            let message = error.to_string();
            assert!(message.chars().count() < 2_000 && !message.ends_with('.'), "{message}");
            false
        }
    });
    assert!(good > 0 && bad > 0, "{good} good and {bad} bad mutants: the mutations are too tame or too wild");
}

fn texts(seeds: &[&str]) -> Vec<Vec<u8>> {
    seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect()
}

#[test]
fn ts() {
    let seeds = [
        "# c\n@problemName p\n@timeStamps false\n@dimensions 2\n@classLabel true a b\n@data\n1,2,3:4,?,6.5:a\n7:8e-2:b\n",
        "@timeStamps true\n@dimensions 2\n@targetLabel true\n@data\n(0,1),(1.5,2):(0,3):0.5\n(2,1):(2,?):1.5\n",
        "@timeStamps true\n@data\n(2020-01-01T00:00:00,1),(2020-01-01 12:00,2):(2020-01-02,3)\n",
    ];
    survives(Format::Ts, &texts(&seeds), 3_000);
}

#[test]
fn arff() {
    let seeds = [
        "@relation r\n@attribute s relational\n@attribute t numeric\n@end s\n@attribute class {a,'b c'}\n@data\n'1,2\\n3,?',a\n'5\\n6','b c'\n",
        "@relation r\n@attribute x real\n@attribute y real\n@attribute target numeric\n@data\n1,2,0.5\n3,?,1\n",
    ];
    survives(Format::Arff, &texts(&seeds), 3_000);
}

#[test]
fn csv() {
    let seeds = [
        "id,time,age,unit,x,label\na,0,30,kg,1.5,u\na,1,30,g,,u\nb,0,40,kg,2,v\nb,2,40,?,3,v\n",
        "date,x,target\n2020-01-01,1,0.5\n2020-01-01T12:00:00Z,NA,\n2020-01-02,3,2.5\n",
        "case;t;\"a;b\"\n1;0;1\n2;0;2\n1;1;3\n",
        "id,time,word,label\na,0,the,u\na,1,cat,v\nb,0,\"a, b\",u\nb,2,9,u\n",
    ];
    survives(Format::Csv, &texts(&seeds), 3_000);
    survives(Format::Csv, &texts(TABLES), 2_000);
}

#[test]
fn csv_in_other_forms() {
    let seeds = [
        "id,label,t0,t1,t2,t3,t4,t5,t6,t7\na,u,1,2,3,4,5,6,7,8\nb,v,2,3,4,5,6,7,,\n",
        "name;2020-01-01;2020-01-02;2020-01-03;2020-01-04;2020-01-05;2020-01-06;2020-01-07;2020-01-08\na;1;2;3;4;5;6;7;8\nb;1;2;3;4;5;6;7;8\n",
        "id,date,clock,sensor,value,unit\na,2021-03-04,10:00,x,1,kg\na,2021-03-04,10:00,y,2,m\na,2021-03-05,11:30,x,3,kg\n",
        "Station 7\nBerlin\nid,time,in,in\n,s,a,b\na,0,1,2\na,1,\"2\",3\nb,0,4,-\n",
        "id,note,x\na,\"two\nlines\",1\nb,\"a \"\"b\"\"\",--\n",
    ];
    survives(Format::Csv, &texts(&seeds), 1_500);
}

#[test]
fn json() {
    let seeds = [
        "[{\"id\": \"a\", \"time\": 0, \"x\": 1.5}, {\"id\": \"a\", \"time\": 1e0, \"x\": null}, {\"id\": \"b\", \"time\": 0, \"x\": NaN}]",
        "{\"id\": \"a\", \"x\": [1, 2], \"in\": {\"y\": [3, 4]}}\n{\"id\": \"b\", \"x\": [[1, 2]], \"y\": [{\"z\": true}]}\n",
        "{\"columns\": [\"id\", \"x\"], \"data\": [[\"a\", 1], [\"b\", -2]]}",
        "{\"id\": {\"0\": \"a\", \"1\": \"b\"}, \"x\": {\"0\": 1, \"1\": 2}}",
    ];
    survives(Format::Json, &texts(&seeds), 2_000);
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    assert!(read_bytes("deep.json", &deep, &ReadOptions::default()).is_err());
}

#[test]
fn utf16() {
    let seed = "id,time,größe,label\na,0,1.5,u\na,1,,u\nb,0,𝄞,v\n".replace('𝄞', "2");
    let units: Vec<u8> = seed.encode_utf16().flat_map(u16::to_le_bytes).collect();
    survives(Format::Csv, &[[b"\xff\xfe", &units[..]].concat(), units, b"id,time,gr\xf6\xdfe\na,0,1\na,1,2\n".to_vec()], 1_000);
}

/// Tables as people write them.
const TABLES: &[&str] = &[
    "patient_id;Datum;Wert;Anz;sex;label\np1;03.04.2021 10:00;1,5;1.234,0;f;u\np1;14.04.2021;2,5;;f;u\np2;03.04.2021;1.234,5;7;m;v\n",
    "sep=,\n,subject,timestamp,y,note\n0,1,3/14/2021 1:05 PM,\"1,234.5\",a\n1,1,3/15/2021 1:05 AM,2,b\n2,2,3/14/2021,3,c\n",
    "# comment\nunit|cycle|s1|state\n1|1|1.5|on\n1|2|2.5|off\n2|1|3.5|on\n",
    "id,t,x\na,1614870367000,1\na,1614870368000,2\nb,1614870367500,3\n",
    "id,date,x\na,20210304,1 234\na,20210305,2 345\nb,20210304,3\n",
];

#[test]
fn lines_of_a_stream() {
    let seeds: Vec<_> =
        TABLES.iter().map(|seed| load_bytes("seed.csv", seed.as_bytes(), &ReadOptions::default()).unwrap()).collect();
    let (good, bad) = mutants(&texts(TABLES), 600, |text| {
        let mut taken = false;
        for seed in &seeds {
            let mut reader = LineReader::new(seed.schema(), ReadOptions::default());
            let mut lines = text.split(|&byte| byte == b'\n');
            while lines.next().is_some_and(|line| reader.header(line).is_err()) {}
            for line in lines {
                match reader.row(line) {
                    Ok(line) => {
                        assert_eq!((line.values.len(), line.statics.len()), (seed.data.channels.len(), seed.data.statics.len()));
                        assert!(line.values.iter().chain(&line.statics).chain(&line.time).all(|x| !x.is_infinite()));
                        taken = true;
                    }
                    Err(error) => assert!(error.to_string().chars().count() < 2_000),
                }
            }
        }
        taken
    });
    assert!(good > 0 && bad > 0, "{good} good and {bad} bad lines");
}

#[test]
fn layouts() {
    let load = |seed: &&str, layout| load_bytes("seed.csv", seed.as_bytes(), &ReadOptions { layout, ..ReadOptions::default() });
    let seeds: Vec<Vec<u8>> = TABLES.iter().map(|seed| serde_json::to_vec(&load(seed, None).unwrap().layout).unwrap()).collect();
    let (good, bad) = mutants(&seeds, 1_500, |json| {
        let Ok(layout) = serde_json::from_slice::<Layout>(json) else { return false };
        for seed in TABLES {
            if let Ok(data) = load(seed, Some(layout.clone())) {
                assert_sound(&data.data);
            }
        }
        true
    });
    assert!(good > 0 && bad > 0, "{good} good and {bad} bad layouts");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in Format::ALL {
            let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
            if let Ok(data) = read_bytes("any", &bytes, &options) {
                assert_sound(&data);
            }
        }
        let _ = read_bytes("any", &bytes, &ReadOptions::default());
    }

    #[test]
    fn any_cells(text in "([a-z_]{1,9}[,;]){1,4}[a-z]{1,5}\n(([0-9]{1,4}([.,/:-][0-9]{1,4}){0,3}|[a-z]{0,3}|[ \"'?])[,;]?){0,30}\n{0,1}") {
        if let Ok(data) = read_bytes("any.csv", text.as_bytes(), &ReadOptions::default()) {
            assert_sound(&data);
        }
    }
}

fn cube() -> Array {
    Array { shape: vec![2, 3, 2], data: Data::F64((0..12).map(f64::from).collect()) }
}

#[test]
fn npy() {
    let mut bytes = Vec::new();
    ncde_data::npy::write(&cube(), &mut bytes).unwrap();
    survives(Format::Npy, &[bytes], 5_000);
}

#[test]
fn npz() {
    let text = |texts: &[&str]| Array { shape: vec![texts.len()], data: Data::Text(texts.iter().map(|&t| t.into()).collect()) };
    let arrays = [
        ("X", cube()),
        ("y", Array { shape: vec![2, 3], data: Data::Int(vec![0, 1, -1, 1, 1, 0]) }),
        ("classes", text(&["u", "v"])),
        ("lengths", Array { shape: vec![2], data: Data::Int(vec![3, 2]) }),
        ("times", Array { shape: vec![2, 3], data: Data::F64(vec![0.0, 1.0, 2.0, 5.0, 6.0, f64::NAN]) }),
        ("statics", Array { shape: vec![2, 1], data: Data::F32(vec![1.0, 2.0]) }),
        ("ids", text(&["p", "q"])),
    ];
    let mut out = Cursor::new(Vec::new());
    write_npz(&arrays, &mut out).unwrap();
    let tokens = [
        ("X", Array { shape: vec![2, 2], data: Data::Int(vec![0, 2, 1, 1]) }),
        ("vocabulary", text(&["a", "b", "<unknown>"])),
        ("lengths", Array { shape: vec![2], data: Data::Int(vec![2, 1]) }),
    ];
    let mut more = Cursor::new(Vec::new());
    write_npz(&tokens, &mut more).unwrap();
    let words = [("X", Array { shape: vec![2, 2, 1], ..text(&["the", "cat", "sat", ""]) }), tokens[2].clone()];
    let mut most = Cursor::new(Vec::new());
    write_npz(&words, &mut most).unwrap();
    survives(Format::Npz, &[out.into_inner(), more.into_inner(), most.into_inner()], 1_000);
}

/// The array `X` of a file whose checksums are right.
#[test]
fn npz_inside() {
    let mut bytes = Vec::new();
    ncde_data::npy::write(&cube(), &mut bytes).unwrap();
    survives_packed(Format::Npz, &[bytes], 1_000, |array| {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file("X.npy", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(array).unwrap();
        zip.finish().unwrap().into_inner()
    });
}

#[test]
fn gzip() {
    let packed = |text: &[u8]| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    };
    survives(Format::Csv, &[packed(b"id,time,x\na,0,1\na,1,2\nb,0,3\n")], 2_000);
}
