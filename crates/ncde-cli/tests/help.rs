//! What a new user sees first.

use crate::common;

use common::Folder;

#[test]
fn the_version_is_the_crate_s() {
    let run = Folder::new().run("--version");
    assert_eq!(run.ok().stdout, concat!("ncde ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn help_has_examples() {
    for verb in [
        "train",
        "eval",
        "predict",
        "stream",
        "inspect",
        "tune",
        "data",
        "report",
        "experiment",
        "signature",
        "bench signature",
        "bench slice",
        "bench stream",
    ] {
        let run = Folder::new().run(&format!("{verb} --help"));
        assert!(run.ok().stdout.contains("Example"), "{}", run.stdout);
    }
}

#[test]
fn the_examples_of_the_help_run() {
    let help = Folder::new().run("signature --help").stdout;
    let examples: Vec<&str> = help.lines().filter_map(|line| line.trim().strip_prefix("ncde ")).collect();
    assert!(examples.len() >= 5, "{help}");
    let walk = "t,x,y\n0,0,0\n1,1,0\n2,1,1\n";
    let batch = common::npy_f64("(2, 3, 1)", &[0.0, 1.0, 3.0, 0.0, 10.0, 30.0]);
    let folder =
        Folder::new().with("walk.csv", walk).with("data.npz", common::npz(&[("x.npy", batch.clone())])).with("batch.npy", batch);
    for example in examples {
        folder.run(example).ok();
    }
}
