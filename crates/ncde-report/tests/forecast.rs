//! Forecasts beside naive ones: by horizon and by channel, in a record and in every report.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use ncde_report::metrics::{Forecast, Tally, clustered};
use ncde_report::{Glyphs, Metrics, html, markdown, terminal};

use crate::common::{Made, forecaster, regressor};

/// Two channels of different level, each forecast as well: a pooled R2 would be close to 1.
fn metrics() -> Metrics {
    let names = ["small".to_owned(), "<large>".to_owned()];
    let mut tally = Tally::new(&[1, 2], &names, &[1.0, 2.0], Some(0.9), &["last value", "seasonal"]).with_period(Some(7));
    for i in 0..100 {
        let x = f64::from(i % 10);
        for (c, level) in [0.0, 1000.0].into_iter().enumerate() {
            let off = if i % 2 == 0 { 1.0 } else { -1.0 };
            tally.push([0, c], level + x, level + x + off, Some(2.0), &[level + x + 3.0, level + x + 2.0]);
            tally.push([1, c], level + x, level + x + 2.0 * off, Some(1.0), &[level + x + 4.0, level + x]);
        }
    }
    Metrics::Forecast(tally.finish(3).unwrap())
}

#[test]
fn channels_of_different_levels_are_not_pooled() {
    let all = metrics();
    let Metrics::Forecast(own) = &all else { panic!() };
    // The variance of 0, ..., 9 is 8.25: 1 - 1 / 8.25 and 1 - 4 / 8.25, whatever the level.
    let wanted = 1.0 - 2.5 / 8.25;
    assert!((own.r2.unwrap() - wanted).abs() < 1e-9, "{:?}", own.r2);
    assert_eq!((own.mase, own.coverage, own.cases, own.numbers), (Some((1.0 + 0.5 + 2.0 + 1.0) / 4.0), Some(0.5), 3, 400));
    assert_eq!(all.headline(), ("mase", 1.125));
    let [first, second] = &own.by_horizon()[..] else { panic!() };
    assert_eq!((first.0, first.1[0].coverage, second.1[0].coverage), (1, Some(1.0), Some(0.0)));
    assert_eq!((first.1[1].mae, second.1[2].mae), (3.0, 0.0));
    assert_eq!(own.by_channel()[1].1[0].mase, Some(0.75));
    // As JSON and back it is still a forecast.
    let text = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Metrics>(&text).unwrap(), all);
    // Nothing compared: nothing said.
    assert!(Tally::new(&[1], &["x".into()], &[1.0], None, &[]).finish(0).is_none());
}

#[test]
fn reports_show_naive_forecasts_beside_the_model() {
    let mut run = regressor(Made::default());
    run.test = Some(metrics());
    run.data.observations = Some([700, 150, 150]);
    let page = html(std::slice::from_ref(&run));
    let text = markdown(std::slice::from_ref(&run));
    let plain = terminal(&run, 80, Glyphs::Ascii);
    for report in [&page, &text, &plain] {
        for word in ["1.125", "last value", "seasonal", "50.0 %", "3 series"] {
            assert!(report.contains(word), "{word}: {report}");
        }
    }
    assert!(page.contains("&lt;large&gt;") && !page.contains("<large>"));
    assert!(plain.contains("by horizon") && plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
    assert!(text.contains("7 observations before") && text.contains("700 train, 150 validation, 150 test, in this order"));
}

#[test]
fn labels_of_a_series_count_together() {
    assert!(clustered(&[(5, 10)]).is_none() && clustered(&[]).is_none());
    // All right: as sure as so many series, not as so many labels.
    let all = clustered(&[(100, 100), (100, 100), (100, 100)]).unwrap();
    assert!(all.low < 0.5 && all.high == 1.0, "{all:?}");
    // Labels that differ as if they were independent are worth nearly as many.
    let even: Vec<(u64, u64)> = (0..50).map(|i| (if i % 2 == 0 { 7 } else { 9 }, 10)).collect();
    let own = clustered(&even).unwrap();
    assert!(own.low > 0.75 && own.high < 0.84, "{own:?}");
}

#[test]
fn series_that_are_forecast_badly_are_named_first() {
    let run = forecaster(3.0);
    let Some(Metrics::Forecast(metrics)) = &run.test else { panic!() };
    let ids: Vec<&str> = metrics.series.iter().map(|series| series.id.as_str()).collect();
    assert_eq!(ids, ["meter 7", "meter 9", "meter 8"]);
    // Each has the errors of all that is compared: together they are those of the whole.
    let numbers = |rival: usize| metrics.series.iter().map(|series| series.errors[rival].numbers).sum::<usize>();
    assert_eq!([0, 1, 2, 3].map(numbers), [metrics.numbers; 4]);
    let sum: f64 = metrics.series.iter().map(|series| series.errors[2].mae * series.errors[2].numbers as f64).sum();
    assert!((sum / metrics.numbers as f64 - metrics.naive[1].mae).abs() < 1e-9);
    for report in [html(std::slice::from_ref(&run)), markdown(std::slice::from_ref(&run))] {
        let rows = report.split("By series, the furthest off first").nth(1).unwrap();
        assert!(rows.find("meter 7").unwrap() < rows.find("meter 8").unwrap(), "{report}");
    }
    let text = markdown(&[run]);
    let header = text.lines().find(|line| line.starts_with("| metric")).unwrap();
    let titles: Vec<&str> = header.split('|').map(str::trim).collect();
    assert_eq!(titles, ["", "metric", "model", "last value", "seasonal", "mean", ""], "{text}");
}

#[test]
fn of_very_many_series_the_worst_are_held() {
    let mut tally = Tally::new(&[1], &["x".to_owned()], &[1.0], None, &[]);
    for series in 0..1000 {
        tally.begin(&series.to_string());
        tally.push([0, 0], 0.0, f64::from(series % 500), None, &[]);
    }
    let series = tally.finish(1000).unwrap().series;
    assert_eq!((series.len(), series[0].errors[0].mae, series[39].errors[0].mae), (Forecast::MAX_SERIES, 499.0, 480.0));
}
