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

/// Days of sales with a week, holidays that double them, and a price; the last 14 rows of the second text tell of holidays and prices alone.
fn sales() -> [String; 2] {
    let mut all = [(); 2].map(|()| String::from("day,sold,visitors,holiday,price,weather\n"));
    for t in 0..420_u32 {
        let draw = |n: u32| f64::from(t.wrapping_mul(2_654_435_761).rotate_left(7 * n) >> 8) / f64::from(1 << 24);
        let (holiday, price) = (u8::from(draw(1) < 0.08), 10.0 + draw(2));
        let week = [1.0, 1.1, 0.9, 1.0, 1.2, 1.6, 0.7][t as usize % 7];
        let sold = 100.0 * week * (1.0 + f64::from(holiday)) * (-0.3 * (price - 10.0)).exp() * (0.98 + 0.04 * draw(3));
        let date = jiff::civil::date(2023, 1, 1) + jiff::Span::new().days(t);
        let told = format!("{holiday},{price:.3}");
        let row = format!("{date},{sold:.3},{:.3},{told},{}\n", 2.0 * sold, ["sun", "rain"][t as usize % 2]);
        all[0] += &row;
        all[1] += &if t < 406 { row } else { format!("{date},,,{told},\n") };
    }
    all
}

#[test]
fn targets_are_forecast_alone_and_known_inputs_count_at_their_time() {
    let [whole, future] = sales();
    let folder = Folder::new().with("sales.csv", &whole).with("future.csv", future);
    let small = "--set horizon=14 --set model.spans=2 --set model.order=4 --set model.random=30";
    let mase = |flags: &str, out: &str| {
        let run = folder.run(&format!("train --data sales.csv {flags} {small} --out {out}"));
        let record: serde_json::Value = serde_json::from_slice(&folder.read(&format!("{out}/run.json"))).unwrap();
        (record["test"]["mase"].as_f64().unwrap(), run.ok().stderr.clone())
    };
    let (plain, said) = mase("--label sold --set task=forecast", "plain");
    assert!(said.contains("forecast of `sold`, 1 to 14 ahead"), "{said}");
    let (told, said) = mase("--target sold --known holiday,price", "told");
    assert!(said.contains("forecast of `sold` with `holiday`, `price` known ahead"), "{said}");
    assert!(told < 0.4 * plain, "{told} {plain}");
    // Text is not forecast, unless it is all there is.
    let (_, said) = mase("--set task=forecast", "all");
    assert!(said.contains("forecast of `sold`, `visitors`, `holiday`, `price`, 1"), "{said}");

    let rows = folder.run("predict told --data future.csv").csv();
    assert_eq!(rows[0][3..], ["forecast_time", "sold", "sold_low", "sold_high"].map(str::to_owned));
    assert_eq!([&rows[1][1], &rows[1][3], &rows[14][3]], ["2024-02-10", "2024-02-11", "2024-02-24"]);
    let truth: Vec<f64> = whole.lines().skip(407).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    for (row, truth) in rows[1..].iter().zip(&truth) {
        let said: f64 = row[4].parse().unwrap();
        assert!((said / truth - 1.0).abs() < 0.1, "{said} {truth}");
    }
    let blind = folder.run("predict told --data sales.csv");
    assert!(blind.ok().stderr.contains("nothing is known ahead of `holiday`, `price`"), "{}", blind.stderr);
    // A stream is told line by line.
    let observation = |ahead: &str| format!("{{\"time\": \"2024-03-01\", \"values\": [90, 180, 0, 10.5, 1, 0]{ahead}}}\n");
    let first = |ahead: &str| {
        let lines = observation("").replace("03-01", "02-29") + &observation(ahead);
        let said = folder.run_with("stream told", &lines).ok().stdout.clone();
        let json: serde_json::Value = serde_json::from_str(said.lines().nth(1).unwrap()).unwrap();
        assert_eq!([&json["time"], &json["forecast"][0]["time"]], ["2024-03-01", "2024-03-02"]);
        json["forecast"][0]["values"]["sold"].as_f64().unwrap()
    };
    let day = |holiday: u8| first(&format!(", \"ahead\": [{{\"holiday\": {holiday}, \"price\": 10.5}}]"));
    let factor = day(1) / day(0);
    assert!((1.7..2.2).contains(&factor), "{factor}");
    folder.run_with("stream plain", &observation(", \"ahead\": [{\"holiday\": 1}]")).failed(1, &["`--known COLUMN`"]);

    let refused = |flags: &str, parts: &[&str]| folder.run(&format!("train --data sales.csv {flags} {small}")).failed(2, parts);
    refused("--target sole", &["`sole`", "sold, visitors, holiday"]);
    refused("--target sold --known sold", &["`sold`", "not known ahead"]);
    refused("--target sold --known price --model slice --steps 1", &["data.known", "reservoir"]);
}

#[test]
fn months_and_working_days_are_stepped_by_and_dates_come_back_as_they_were_written() {
    let months = (0..72).map(|t| {
        let date = jiff::civil::date(2018, 1, 31) + jiff::Span::new().months(t);
        format!("{},{}\n", date.last_of_month().strftime("%d.%m.%Y"), 50 + 10 * (t % 12) + t)
    });
    let days = (0..300).map(|t| jiff::civil::date(2024, 1, 1) + jiff::Span::new().days(t));
    let days = days.filter(|day| day.weekday().to_monday_one_offset() < 6).enumerate();
    let days = days.map(|(t, day)| format!("{},{}\n", day.strftime("%m/%d/%Y"), [5, 1, 2, 3, 9][t % 5] + t));
    let folder = Folder::new()
        .with("months.csv", "date,x\n".to_owned() + &months.collect::<String>())
        .with("days.csv", "date,x\n".to_owned() + &days.collect::<String>());
    let ahead = |name: &str, horizon: usize| -> Vec<String> {
        let settings = "--set model.spans=2 --set model.order=4 --set model.random=30";
        folder.run(&format!("train --data {name}.csv --set horizon={horizon} {settings} --out {name}")).ok();
        folder.run(&format!("predict {name} --data {name}.csv")).csv()[1..].iter().map(|row| row[3].clone()).collect()
    };
    assert_eq!(ahead("months", 3), ["31.01.2024", "29.02.2024", "31.03.2024"]);
    assert!(folder.run("inspect months").ok().stdout.contains("1 month apart"));
    // The last day is Friday, October 25.
    assert_eq!(ahead("days", 3), ["10/28/2024", "10/29/2024", "10/30/2024"]);
    let seen = folder.run("inspect days").ok().stdout.clone();
    assert!(seen.contains("a working day apart") && seen.contains("seasons of 5 observations"), "{seen}");
}
