//! One table in the forms that people have it in: each gives the series of the plain one, and says what it was taken for.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod axes;
mod encodings;
mod json;
mod shapes;
mod tops;

use ncde_data::{Dataset, Loaded, ReadOptions, Warning, load_bytes};

/// Series with a text, an umlaut, gaps and an irregular clock.
const PLAIN: &str = "id,time,größe,state,label\n\
                     a,0,1.5,on,up\na,1.5,,off,up\na,2,2.5,on,up\n\
                     b,0,7,off,down\nb,4,6.25,on,down\nb,5,6,on,down\n";

fn load(name: &str, bytes: &[u8], options: &ReadOptions) -> Loaded {
    load_bytes(name, bytes, options).unwrap_or_else(|error| panic!("{error}"))
}

fn plain() -> Dataset {
    load("plain.csv", PLAIN.as_bytes(), &ReadOptions::default()).data
}

/// Whether two datasets hold the same: NaN is the same as NaN, and names of files do not matter.
#[track_caller]
fn assert_same(data: &Dataset, wanted: &Dataset) {
    let named = |data: &Dataset| Dataset { name: String::new(), ..data.clone() };
    assert_eq!(format!("{:?}", named(data)), format!("{:?}", named(wanted)));
}

#[track_caller]
fn assert_told(loaded: &Loaded, parts: &[&str]) {
    let told: Vec<String> = loaded.warnings.iter().map(Warning::to_string).collect();
    let is_told = |part: &&str| told.iter().any(|warning| warning.contains(*part));
    assert!(parts.iter().all(is_told), "{told:?}, but wanted {parts:?}");
    assert!(parts.len() == told.len(), "{told:?}");
}

/// Read again with its layout alone, nothing is guessed, and the series are the same.
#[track_caller]
fn assert_again(name: &str, bytes: &[u8], loaded: &Loaded) {
    let options = ReadOptions { layout: loaded.layout.clone(), ..ReadOptions::default() };
    let json = serde_json::to_string(&options.layout).unwrap();
    assert_eq!(serde_json::from_str::<Option<ncde_data::Layout>>(&json).unwrap(), options.layout);
    let again = load(name, bytes, &options);
    assert_same(&again.data, &loaded.data);
}
