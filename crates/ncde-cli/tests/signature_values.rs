//! What `ncde signature` computes, against values known by hand.

use crate::common;

use common::{CORNER, Folder, close, npy_f64};

#[test]
fn without_arguments_it_shows_the_two_corners() {
    let run = Folder::new().run("signature");
    let lines: Vec<Vec<&str>> = run.ok().stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(lines.contains(&vec!["(1,2)", "1", "0"]), "{}", run.stdout);
    assert!(lines.contains(&vec!["(2,1)", "0", "1"]), "{}", run.stdout);
    assert!(lines.contains(&vec!["[1,2]", "0.5", "-0.5"]), "{}", run.stdout);
    assert!(run.stdout.contains("tells the order"), "{}", run.stdout);
}

#[test]
fn the_lesson_is_told_only_where_it_holds() {
    for flags in ["--depth 1", "--log --basis expanded", "--window 1", "--time"] {
        let run = Folder::new().run(&format!("signature {flags}"));
        assert!(!run.ok().stdout.contains("tells the order"), "{flags}: {}", run.stdout);
    }
}

#[test]
fn the_example_can_be_data_too() {
    let run = Folder::new().run("signature --log --output -");
    assert_eq!(run.csv()[0], ["path", "1", "2", "[1,2]"]);
    assert_eq!(run.numbers(), [[1.0, 1.0, 1.0, 0.5], [2.0, 1.0, 1.0, -0.5]]);
}

#[test]
fn a_corner_from_csv() {
    let folder = Folder::new().with("a.csv", CORNER);
    let run = folder.run("signature --input a.csv --depth 2");
    assert_eq!(run.csv()[0], ["(1)", "(2)", "(1,1)", "(1,2)", "(2,1)", "(2,2)"]);
    assert_eq!(run.numbers(), [[1.0, 1.0, 0.5, 1.0, 0.0, 0.5]]);
    let run = folder.run("signature --input a.csv --depth 3 --log");
    assert_eq!(run.csv()[0], ["1", "2", "[1,2]", "[1,[1,2]]", "[[1,2],2]"]);
    close(&run.numbers()[0], &[1.0, 1.0, 0.5, 1.0 / 12.0, 1.0 / 12.0]);
}

#[test]
fn bases_change_the_coordinates() {
    let folder = Folder::new().with("a.csv", CORNER);
    let hall = folder.run("signature --input a.csv --depth 3 --log --basis hall");
    assert_eq!(hall.csv()[0], ["1", "2", "[1,2]", "[1,[1,2]]", "[2,[1,2]]"]);
    close(&hall.numbers()[0], &[1.0, 1.0, 0.5, 1.0 / 12.0, -1.0 / 12.0]);
    let expanded = folder.run("signature --input a.csv --depth 2 --log --basis expanded");
    close(&expanded.numbers()[0], &[1.0, 1.0, 0.0, 0.5, -0.5, 0.0]);
}

#[test]
fn windows_and_prefixes_have_rows() {
    let folder = Folder::new().with("a.csv", "0\n1\n3\n6\n");
    let run = folder.run("signature --input a.csv --depth 1 --window 2");
    assert_eq!(run.csv()[0], ["window", "(1)"]);
    assert_eq!(run.numbers(), [[1.0, 3.0], [2.0, 3.0]]);
    let run = folder.run("signature --input a.csv --depth 1 --stream");
    assert_eq!(run.csv()[0], ["step", "(1)"]);
    assert_eq!(run.numbers(), [[1.0, 1.0], [2.0, 3.0], [3.0, 6.0]]);
}

#[test]
fn windows_of_a_batch_have_two_indices() {
    let folder = Folder::new().with("a.npy", npy_f64("(2, 3, 1)", &[0.0, 1.0, 3.0, 0.0, 10.0, 30.0]));
    let run = folder.run("signature --input a.npy --depth 1 --window 1");
    assert_eq!(run.csv()[0], ["path", "window", "(1)"]);
    assert_eq!(run.numbers(), [[1.0, 1.0, 1.0], [1.0, 2.0, 2.0], [2.0, 1.0, 10.0], [2.0, 2.0, 20.0]]);
}

#[test]
fn time_is_the_first_channel() {
    let folder = Folder::new().with("a.csv", "t,x\n0,0\n2,1\n3,5\n");
    let counted = folder.run("signature --input a.csv --depth 1 --time");
    assert_eq!(counted.numbers(), [[2.0, 3.0, 5.0]]);
    for column in ["t", "1"] {
        let stamped = folder.run(&format!("signature --input a.csv --depth 1 --time --times {column}"));
        assert_eq!(stamped.numbers(), [[3.0, 5.0]]);
        let apart = folder.run(&format!("signature --input a.csv --depth 1 --times {column}"));
        assert_eq!(apart.numbers(), [[5.0]]);
    }
    let last = folder.run("signature --input a.csv --depth 1 --time --times x");
    assert_eq!(last.numbers(), [[5.0, 3.0]]);
}

#[test]
fn times_of_a_batch_are_a_channel_of_it() {
    let values = [0.0, 5.0, 1.0, 6.0, 10.0, 0.0, 14.0, 1.0];
    let folder = Folder::new().with("a.npy", npy_f64("(2, 2, 2)", &values));
    let run = folder.run("signature --input a.npy --depth 1 --time --times 1");
    assert_eq!(run.numbers(), [[1.0, 1.0, 1.0], [2.0, 4.0, 1.0]]);
}

#[test]
fn rectilinear_paths_turn_corners() {
    // (0,0) -> (2,0) -> (2,1) -> (3,1) -> (3,5): the area under the value, seen from time.
    let folder = Folder::new().with("a.csv", "t,x\n0,0\n2,1\n3,5\n");
    let run = folder.run("signature --input a.csv --depth 2 --times t --time --interpolation rectilinear");
    assert_eq!(run.numbers(), [[3.0, 5.0, 4.5, 14.0, 1.0, 12.5]]);
    let windows = folder.run("signature --input a.csv --depth 2 --times t --time --interpolation rectilinear --window 1");
    assert_eq!(windows.numbers(), [[1.0, 2.0, 1.0, 2.0, 2.0, 0.0, 0.5], [2.0, 1.0, 4.0, 0.5, 4.0, 0.0, 8.0]]);
}

#[test]
fn prefixes_of_refined_paths_end_at_observations() {
    let folder = Folder::new().with("a.csv", "0\n1\n0\n2\n");
    for kind in ["cubic", "hermite"] {
        let run = folder.run(&format!("signature --input a.csv --depth 1 --stream --interpolation {kind}"));
        assert_eq!(run.numbers(), [[1.0, 1.0], [2.0, 0.0], [3.0, 2.0]]);
        let run = folder.run(&format!("signature --input a.csv --depth 1 --window 2 --interpolation {kind}"));
        assert_eq!(run.numbers(), [[1.0, 0.0], [2.0, 2.0]]);
    }
}

#[test]
fn cubics_converge_with_refinement() {
    // The natural spline through 0, 1, 0 is 1.5 t - 0.5 t^3 on [0, 1], mirrored after it; its area over time is 5/4.
    let folder = Folder::new().with("a.csv", "0\n1\n0\n");
    let area = |pieces: usize| {
        let run = folder.run(&format!("signature --input a.csv --depth 2 --time --interpolation cubic --refinement {pieces}"));
        // Integration by parts: the integral of x dt is the word (2,1) for a path that starts at 0.
        run.numbers()[0][4]
    };
    assert_eq!(area(1), 1.0);
    let (coarse, fine) = (1.25 - area(8), 1.25 - area(16));
    assert!(fine > 0.0 && fine < 0.001, "{fine}");
    assert!((coarse / fine - 4.0).abs() < 0.05, "second order: {coarse} {fine}");
}

#[test]
fn irregular_times_bend_cubics() {
    let folder = Folder::new().with("a.csv", "t,x,y\n0,0,0\n1,1,0\n5,0,1\n").with("b.csv", "x,y\n0,0\n1,0\n0,1\n");
    for (kind, same) in [("linear", true), ("cubic", false), ("hermite", false)] {
        let irregular = folder.run(&format!("signature --input a.csv --depth 2 --times t --interpolation {kind}"));
        let regular = folder.run(&format!("signature --input b.csv --depth 2 --interpolation {kind}"));
        assert_eq!(irregular.numbers() == regular.numbers(), same, "{kind}");
    }
}

#[test]
fn a_basepoint_makes_the_first_value_an_increment() {
    let folder = Folder::new().with("a.csv", "4\n5\n").with("one.csv", "4\n");
    assert_eq!(folder.run("signature --input a.csv --depth 1 --basepoint").numbers(), [[5.0]]);
    assert_eq!(folder.run("signature --input one.csv --depth 1 --basepoint").numbers(), [[4.0]]);
    let timed = folder.run("signature --input a.csv --depth 1 --basepoint --time");
    assert_eq!(timed.numbers(), [[2.0, 5.0]]);
}

#[test]
fn gaps_are_filled_as_asked() {
    let folder = Folder::new().with("a.csv", "x,y\n0,0\n1,\nNA,nan\n3,6\n");
    let areas = |how: &str| folder.run(&format!("signature --input a.csv --depth 2 --log --missing {how}")).numbers();
    // (0,0) -> (1,0) -> (3,6): area 1/2 (1 * 6).
    close(&areas("forward")[0], &[3.0, 6.0, 3.0]);
    // (0,0) -> (1,2) -> (2,4) -> (3,6): straight.
    close(&areas("interpolate")[0], &[3.0, 6.0, 0.0]);
    for kind in ["cubic", "hermite"] {
        let run = folder.run(&format!("signature --input a.csv --depth 1 --missing interpolate --interpolation {kind}"));
        close(&run.numbers()[0], &[3.0, 6.0]);
    }
}

#[test]
fn json_holds_labels_shape_and_values() {
    let folder = Folder::new().with("a.csv", CORNER);
    let run = folder.run("signature --input a.csv --depth 2 --log --json");
    assert_eq!(run.json(), serde_json::json!({"labels": ["1", "2", "[1,2]"], "shape": [3], "values": [1.0, 1.0, 0.5]}));
}

#[test]
fn tables_fit_narrow_terminals() {
    let folder = Folder::new().with("a.csv", CORNER);
    for columns in [30, 40, 120] {
        let output = folder
            .command("signature --input a.csv --depth 5 --log --stream --table")
            .env("COLUMNS", columns.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let table: Vec<&str> = text.lines().skip(1).collect();
        assert!(table.len() > 14, "{text}");
        assert!(table.iter().all(|line| line.chars().count() <= columns), "{text}");
    }
}

#[test]
fn large_results_are_summarised() {
    let folder = Folder::new().with("a.csv", CORNER);
    let run = folder.run("signature --input a.csv --depth 7 --table");
    assert!(run.ok().stdout.contains("shape [254] (coordinate), f64"), "{}", run.stdout);
    assert!(run.stdout.contains("128"), "{}", run.stdout);
    assert!(run.stdout.lines().count() < 25, "{}", run.stdout);
    assert!(run.stderr.contains("--output"), "{}", run.stderr);
}

#[test]
fn threads_do_not_change_results() {
    let folder = Folder::new().with("a.csv", CORNER);
    let one = folder.run("signature --input a.csv --depth 4 --threads 1");
    let three = folder.run("signature --input a.csv --depth 4 --threads 3");
    assert_eq!(one.ok().stdout, three.ok().stdout);
}
