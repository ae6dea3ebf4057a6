//! Series of tokens: read, aligned, joined, summed up, and written back.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::io::Cursor;
use std::path::Path;

use ncde_data::npy::{Array, Data, write_npz};
use ncde_data::{Case, Clock, Columns, Dataset, Format, ReadOptions, Schema, Targets, UNKNOWN, read, read_bytes, write};

const WORDS: &str = "id,time,word,label\na,0,the,n\na,1,cat,y\na,2.5,sat,n\nb,0,cat,y\nb,1,the,n\n";

fn tokens() -> ReadOptions {
    ReadOptions { columns: Columns { tokens: Some("word".into()), ..Columns::default() }, ..ReadOptions::default() }
}

fn csv(text: &str) -> Dataset {
    read_bytes("new.csv", text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn asked(text: &str) -> Dataset {
    read_bytes("new.csv", text.as_bytes(), &tokens()).unwrap()
}

fn words(vocabulary: &[&str]) -> Option<Vec<String>> {
    Some(vocabulary.iter().map(|&word| word.into()).collect())
}

fn message<T>(result: Result<T, ncde_data::Error>) -> String {
    result.map(|_| ()).unwrap_err().to_string()
}

fn values(data: &Dataset) -> Vec<&[f64]> {
    data.cases.iter().map(|case| case.values.as_slice()).collect()
}

/// A vocabulary as a model has it.
fn schema(vocabulary: &[&str]) -> Schema {
    Schema { channels: vec!["word".into()], vocabulary: words(vocabulary), ..Schema::default() }
}

#[test]
fn words_in_the_only_channel_are_tokens() {
    let data = csv(WORDS);
    assert_eq!(data.channels, ["word"]);
    assert_eq!(data.vocabulary, words(&["cat", "sat", "the"]));
    assert_eq!(values(&data), [&[2.0, 0.0, 1.0][..], &[0.0, 2.0]]);
    assert_eq!(data.times, Clock::Numbers);
    // The order of rows does not matter.
    let shuffled = csv("id,time,word,label\nb,0,cat,y\nb,1,the,n\na,0,the,n\na,1,cat,y\na,2.5,sat,n\n");
    assert_eq!(shuffled.vocabulary, data.vocabulary);
    // More words than categories may have.
    let many: String = (0..1000).map(|i| format!("{i},w{i:03}\n")).collect();
    let data = csv(&format!("time,word\n{many}"));
    assert_eq!(data.vocabulary.unwrap().len(), 1000);
    assert_eq!(data.cases[0].values[999], 999.0);
}

#[test]
fn labels_of_cases_and_of_observations_stay_what_they_are() {
    let names = || vec!["n".to_string(), "y".into()];
    let of = vec![vec![Some(0), Some(1), Some(0)], vec![Some(1), Some(0)]];
    assert_eq!(csv(WORDS).targets, Targets::ClassSteps { names: names(), of });
    let data = csv("id,time,word,label\na,0,the,n\na,1,cat,n\nb,0,cat,y\n");
    assert_eq!(data.targets, Targets::Classes { names: names(), of: vec![0, 1] });
}

#[test]
fn other_columns_make_categories_of_text_unless_they_are_static() {
    let data = csv("id,time,word,x\na,0,the,1\na,1,cat,2\n");
    assert_eq!((data.channels.len(), data.vocabulary), (3, None));
    let data = csv("id,time,age,word\na,0,30,the\na,1,30,cat\nb,0,40,the\nb,1,40,the\n");
    assert_eq!(
        (data.statics.as_slice(), data.channels.as_slice()),
        (["age".to_string()].as_slice(), ["word".to_string()].as_slice())
    );
    assert_eq!(data.vocabulary, words(&["cat", "the"]));
    // A column that is the same in each case looks static, but not if tokens are asked of it.
    let data = asked("id,time,word,age\na,0,the,30\na,1,the,30\nb,0,cat,40\nb,1,cat,40\n");
    assert_eq!(
        (data.channels.as_slice(), data.statics.as_slice()),
        (["word".to_string()].as_slice(), ["age".to_string()].as_slice())
    );
}

#[test]
fn integers_are_tokens_if_they_are_asked_for() {
    let text = "id,time,word\na,0,10\na,1,9\na,2,-1\na,3,007\na,4,7\n";
    assert_eq!(csv(text).vocabulary, None);
    let data = asked(text);
    assert_eq!(data.vocabulary, words(&["-1", "007", "7", "9", "10"]));
    assert_eq!(values(&data), [[4.0, 3.0, 0.0, 1.0, 2.0]]);
    // Integers first, and what elsewhere is missing is a token.
    let data = asked("time,word\n0,3\n1,?\n2,NA\n3,20\n");
    assert_eq!(data.vocabulary, words(&["3", "20", "?", "NA"]));
    // A name that would say something else.
    let options =
        ReadOptions { columns: Columns { tokens: Some("class".into()), ..Columns::default() }, ..ReadOptions::default() };
    let data = read_bytes("x.csv", b"time,class\n0,u\n1,v\n", &options).unwrap();
    assert_eq!((data.vocabulary, data.targets), (words(&["u", "v"]), Targets::None));
}

#[test]
fn tokens_of_a_folder_and_labels_of_a_second_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("p2.csv"), "time,word\n0,the\n1,cat\n").unwrap();
    fs::write(path("p1.csv"), "word,time\nsat,0\n").unwrap();
    fs::write(path("labels.csv"), "id,class,age\np2,b,3\np1,a,4\n").unwrap();
    for options in [ReadOptions::default(), tokens()] {
        let data = read(folder.path(), &options).unwrap();
        assert_eq!(data.vocabulary, words(&["cat", "sat", "the"]));
        assert_eq!(values(&data), [&[1.0][..], &[2.0, 0.0]]);
        assert_eq!((data.targets.classes().len(), data.statics.len()), (2, 1));
    }
}

#[test]
fn a_token_is_known_or_unknown() {
    let wanted = schema(&["the", "cat", "dog"]);
    let aligned = csv("id,time,word\nb,0,dog\nb,1,the\n").aligned(&wanted).unwrap();
    assert_eq!(values(&aligned), [[2.0, 0.0]]);
    assert_eq!(aligned.vocabulary, wanted.vocabulary);
    let new = || csv("id,time,word\nb,0,dog\nb,1,dogs\n");
    let error =
        "`new`: token `dogs` at observation 2 of case `b` is not known; known are `the`, `cat`, `dog`; did you mean `dog`?";
    assert_eq!(message(new().aligned(&wanted)), error);
    let error = "`new`: token `zebra` at observation 1 of case `1` is not known; known are `the`, `cat`, `dog`; correct it, or train \
        with the entry `<unknown>` in the vocabulary";
    assert_eq!(message(csv("time,word\n0,zebra\n").aligned(&wanted)), error);
    let wanted = schema(&["the", UNKNOWN, "dog"]);
    assert_eq!(values(&new().aligned(&wanted).unwrap()), [[2.0, 1.0]]);
    assert_eq!([wanted.token("dog"), wanted.token("dogs"), wanted.token(UNKNOWN)], [Some(2), Some(1), Some(1)]);
    assert_eq!([schema(&["the"]).token("the"), schema(&["the"]).token("dog")], [Some(0), None]);
    assert_eq!(Schema { vocabulary: None, ..wanted }.token("dog"), None);
}

#[test]
fn unknown_is_the_last_entry_and_is_there_once() {
    let data = csv(WORDS).with_unknown();
    assert_eq!(data.vocabulary, words(&["cat", "sat", "the", UNKNOWN]));
    assert_eq!(data.clone().with_unknown(), data);
    let numbers = csv("id,time,x\na,0,1\n");
    assert_eq!(numbers.clone().with_unknown(), numbers);
}

#[test]
fn numbers_are_tokens_of_a_model_that_has_them() {
    // Nothing in this file says that they are tokens.
    let aligned = csv("id,time,x,word\na,0,9,10\na,1,9,2\n").aligned(&schema(&["2", "10"])).unwrap();
    assert_eq!(values(&aligned), [[1.0, 0.0]]);
    let data = csv("id,time,word\na,0,2\na,1,\n");
    let error = "`new`: observation 2 of case `a` has no token; write one, or remove the observation";
    assert_eq!(message(data.aligned(&schema(&["2"]))), error);
    let error = "`new`: token `2.5` at observation 1 of case `1` is not known; known are `2`; correct it, or train with the entry \
        `<unknown>` in the vocabulary";
    assert_eq!(message(csv("word\n2.5\n").aligned(&schema(&["2"]))), error);
    let error = "`new` has no channel `word`, which the model was trained on; it has `x`";
    assert_eq!(message(csv("x\n2.5\n").aligned(&schema(&["2"]))), error);
}

#[test]
fn a_model_of_numbers_takes_no_tokens_but_categories() {
    let numbers =
        |channels: &[&str]| Schema { channels: channels.iter().map(|&name| name.into()).collect(), ..Schema::default() };
    for channel in ["word", "channel_1"] {
        let error = "`new` holds tokens such as `cat`, `the`, but the model was trained on numbers; give it numbers";
        assert_eq!(message(csv("word\nthe\ncat\n").aligned(&numbers(&[channel]))), error);
    }
    // Trained on a text column beside others, which a file of its own does not have.
    let data = csv("word\nthe\n9.0\ncat\n").aligned(&numbers(&["word=9", "word=a", "word=the"])).unwrap();
    assert_eq!(values(&data), [[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]);
    assert_eq!(data.vocabulary, None);
    assert_eq!(
        message(csv("word\nthe\n").aligned(&numbers(&["x"]))),
        "`new` has no channel `x`, which the model was trained on; it has `word`"
    );
}

#[test]
fn a_schema_of_before_has_no_vocabulary() {
    let schema: Schema = serde_json::from_str(r#"{"channels":["x"],"statics":[],"classes":[]}"#).unwrap();
    assert_eq!(schema.vocabulary, None);
    let own = csv(WORDS).schema();
    assert_eq!(serde_json::from_str::<Schema>(&serde_json::to_string(&own).unwrap()).unwrap(), own);
}

#[test]
fn parts_and_joined_parts_keep_the_vocabulary() {
    let data = csv(WORDS);
    assert_eq!(data.subset(&[1]).vocabulary, data.vocabulary);
    let twice = data.clone().concat(data.clone()).unwrap();
    let (unique, dropped) = twice.without_duplicates();
    assert_eq!((unique.vocabulary.as_ref(), dropped), (data.vocabulary.as_ref(), 2));
    let other = csv("id,time,word,label\nc,0,the,n\nc,1,sat,y\n");
    let both = data.clone().concat(other).unwrap();
    assert_eq!(values(&both)[2], [2.0, 1.0]);
    assert_eq!(both.vocabulary, data.vocabulary);
    let other = || csv("id,time,word,label\nc,0,dog,n\nc,1,sat,y\n");
    let error = "`new`: token `dog` at observation 1 of case `c` is not known; known are `cat`, `sat`, `the`; correct it, or train with \
        the entry `<unknown>` in the vocabulary";
    assert_eq!(message(data.clone().concat(other())), error);
    assert_eq!(values(&data.clone().with_unknown().concat(other()).unwrap())[2], [3.0, 1.0]);
    let numbers = csv("id,time,word,label\nc,0,1,n\nc,1,2,y\n");
    let error = "cannot join `new` and `new`: values are tokens and numbers; bring both into one form first";
    assert_eq!(message(data.concat(numbers)), error);
}

#[test]
fn a_summary_counts_tokens() {
    let data = csv(WORDS).with_unknown();
    let summary = data.summary();
    let text = summary.to_string();
    for line in [
        "new: 2 cases, 1 channel",
        "  tokens       4 in the vocabulary, 3 of them seen",
        "  commonest token              observations     share",
        "  cat                                     2    40.0 %",
        "  the                                     2    40.0 %",
        "  sat                                     1    20.0 %",
    ] {
        assert!(text.lines().any(|seen| seen == line), "`{line}` is not in\n{text}");
    }
    assert!(!text.contains("mean"), "{text}");
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["tokens"]["commonest"][0], serde_json::json!(["cat", 2]));
    assert_eq!(json["channels"][0]["mean"], serde_json::Value::Null);
    assert!(serde_json::to_value(csv("x\n1\n").summary()).unwrap().get("tokens").is_none());
    let many: String = (0..30).map(|i| format!("w{i}\n")).collect();
    let text = csv(&format!("word\n{many}")).summary().to_string();
    assert!(text.ends_with("  ... and 20 more\n"), "{text}");
}

fn npz(arrays: &[(&str, Array)]) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    write_npz(arrays, &mut out).unwrap();
    out.into_inner()
}

fn texts(shape: &[usize], texts: &[&str]) -> Array {
    Array { shape: shape.into(), data: Data::Text(texts.iter().map(|&text| text.into()).collect()) }
}

fn integers(shape: &[usize], integers: &[i64]) -> Array {
    Array { shape: shape.into(), data: Data::Int(integers.into()) }
}

#[test]
fn arrays_of_integers_are_tokens_if_they_are_asked_for() {
    for shape in [&[2, 3][..], &[2, 3, 1]] {
        // What is beyond a length is no token.
        let bytes = npz(&[("X", integers(shape, &[10, -2, 9, 9, 0, 0])), ("lengths", integers(&[2], &[3, 1]))]);
        let data = read_bytes("x.npz", &bytes, &tokens()).unwrap();
        assert_eq!(data.vocabulary, words(&["-2", "9", "10"]));
        assert_eq!(values(&data), [&[2.0, 0.0, 1.0][..], &[1.0]]);
        assert_eq!(data.channels, ["channel_1"]);
        assert_eq!(read_bytes("x.npz", &bytes, &ReadOptions::default()).unwrap().vocabulary, None);
        // Files without names of channels are matched by number.
        assert_eq!(values(&data.aligned(&schema(&["10", "9", "-2"])).unwrap()), [&[0.0, 2.0, 1.0][..], &[1.0]]);
    }
    let mut bytes = Vec::new();
    ncde_data::npy::write(&integers(&[1, 2], &[5, 4]), &mut bytes).unwrap();
    assert_eq!(read_bytes("x.npy", &bytes, &tokens()).unwrap().vocabulary, words(&["4", "5"]));
}

#[test]
fn arrays_of_text_and_arrays_with_a_vocabulary_are_tokens() {
    let read = |arrays: &[(&str, Array)]| read_bytes("x.npz", &npz(arrays), &ReadOptions::default()).unwrap();
    let lengths = || ("lengths", integers(&[2], &[2, 1]));
    let data = read(&[("X", texts(&[2, 2], &["the", "cat", "sat", ""])), lengths()]);
    assert_eq!((data.vocabulary.clone(), values(&data)), (words(&["cat", "sat", "the"]), vec![&[2.0, 0.0][..], &[1.0]]));
    let vocabulary = || ("vocabulary", texts(&[3], &["the", "cat", UNKNOWN]));
    let data = read(&[("X", integers(&[2, 2], &[1, 0, 2, -1])), lengths(), vocabulary()]);
    assert_eq!((data.vocabulary.clone(), values(&data)), (words(&["the", "cat", UNKNOWN]), vec![&[1.0, 0.0][..], &[2.0]]));
    let data = read(&[("X", texts(&[2, 2], &["cat", "the", "sat", ""])), lengths(), vocabulary()]);
    assert_eq!(values(&data), [&[1.0, 0.0][..], &[2.0]]);
    // Beside floats it is an array like any other.
    let floats = Array { shape: vec![1, 2], data: Data::F64(vec![0.5, 1.0]) };
    assert_eq!(read(&[("X", floats), vocabulary()]).vocabulary, None);
}

#[test]
fn bad_arrays_of_tokens() {
    let wrong = |arrays: &[(&str, Array)]| message(read_bytes("x.npz", &npz(arrays), &tokens()));
    let floats = Array { shape: vec![1, 2], data: Data::F64(vec![0.0, 1.0]) };
    let error = "`x.npz`, array `X`: it holds floats; wanted integers or text, as tokens are: save it with `.astype(\"int64\")`";
    assert_eq!(wrong(&[("X", floats)]), error);
    let error = "`x.npz`, array `X`: its shape is [1, 1, 2]; wanted [cases, length] or [cases, length, 1], as each observation is one token";
    assert_eq!(wrong(&[("X", integers(&[1, 1, 2], &[0, 1]))]), error);
    let vocabulary = |words: &[&str]| ("vocabulary", texts(&[words.len()], words));
    let error = "`x.npz`, array `X`: entry [0, 1] (counted from 0) is `2`; wanted a token from 0 to below 2, as `vocabulary` names so many";
    assert_eq!(wrong(&[("X", integers(&[1, 2], &[0, 2])), vocabulary(&["a", "b"])]), error);
    let error = "`x.npz`, array `vocabulary`: `a` is there twice; wanted tokens that differ";
    assert_eq!(wrong(&[("X", integers(&[1, 2], &[0, 1])), vocabulary(&["a", "a"])]), error);
    let error = "`x.npz`, array `X`: token `c` at observation 2 of case `1` is not known; known are `a`; correct it, or train with the \
        entry `<unknown>` in the vocabulary";
    assert_eq!(wrong(&[("X", texts(&[1, 2], &["a", "c"])), vocabulary(&["a"])]), error);
    let error = "`x.npz`, array `X`: observation 2 of case `1` has no token; write one, or remove the observation";
    assert_eq!(wrong(&[("X", texts(&[1, 2], &["a", ""]))]), error);
}

/// Written and read again, with the text of the file.
fn through(data: &Dataset, format: Format, name: &str, options: &ReadOptions) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(Path::new(name));
    write(data, &file, format).unwrap();
    read(&file, options).unwrap()
}

#[test]
fn what_is_written_is_read() {
    let odd = "id,time,word,label\na,0,\"a, b\",u\na,1,\"say \"\"so\"\"\",v\nb,0,x=1,u\n";
    for text in [WORDS, odd] {
        let data = csv(text);
        for options in [ReadOptions::default(), tokens()] {
            assert_eq!(through(&data, Format::Csv, "new.csv.gz", &options), data);
        }
        let npz = through(&data.clone().with_unknown(), Format::Npz, "x.npz", &ReadOptions::default());
        assert_eq!(npz, data.clone().with_unknown());
        // Words stay words whatever their numbers are.
        let wanted = Schema { vocabulary: npz.vocabulary.map(|words| words.into_iter().rev().collect()), ..data.schema() };
        let turned = data.clone().aligned(&wanted).unwrap();
        assert_eq!(through(&turned, Format::Csv, "new.csv", &tokens()), data);
        assert_eq!(through(&turned, Format::Npz, "new.npz", &tokens()), turned);
    }
    let integers = asked("id,time,word\na,0,10\na,1,?\na,2,007\n");
    assert_eq!(through(&integers, Format::Csv, "new.csv", &tokens()), integers);
    assert_eq!(through(&integers, Format::Npz, "new.npz", &ReadOptions::default()), integers);
    let folder = tempfile::tempdir().unwrap();
    write(&csv(WORDS), folder.path().join("x"), Format::Csv).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("x")).unwrap(), WORDS);
}

#[test]
fn what_a_format_cannot_hold_is_said() {
    let refused = |data: &Dataset, format| message(write(data, Path::new("never-written"), format));
    let data = csv(WORDS);
    assert_eq!(refused(&data, Format::Ts), "cannot write `new` as ts: it holds tokens; write csv or npz");
    let spaced = Dataset { vocabulary: words(&["cat", " ", "the"]), ..data.clone() };
    let error = "cannot write `new` as csv: the token ` ` is blank or has blanks around it; write npz";
    assert_eq!(refused(&spaced, Format::Csv), error);
    let case = Case { values: vec![0.0, 7.0, f64::NAN], ..data.cases[0].clone() };
    let beyond = Dataset { cases: vec![case], targets: Targets::None, ..data };
    let error = "observation 2 of case `a` is `7`, which is no token; values must count the vocabulary from 0";
    assert_eq!(refused(&beyond, Format::Csv), format!("cannot write `new` as csv: {error}"));
    assert_eq!(refused(&beyond, Format::Npz), format!("cannot write `new` as npz: {error}"));
    let wide = Dataset { channels: vec!["word".into(), "x".into()], ..beyond };
    let error = "cannot write `new` as npz: it has a vocabulary and 2 channels; tokens are one channel";
    assert_eq!(refused(&wide, Format::Npz), error);
    assert!(!Path::new("never-written").exists());
}
