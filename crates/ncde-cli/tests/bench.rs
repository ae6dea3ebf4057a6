//! `ncde bench`: one JSON line with what was run and how long it took.

use crate::common;

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
    #[cfg(not(any(feature = "cuda", feature = "wgpu")))]
    for device in ["cuda", "wgpu"] {
        Folder::new().run(&format!("bench signature --device {device}")).failed(2, &["--device cpu"]);
    }
    Folder::new().run("bench signature --device tpu").failed(2, &["cpu, cuda, wgpu"]);
}

#[cfg(feature = "wgpu")]
#[test]
fn every_operation_is_timed_on_a_gpu() {
    for op in ["sig", "sig-backward", "logsig", "logsig-backward"] {
        for window in ["", "--window 3"] {
            let shape = "--batch 3 --length 7 --channels 2 --depth 3 --repeat 2 --device wgpu";
            let line = line(&format!("bench signature --op {op} {shape} {window}"));
            assert_eq!((&line["op"], &line["device"]), (&json!(op), &json!("wgpu")));
            assert!(line["median"].as_f64() >= line["seconds"].as_f64() && line["launches"].as_u64() > Some(0), "{line}");
        }
    }
    Folder::new().run("bench signature --device wgpu --dtype f64").failed(2, &["f32", "--device cpu"]);
    Folder::new().run("bench signature --device wgpu --channels 100 --depth 4").failed(2, &["lower depth", "--device cpu"]);
}

#[test]
fn impossible_shapes_are_refused() {
    let most = usize::MAX;
    Folder::new().run(&format!("bench signature --batch {most} --length {most}")).failed(2, &["--batch"]);
    Folder::new().run("bench signature --channels 10 --depth 60").failed(2, &["coordinates", "lower the depth"]);
    Folder::new().run("bench signature --length 1").failed(2, &["at least two observations"]);
}

#[test]
fn a_line_for_every_structure() {
    let structures = ["dense", "diagonal", "block", "diagonal-dense", "dplr", "sparse", "walsh-hadamard"];
    for structure in structures {
        for depth in [1, 2] {
            let shape = "--batch 2 --length 5 --channels 3 --hidden 8 --block 2 --rank 2 --repeat 1";
            let line = line(&format!("bench slice --structure {structure} --depth {depth} {shape}"));
            assert_eq!((&line["bench"], &line["structure"]), (&"slice".into(), &structure.into()));
            assert!(line["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{line}");
            let closed = !["dplr", "sparse", "walsh-hadamard"].contains(&structure);
            let coefficients = if depth == 1 {
                3
            } else if closed {
                6
            } else {
                12
            };
            assert_eq!(line["coefficients"], coefficients, "{line}");
        }
    }
    let line = line("bench stream --structure block --hidden 8 --block 4 --repeat 1");
    assert!(line["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{line}");
}

#[test]
fn states_that_would_overflow_start_anew() {
    let line = line("bench slice --structure dense --hidden 4 --length 400 --batch 1 --scale 400 --repeat 1");
    assert!(line["restart"].as_u64().is_some_and(|steps| steps < 400), "{line}");
}

#[test]
fn what_a_linear_bench_refuses() {
    let run = |flags: &str| Folder::new().run(&format!("bench slice --length 2 --repeat 1 {flags}"));
    run("--structure walsh-hadamard --hidden 100").failed(2, &["power of two", "128"]);
    run("--structure block --hidden 10 --block 4").failed(2, &["blocks of 4", "10 states"]);
    run("--structure dplr --mode parallel").failed(2, &["not closed under products", "recurrent"]);
    run("--structure dplr --rank 0").failed(2, &["--rank"]);
    run("--device cuda").failed(2, &["--device cpu"]);
    for bench in ["slice", "stream", "log-ncde"] {
        Folder::new().run(&format!("bench {bench} --dtype f64")).failed(2, &["no f64 kernels", "--dtype f32"]);
    }
}

#[test]
fn a_line_for_a_log_ncde() {
    let shape = "--batch 3 --windows 4 --channels 2 --hidden 5 --width 7 --layers 2 --steps 6 --threads 1 --repeat 1";
    for (depth, coefficients) in [(1, 2), (2, 3)] {
        let line = line(&format!("bench log-ncde --depth {depth} {shape}"));
        let wanted = json!({
            "bench": "log-ncde", "batch": 3, "windows": 4, "channels": 2, "hidden": 5, "width": 7, "layers": 2, "depth": depth,
            "steps": 6, "dtype": "f32", "device": "cpu", "threads": 1, "repeat": 1, "coefficients": coefficients,
            // (5 + 1) 7 + (7 + 1) 7 + (7 + 1) 10.
            "parameters": 178,
        });
        for (key, value) in wanted.as_object().unwrap() {
            assert_eq!(&line[key], value, "{key}");
        }
        assert!(line["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{line}");
    }
}

#[test]
fn what_a_log_ncde_bench_refuses() {
    let run = |flags: &str| Folder::new().run(&format!("bench log-ncde --repeat 1 {flags}"));
    run("--depth 3").failed(2, &["--depth", "1 or 2"]);
    run("--width 0").failed(2, &["--width"]);
    run("--device cuda").failed(2, &["--device cpu"]);
    run(&format!("--batch {0} --steps {0}", 1_u64 << 40)).failed(2, &["--batch"]);
    run(&format!("--hidden {0} --channels {0}", 1_u64 << 40)).failed(2, &["too many parameters"]);
}
