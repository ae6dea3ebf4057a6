//! Letters that are not UTF-8.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use ncde_data::{ReadOptions, load, read_bytes};

use super::{PLAIN, assert_again, assert_same, assert_told, plain};

fn units(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn latin(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect()
}

#[test]
fn utf16_with_a_mark_or_without_is_read() {
    let little = units(PLAIN);
    let big: Vec<u8> = little.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&little).unwrap();
    for bytes in [[b"\xff\xfe", &little[..]].concat(), [b"\xfe\xff", &big[..]].concat(), little, big, packed.finish().unwrap()] {
        let loaded = super::load("excel.csv", &bytes, &ReadOptions::default());
        assert_same(&loaded.data, &plain());
        assert_told(&loaded, &["`excel.csv` is read as UTF-16 text"]);
        assert_again("excel.csv", &bytes, &loaded);
    }
    // A name says nothing of the format.
    assert_same(&read_bytes("excel.txt", &units(PLAIN), &ReadOptions::default()).unwrap(), &plain());
    let ts = units("@problemName p\n@classLabel true a b\n@data\n1,2:a\n3,4:b\n");
    assert_eq!(read_bytes("x.ts", &ts, &ReadOptions::default()).unwrap().cases[1].values, [3.0, 4.0]);
}

#[test]
fn latin_letters_in_names_words_and_units_are_read() {
    let loaded = super::load("latin.csv", &latin(PLAIN), &ReadOptions::default());
    assert_same(&loaded.data, &plain());
    assert_told(&loaded, &["`latin.csv` is read as Windows-1252 (Latin-1) text; save it as UTF-8"]);
    assert_again("latin.csv", &latin(PLAIN), &loaded);
    let cells = "id,time,x\na,0,20.5 \u{b0}C\na,1,1\u{a0}021.5 \u{b0}C\nb,0,5 \u{b0}C\n";
    let read = |bytes: &[u8]| read_bytes("units.csv", bytes, &ReadOptions::default()).unwrap();
    assert_same(&read(&latin(cells)), &read(cells.as_bytes()));
}

#[test]
fn only_the_files_of_a_folder_that_need_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), "time,größe\n0,1\n1,2\n").unwrap();
    std::fs::write(folder.path().join("b.csv"), latin("time,größe\n0,3\n")).unwrap();
    std::fs::write(folder.path().join("labels.csv"), latin("id,label\na,ä\nb,ö\n")).unwrap();
    let loaded = load(folder.path(), &ReadOptions::default()).unwrap();
    assert_eq!(loaded.data.channels, ["größe"]);
    assert_eq!(loaded.data.targets.classes(), ["ä", "ö"]);
    assert_told(&loaded, &["b.csv` is read as Windows-1252", "labels.csv` is read as Windows-1252"]);
}
