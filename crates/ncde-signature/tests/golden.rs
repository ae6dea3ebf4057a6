//! Values of published libraries; `golden/make.py` says which, which versions, and how they were made.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::assert_close;
use ncde_signature::{Basis, Paths, Signature};
use serde_json::Value;

fn cases() -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("golden/signatures.json")).unwrap();
    all["cases"].as_array().unwrap().clone()
}

fn numbers(case: &Value, key: &str) -> Vec<f64> {
    case[key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn size(case: &Value, key: &str) -> usize {
    usize::try_from(case[key].as_u64().unwrap()).unwrap()
}

#[test]
fn signatures_are_those_of_iisignature_and_gradients_of_pysiglib() {
    for case in cases() {
        let (channels, depth) = (size(&case, "channels"), size(&case, "depth"));
        let path = numbers(&case, "path");
        let paths = Paths::single(&path, channels).unwrap();
        let signature = Signature::new(channels, depth).unwrap();
        assert_close(&signature.of(&paths).unwrap(), &numbers(&case, "signature"), 1e-10);
        let gradient = signature.of_backward(&paths, &numbers(&case, "weights")).unwrap();
        assert_close(&gradient, &numbers(&case, "gradient"), 1e-10);
    }
}

#[test]
fn lyndon_brackets_are_those_of_pysiglib() {
    for case in cases() {
        let (channels, depth) = (size(&case, "channels"), size(&case, "depth"));
        let path = numbers(&case, "path");
        let log = Signature::log(channels, depth, Basis::Lyndon).unwrap();
        assert_close(&log.of(&Paths::single(&path, channels).unwrap()).unwrap(), &numbers(&case, "lyndon"), 1e-10);
    }
}

#[test]
fn hall_coordinates_and_labels_are_those_of_roughpy() {
    for case in cases() {
        let (channels, depth) = (size(&case, "channels"), size(&case, "depth"));
        let path = numbers(&case, "path");
        let log = Signature::log(channels, depth, Basis::Hall).unwrap();
        assert_close(&log.of(&Paths::single(&path, channels).unwrap()).unwrap(), &numbers(&case, "hall"), 1e-10);
        let labels: Vec<&str> = case["hall_labels"].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect();
        assert!(labels.is_empty() || labels == log.labels(), "channels {channels} depth {depth}");
    }
}
