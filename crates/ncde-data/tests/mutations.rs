//! Broken copies of good files: whatever the bytes are, a reader gives a dataset that is sound, or an error, and never more.
//!
//! The bytes are a function of the seed, so that a failure comes back.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use ncde_data::npy::{Array, Data, write_npz};
use ncde_data::{Dataset, Format, Layout, LineReader, ReadOptions, Targets, load_bytes, read_bytes};
use proptest::prelude::*;

/// A counter, mixed: the generator `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Pieces that mean something to one format or another.
const PIECES: &[&[u8]] = &[
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\"",
    b"'",
    b"?",
    b"(",
    b")",
    b"NaN",
    b"inf",
    b"-",
    b"1e999",
    b"@data",
    b"@timeStamps true\n",
    b"@dimensions 99999999999\n",
    b"\\n",
    b"{",
    b"}",
    b"\xff",
    b"\0",
    b"2020-01-01T00:00:00Z",
    b"id",
    b"9223372036854775808",
    b"=",
    b"\xef\xbb\xbf",
    b"(1000000000000, 1, 1)",
    b"'<U9'",
    b"%",
    b"#",
    b"99999999999999999999999999999999999999.5e-10",
];

fn mutated(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
            3 => drop(bytes.splice(at..end, PIECES[random.below(PIECES.len())].iter().copied())),
            4 => {
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            _ if !bytes.is_empty() => bytes[at] = random.next() as u8,
            _ => {}
        }
    }
    bytes
}

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

fn survives(format: Format, seeds: &[Vec<u8>], rounds: usize) {
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    let mut random = Random(7);
    let (mut good, mut bad) = (0, 0);
    for seed in seeds {
        assert_sound(&read_bytes("seed", seed, &options).unwrap());
        for _ in 0..rounds {
            match read_bytes("mutant", &mutated(seed, &mut random), &options) {
                Ok(data) => {
                    assert_sound(&data);
                    good += 1;
                }
                Err(error) => {
                    let message = error.to_string();
                    assert!(message.chars().count() < 2_000 && !message.ends_with('.'), "{message}");
                    bad += 1;
                }
            }
        }
    }
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
    let mut random = Random(11);
    let (mut good, mut bad) = (0, 0);
    for seed in TABLES {
        let loaded = load_bytes("seed.csv", seed.as_bytes(), &ReadOptions::default()).unwrap();
        for _ in 0..600 {
            let mut reader = LineReader::new(loaded.schema(), ReadOptions::default());
            let text = mutated(seed.as_bytes(), &mut random);
            let mut lines = text.split(|&byte| byte == b'\n');
            while lines.next().is_some_and(|line| reader.header(line).is_err()) {}
            for line in lines {
                match reader.row(line) {
                    Ok(line) => {
                        assert_eq!(
                            (line.values.len(), line.statics.len()),
                            (loaded.data.channels.len(), loaded.data.statics.len())
                        );
                        assert!(line.values.iter().chain(&line.statics).chain(&line.time).all(|x| !x.is_infinite()));
                        good += 1;
                    }
                    Err(error) => {
                        assert!(error.to_string().chars().count() < 2_000);
                        bad += 1;
                    }
                }
            }
        }
    }
    assert!(good > 0 && bad > 0, "{good} good and {bad} bad lines");
}

#[test]
fn layouts() {
    let mut random = Random(13);
    let (mut good, mut bad) = (0, 0);
    for seed in TABLES {
        let loaded = load_bytes("seed.csv", seed.as_bytes(), &ReadOptions::default()).unwrap();
        let json = serde_json::to_vec(&loaded.layout).unwrap();
        for _ in 0..1_500 {
            let Ok(layout) = serde_json::from_slice::<Layout>(&mutated(&json, &mut random)) else {
                bad += 1;
                continue;
            };
            let options = ReadOptions { layout: Some(layout), ..ReadOptions::default() };
            if let Ok(data) = load_bytes("seed.csv", seed.as_bytes(), &options) {
                assert_sound(&data.data);
                good += 1;
            }
        }
    }
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

#[test]
fn gzip() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"id,time,x\na,0,1\na,1,2\nb,0,3\n").unwrap();
    survives(Format::Csv, &[packed.finish().unwrap()], 2_000);
}
