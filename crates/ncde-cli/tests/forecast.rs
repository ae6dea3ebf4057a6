//! Forecasts as a user asks for them: one long csv, all horizons, intervals, a stream that says the same.

use crate::common::Folder;

/// Hours with a daily season and a trend; some are left out.
fn power() -> String {
    let mut text = String::from("time,load,heat\n");
    for t in (0..900_u32).filter(|t| t % 37 != 5) {
        let hour = f64::from(t) * std::f64::consts::TAU / 24.0;
        let rough = f64::from((t * 7919) % 101) / 101.0 - 0.5;
        let load = 100.0 + 0.05 * f64::from(t) + 10.0 * hour.sin() + rough;
        let heat = if t % 41 == 3 { String::new() } else { format!("{:.4}", 15.0 + 5.0 * (hour - 1.0).sin() - rough) };
        text += &format!("{},{load:.4},{heat}\n", 3600 * t);
    }
    text
}

const SMALL: &str = "--set task=forecast --set horizon=6 --set model.spans=3 --set model.order=6 --set model.random=60";

#[test]
fn one_long_series_becomes_forecasts_of_all_horizons_with_times_and_intervals() {
    let folder = Folder::new().with("power.csv", power());
    let run = folder.run(&format!("train --data power.csv --out run {SMALL}"));
    assert!(run.ok().stderr.contains("split by time") && !run.stderr.contains("nothing is held back"), "{}", run.stderr);
    // Lines end where they are full.
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in ["MASE", "last value", "seasonal", "mean", "90 % intervals hold", "1 series", "by horizon", "by channel"] {
        assert!(said.contains(word), "{word}: {}", run.stdout);
    }
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 80 && !line.ends_with('~')), "{}", run.stdout);
    let page = String::from_utf8(folder.read("run/report.html")).unwrap();
    let text = String::from_utf8(folder.read("run/report.md")).unwrap();
    for word in ["By horizon", "By channel", "seasonal", "last value"] {
        assert!(page.contains(word) && text.contains(word), "{word}");
    }
    let seen = folder.run("inspect run").ok().stdout.clone();
    assert!(seen.contains("1 to 6 observations ahead, 3600 apart on a grid") && seen.contains("24 observations"), "{seen}");

    // From the end of the series, a row for each horizon.
    let rows = folder.run("predict run --data power.csv").csv();
    let columns = ["id", "time", "horizon", "forecast_time", "load", "load_low", "load_high", "heat", "heat_low", "heat_high"];
    assert_eq!((&rows[0][..], rows.len()), (&columns.map(str::to_owned)[..], 7));
    let last = 3600.0 * 899.0;
    for (k, row) in rows[1..].iter().enumerate() {
        let number = |i: usize| row[i].parse::<f64>().unwrap();
        assert_eq!((number(1), number(2), number(3)), (last, (k + 1) as f64, last + 3600.0 * (k + 1) as f64));
        assert!(number(5) < number(4) && number(4) < number(6) && number(8) < number(7) && number(7) < number(9), "{row:?}");
    }
    assert_eq!(folder.run("predict run --data power.csv --horizon 2").csv(), &rows[..3]);
    folder.run("predict run --data power.csv --horizon 7").failed(2, &["horizons 1 to 6", "--set horizon=7"]);
    let every = folder.run("predict run --data power.csv --every --horizon 1").csv();
    assert_eq!((every.len(), &every[every.len() - 1]), (power().lines().count(), &rows[1]));
    folder.run("predict run --data power.csv --output p.json").ok();
    let json: serde_json::Value = serde_json::from_slice(&folder.read("p.json")).unwrap();
    assert_eq!((json[0]["forecast"].as_array().unwrap().len(), &json[0]["forecast"][2]["horizon"]), (6, &3.into()));
    assert_eq!(json[0]["forecast"][2]["values"]["load"].as_f64().unwrap(), rows[3][4].parse::<f64>().unwrap());

    // A stream says the same after each observation: in CSV a row for each horizon, in JSON a list.
    let streamed = folder.run_with("stream run", &power()).csv();
    let whole = folder.run("predict run --data power.csv --every").csv();
    assert_eq!((&streamed[0], streamed.len()), (&whole[0], whole.len()));
    for (a, b) in streamed[1..].iter().zip(&whole[1..]).filter(|(a, _)| a[2] == "3") {
        let [a, b] = [a, b].map(|row| row[3..].iter().map(|cell| cell.parse::<f64>().unwrap()).collect::<Vec<_>>());
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-5 * (1.0 + b.abs())), "{a:?} {b:?}");
    }
    let line = folder.run_with("stream run", "{\"time\": 0, \"values\": [100.0, null]}\n").ok().stdout.clone();
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(json["forecast"][5]["time"], 21600.0);
    assert!(json["forecast"][0]["low"]["heat"].is_f64() && line.lines().count() == 1, "{line}");

    let metrics = folder.run("eval run --data power.csv --json").json();
    let [mase, naive] = [&metrics["mase"], &metrics["naive"][0]["mase"]].map(|x| x.as_f64().unwrap());
    assert!(mase < naive && metrics["scores"].as_array().unwrap().len() == 12, "{metrics}");
    assert_eq!(metrics["cases"], 1);
}

#[test]
fn without_a_test_part_there_is_a_warning() {
    let folder = Folder::new().with("power.csv", power());
    let run = folder.run(&format!("train --data power.csv --out run {SMALL} --set test_share=0"));
    assert!(run.ok().stderr.contains("warning: nothing is held back to test on"), "{}", run.stderr);
    folder.run("predict run --data power.csv --horizon 1").ok();
}

/// Features of 120,000 observations would be gigabytes: they are made, used and forgotten a stretch at a time. The limit is on all memory that the program asks for.
#[cfg(target_os = "linux")]
#[test]
fn a_long_series_is_trained_on_in_bounded_memory() {
    let mut text = String::from("time,x\n");
    for t in 0..120_000_u32 {
        let rough = f64::from(t.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) - 0.5;
        text += &format!("{t},{:.4}\n", (f64::from(t) * 0.26).sin() + 0.3 * rough);
    }
    let folder = Folder::new().with("long.csv", text);
    let train = |limit: usize| {
        let program = env!("CARGO_BIN_EXE_ncde");
        let command = format!(
            "ulimit -v {limit}; exec {program} train --data long.csv --set horizon=3 --threads 2 --quiet --out run{limit}"
        );
        std::process::Command::new("sh").args(["-c", &command]).current_dir(folder.path("")).output().unwrap()
    };
    let done = train(600_000);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // A limit that is too low is noticed, so that the one above means something.
    assert!(!train(60_000).status.success());
}
