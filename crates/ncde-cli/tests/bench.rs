//! `ncde bench`: one JSON line with what was run and how long it took.

mod common;

use common::Folder;
use serde_json::{Value, json};

fn line(arguments: &str) -> Value {
    Folder::new().run(arguments).json()
}

#[test]
fn every_operation_is_timed() {
    for op in ["sig", "sig-backward", "logsig", "logsig-backward"] {
        for dtype in ["f32", "f64"] {
            let line = line(&format!(
                "bench signature --op {op} --batch 3 --length 7 --channels 2 --depth 3 --dtype {dtype} --repeat 2"
            ));
            assert_eq!((&line["op"], &line["dtype"]), (&json!(op), &json!(dtype)));
            assert!(line["seconds"].as_f64().unwrap() > 0.0, "{line}");
        }
    }
}

#[test]
fn the_line_holds_its_parameters() {
    let line = line("bench signature --batch 3 --length 8 --channels 2 --depth 3 --window 3 --threads 1 --repeat 1");
    let wanted = json!({
        "bench": "signature", "op": "sig", "batch": 3, "length": 8, "channels": 2, "depth": 3, "window": 3,
        "dtype": "f32", "device": "cpu", "threads": 1, "repeat": 1, "coordinates": 14,
    });
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&line[key], value, "{key}");
    }
    // Three windows of three walks: 9 x 14 numbers of 4 bytes.
    assert_eq!(line["output_mib"], json!(504.0 / 1_048_576.0));
    assert_eq!(line["input_mib"], json!(192.0 / 1_048_576.0));
}

#[cfg(target_os = "linux")]
#[test]
fn peak_memory_grows_with_the_data() {
    let peak = |batch: usize| {
        let line = line(&format!("bench signature --batch {batch} --length 100 --channels 10 --depth 1 --repeat 1"));
        line["peak_mib"].as_f64().unwrap()
    };
    // 10 000 x 100 x 10 floats are 38 MiB.
    let (small, large) = (peak(10), peak(10_000));
    assert!(large > small + 38.0 && large < small + 200.0, "{small} {large}");
}

#[test]
fn other_devices_are_refused() {
    for device in ["cuda", "wgpu"] {
        Folder::new()
            .run(&format!("bench signature --device {device}"))
            .failed(2, &["CPU kernels for signatures only", "--device cpu"]);
    }
    Folder::new().run("bench signature --device tpu").failed(2, &["cpu, cuda, wgpu"]);
}

#[test]
fn impossible_shapes_are_refused() {
    let most = usize::MAX;
    Folder::new().run(&format!("bench signature --batch {most} --length {most}")).failed(2, &["--batch"]);
    Folder::new().run("bench signature --channels 10 --depth 60").failed(2, &["coordinates", "lower the depth"]);
    Folder::new().run("bench signature --length 1").failed(2, &["at least two observations"]);
}
