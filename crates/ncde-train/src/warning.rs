//! What looks wrong with data, though it can be trained on: said before training, and kept in the record.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ncde_data::{Dataset, Targets};
use ncde_runtime::Task;

use super::names::Scale;
use super::{Parts, Settings};

/// Something that looks wrong.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    #[error(
        "nothing is held back to test on, so nothing says how good the model is on new cases; give a file (`--test FILE`) or a share \
         (`--set test_share=0.15`)"
    )]
    NothingToTest,
    #[error("all {cases} test cases are also training cases: is it the same file? Metrics say nothing about new cases")]
    TestIsTraining { cases: usize },
    #[error(
        "{count} of {cases} test cases are also among the training cases (`{first}` is the first): metrics are too good; remove them, or \
         `--set deduplicate=true`"
    )]
    Leaked { count: usize, cases: usize, first: String },
    #[error(
        "{what} were computed on the processor, as the device has no kernel for these sizes: training was slower than it could be"
    )]
    OnProcessor { what: &'static str },
    #[error(
        "`{key}` is of models that are trained step by step, so `slice` is trained in place of the default, `reservoir`; leave it out, or name \
         the model (`--model slice`)"
    )]
    OtherModel { key: String },
    #[error(
        "{count} of {groups} groups of the test cases are also trained on (`{first}` is the first): metrics are too good for new groups; leave them out"
    )]
    LeakedGroups { count: usize, groups: usize, first: String },
    #[error(
        "static covariate `{column}` has {values} values, each of several cases and with one label: it may tell what cases belong to, and not what they \
         are like; if it does, metrics are too good: name the column of what they belong to (`--group COLUMN`), or leave it out (`--ignore {column}`)"
    )]
    TellsGroups { column: String, values: usize },
    #[error(
        "class `{class}` has a single case, which is either learned from or tested on, not both; more cases are needed to know anything about it"
    )]
    RareClass { class: String },
    #[error("channel `{channel}` has no value in any training case; leave it out, or check the file (`ncde data FILE`)")]
    Missing { channel: String },
    #[error(
        "channel `{channel}` is {value} in every training case, so nothing can be learned from it; leave it out, or check the file"
    )]
    Constant { channel: String, value: f64 },
    #[error(
        "channel `{channel}` goes from {least} to {most}, but 98 % of its values lie between {low} and {high}: scaled to that range they are \
         hard to tell apart; correct the outliers, or `--set scale=standard`"
    )]
    Outlier { channel: String, least: f64, most: f64, low: f64, high: f64 },
    #[error(
        "channel `{channel}` is {value} {count} times, far from its other values ({low} to {high}): if that stands for a missing value, leave \
         those cells blank"
    )]
    Sentinel { channel: String, value: f64, count: usize, low: f64, high: f64 },
    #[error(
        "forecasts have no intervals: `{channel}` can be compared {seen} times {horizon} ahead in the validation part, and {wanted} are needed \
         for each channel and horizon; validate on more (`--set validation=0.3`), or forecast fewer horizons"
    )]
    NoIntervals { channel: String, horizon: usize, seen: usize, wanted: usize },
    #[error(
        "every case has {length} observations of {channels} channels; if it is the other way round, transpose the array to [cases, observations, channels]"
    )]
    Transposed { length: usize, channels: usize },
}

/// Channels without names beside this many times fewer observations look transposed.
const WIDE: usize = 8;
/// With fewer channels nobody can tell.
const MANY_CHANNELS: usize = 32;
/// The share of the range that 98 % of the values must have.
const FLAT: f64 = 0.02;
/// Values of a channel that are looked at.
const SAMPLED: usize = 100_000;
/// Numbers that stand for missing values, and the size from which on any may.
const NINES: [f64; 6] = [99.0, 999.0, 9999.0, 99_999.0, 999_999.0, 9_999_999.0];
const LARGE: f64 = 1e20;
/// How many times the range of the other values a sentinel is away from them.
const FAR: f64 = 2.0;
/// The fewest values of a static covariate that may stand for groups, and the fewest cases of each in the mean.
const MIN_GROUPS: usize = 6;
const CASES_OF_GROUP: usize = 2;
/// The share of these values that have one label, and the share `1 / CHANGES` after which, in their order, it is another one.
const PURE: f64 = 0.95;
const CHANGES: usize = 4;
/// The most warnings of a kind.
const MAX_PER_KIND: usize = 5;

/// All that looks wrong.
pub(super) fn of(data: &Dataset, parts: &Parts, settings: &Settings, task: &Task) -> Vec<Warning> {
    let mut all: Vec<Warning> = settings.instead_for.iter().map(|key| Warning::OtherModel { key: key.clone() }).collect();
    if parts.test.is_empty() {
        all.push(Warning::NothingToTest);
    }
    all.extend(leaked(data, parts));
    all.extend(leaked_groups(data, parts));
    if data.groups.is_none() {
        all.extend(tells_groups(data));
    }
    all.extend(rare(data, task).into_iter().take(MAX_PER_KIND));
    if data.vocabulary.is_none() {
        all.extend(channels(data, parts, settings.scale));
        all.extend(transposed(data));
    }
    all
}

fn leaked(data: &Dataset, parts: &Parts) -> Option<Warning> {
    // What decides when to stop is as good as learned from.
    let known: Vec<usize> = parts.train.iter().chain(&parts.validation).copied().collect();
    let copies = data.copies(&known, &parts.test);
    let (count, cases) = (copies.len(), parts.test.len());
    let first = data.cases[*copies.first()?].id.clone();
    Some(if count == cases { Warning::TestIsTraining { cases } } else { Warning::Leaked { count, cases, first } })
}

fn leaked_groups(data: &Dataset, parts: &Parts) -> Option<Warning> {
    let groups = data.groups.as_ref()?;
    let of = |part: &[usize]| part.iter().map(|&i| groups[i].as_str()).collect::<BTreeSet<&str>>();
    let (known, tested) = (&of(&parts.train) | &of(&parts.validation), of(&parts.test));
    let both: Vec<&&str> = tested.intersection(&known).collect();
    let first = (**both.first()?).to_owned();
    Some(Warning::LeakedGroups { count: both.len(), groups: tested.len(), first })
}

/// Static covariates whose values stand for groups: few for the cases, many for the classes, each with one label, and labels do not follow from their order.
fn tells_groups(data: &Dataset) -> Vec<Warning> {
    let label = |i: usize| match &data.targets {
        Targets::Classes { of, .. } => Some(of[i] as u64),
        Targets::Values { of, .. } => Some(of[i].to_bits()),
        _ => None,
    };
    let of_columns = |name: &str, columns: Range<usize>| -> Option<Warning> {
        let mut labels: BTreeMap<Vec<u64>, BTreeSet<u64>> = BTreeMap::new();
        let known = data.cases.iter().enumerate().filter(|(_, case)| !case.statics[columns.clone()].iter().any(|x| x.is_nan()));
        for (i, case) in known {
            let value = case.statics[columns.clone()].iter().map(|&x| ordered(x)).collect();
            labels.entry(value).or_default().insert(label(i)?);
        }
        let (values, all) = (labels.len(), labels.values().flatten().collect::<BTreeSet<_>>().len());
        let one: Vec<&u64> = labels.values().filter(|labels| labels.len() == 1).flatten().collect();
        let changes = one.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let tells = values >= MIN_GROUPS.max(all)
            && all > 1
            && data.cases.len() >= CASES_OF_GROUP * values
            && one.len() as f64 >= PURE * values as f64
            && CHANGES * changes >= values;
        tells.then(|| Warning::TellsGroups { column: name.into(), values })
    };
    // The columns that a category became are one.
    let stem = |name: &String| name.split_once('=').map_or_else(|| name.clone(), |(stem, _)| stem.to_owned());
    let mut start = 0;
    let columns = data.statics.chunk_by(|a, b| a.contains('=') && stem(a) == stem(b)).map(|names| {
        start += names.len();
        (stem(&names[0]), start - names.len()..start)
    });
    columns.filter_map(|(name, range)| of_columns(&name, range)).take(MAX_PER_KIND).collect()
}

/// The bits of a number, in the order of numbers.
fn ordered(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn rare(data: &Dataset, task: &Task) -> Vec<Warning> {
    let (Task::Classification { .. }, Targets::Classes { names, of }) = (task, &data.targets) else { return Vec::new() };
    let mut counts = vec![0_usize; names.len()];
    of.iter().for_each(|&class| counts[class] += 1);
    let single = names.iter().zip(counts).filter(|(_, count)| *count == 1);
    single.map(|(class, _)| Warning::RareClass { class: class.clone() }).collect()
}

fn channels(data: &Dataset, parts: &Parts, scale: Scale) -> Vec<Warning> {
    let (width, observations) = (data.channels.len(), parts.train.iter().map(|&i| data.cases[i].len()).sum::<usize>());
    let every = observations.div_ceil(SAMPLED).max(1);
    let (mut missing, mut constant, mut sentinels, mut outliers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (k, channel) in data.channels.iter().enumerate() {
        let values =
            || parts.train.iter().flat_map(|&i| data.cases[i].values.iter().skip(k).step_by(width)).filter(|x| !x.is_nan());
        let channel = channel.clone();
        let (least, most) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), &x| (least.min(x), most.max(x)));
        if least > most {
            missing.push(Warning::Missing { channel });
        } else if least == most {
            constant.push(Warning::Constant { channel, value: least });
        } else if let Some(found) = sentinel(&channel, &values().copied()) {
            sentinels.push(found);
        } else if scale == Scale::MinMax {
            let mut some: Vec<f64> = values().step_by(every).copied().collect();
            some.sort_unstable_by(f64::total_cmp);
            let at = |share: f64| some[((some.len() - 1) as f64 * share).round() as usize];
            let (low, high) = (at(0.01), at(0.99));
            // A channel that is nearly always the same, such as a count, is not flattened: there is nothing to flatten.
            if low < high && high - low < FLAT * (most - least) {
                outliers.push(Warning::Outlier { channel, least, most, low, high });
            }
        }
    }
    [missing, constant, sentinels, outliers].into_iter().flat_map(|kind| kind.into_iter().take(MAX_PER_KIND)).collect()
}

/// A number of only nines, or a huge one, that comes back and is far away from all others.
fn sentinel(channel: &str, values: &(impl Iterator<Item = f64> + Clone)) -> Option<Warning> {
    let is_suspect = |x: f64| x.abs() >= LARGE || NINES.contains(&x.abs());
    let mut suspects: Vec<f64> = Vec::new();
    for x in values.clone().filter(|&x| is_suspect(x)) {
        if suspects.len() < MAX_PER_KIND && !suspects.contains(&x) {
            suspects.push(x);
        }
    }
    for value in suspects {
        let count = values.clone().filter(|&x| x == value).count();
        let others = values.clone().filter(|&x| x != value && !is_suspect(x));
        let (low, high) = others.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let gap = if value > high { value - high } else { low - value };
        if count >= 2 && low <= high && gap > FAR * (high - low) {
            return Some(Warning::Sentinel { channel: channel.into(), value, count, low, high });
        }
    }
    None
}

fn transposed(data: &Dataset) -> Option<Warning> {
    let (channels, length) = (data.channels.len(), data.cases.first()?.len());
    let numbered = data.channels.iter().enumerate().all(|(i, name)| *name == format!("channel_{}", i + 1));
    let same = data.cases.iter().all(|case| case.len() == length);
    (numbered && same && channels >= MANY_CHANNELS.max(WIDE * length)).then_some(Warning::Transposed { length, channels })
}

#[cfg(test)]
mod tests {
    use ncde_data::Case;

    use super::*;
    use crate::Config;

    /// Cases with these values, one channel, two classes; the first ones are trained on, the last is tested on.
    fn of_values(series: &[&[f64]], change: impl FnOnce(&mut Dataset, &mut Parts)) -> Vec<Warning> {
        let mut data = crate::demo::turns(0).subset(&[]);
        let case = |(i, values): (usize, &&[f64])| Case {
            id: format!("c{i}"),
            times: (0..values.len()).map(|t| t as f64).collect(),
            values: values.to_vec(),
            statics: Vec::new(),
        };
        data.channels = vec!["x".into()];
        data.cases = series.iter().enumerate().map(case).collect();
        let of = (0..series.len()).map(|i| i % 2).collect();
        data.targets = Targets::Classes { names: vec!["a".into(), "b".into()], of };
        let last = series.len() - 1;
        let mut parts = Parts { train: (0..last).collect(), validation: Vec::new(), test: vec![last] };
        let mut asked = Config::default();
        asked.set("scale=min-max").unwrap();
        change(&mut data, &mut parts);
        let settings = Settings::of(&asked, &data, false).unwrap();
        super::of(&data, &parts, &settings, &settings.task)
    }

    const SERIES: [&[f64]; 5] = [&[0.0, 1.0, 3.0], &[1.0, 2.0, 2.5], &[3.0, 1.0, 0.0], &[0.5, 0.7, 2.0], &[2.0, 2.2, 0.1]];

    #[test]
    fn good_data_gives_no_warning() {
        assert_eq!(of_values(&SERIES, |_, _| {}), []);
    }

    #[test]
    fn tests_that_test_nothing() {
        assert_eq!(of_values(&SERIES, |_, parts| parts.test.clear()), [Warning::NothingToTest]);
        let same = |data: &mut Dataset, _: &mut Parts| data.cases[4].values = data.cases[1].values.clone();
        assert_eq!(of_values(&SERIES, same), [Warning::TestIsTraining { cases: 1 }]);
        let one_of_two = |data: &mut Dataset, parts: &mut Parts| {
            data.cases[4].values = data.cases[1].values.clone();
            *parts = Parts { train: vec![0, 1, 2], validation: Vec::new(), test: vec![3, 4] };
        };
        assert_eq!(of_values(&SERIES, one_of_two), [Warning::Leaked { count: 1, cases: 2, first: "c4".into() }]);
    }

    #[test]
    fn classes_and_channels_that_say_nothing() {
        let rare = |data: &mut Dataset, _: &mut Parts| {
            data.targets = Targets::Classes { names: vec!["a".into(), "b".into()], of: vec![0, 0, 0, 0, 1] };
        };
        assert_eq!(of_values(&SERIES, rare), [Warning::RareClass { class: "b".into() }]);
        let constant = |data: &mut Dataset, _: &mut Parts| data.cases[..4].iter_mut().for_each(|case| case.values.fill(7.0));
        assert_eq!(of_values(&SERIES, constant), [Warning::Constant { channel: "x".into(), value: 7.0 }]);
        let missing = |data: &mut Dataset, _: &mut Parts| data.cases[..4].iter_mut().for_each(|case| case.values.fill(f64::NAN));
        assert_eq!(of_values(&SERIES, missing), [Warning::Missing { channel: "x".into() }]);
    }

    #[test]
    fn groups_that_leak() {
        // 24 cases of 8 patients, whose ages tell who is who; every other patient is ill.
        let series = vec![&[0.0, 1.0][..]; 24];
        let of_patients = |labels: fn(usize) -> usize, groups: bool| {
            of_values(&series, |data, parts| {
                data.statics = vec!["age".into()];
                data.cases.iter_mut().enumerate().for_each(|(i, case)| {
                    case.values = vec![i as f64, (i * i % 7) as f64];
                    case.statics = vec![40.0 + (i / 3) as f64];
                });
                data.targets = Targets::Classes { names: vec!["a".into(), "b".into()], of: (0..24).map(labels).collect() };
                data.groups = groups.then(|| (0..24).map(|i| format!("p{}", i / 3)).collect());
                *parts = Parts { train: (0..22).collect(), validation: vec![], test: vec![22, 23] };
            })
        };
        assert_eq!(of_patients(|i| i / 3 % 2, false), [Warning::TellsGroups { column: "age".into(), values: 8 }]);
        // Labels that follow from the age, or that are not those of patients, and ages beside known groups.
        assert_eq!(of_patients(|i| i / 12, false), []);
        assert_eq!(of_patients(|i| i % 2, false), []);
        assert_eq!(of_patients(|i| i / 3 % 2, true), [Warning::LeakedGroups { count: 1, groups: 1, first: "p7".into() }]);
    }

    #[test]
    fn an_outlier_that_flattens_the_others() {
        let long: Vec<f64> = (0..400).map(|i| f64::from(i % 10)).collect();
        let spoil = |data: &mut Dataset, _: &mut Parts| data.cases[0].values[17] = 1e6;
        let seen = of_values(&[&long, &long[1..], &long[2..]], spoil);
        let wanted = Warning::Outlier { channel: "x".into(), least: 0.0, most: 1e6, low: 0.0, high: 9.0 };
        assert_eq!(seen.last(), Some(&wanted), "{seen:?}");
    }

    #[test]
    fn a_number_that_stands_for_a_missing_value() {
        let long: Vec<f64> = (0..400).map(|i| f64::from(i % 10)).collect();
        let seen = |value: f64, times: usize| {
            let spoil = |data: &mut Dataset, _: &mut Parts| data.cases[0].values[20..20 + times].fill(value);
            of_values(&[&long, &long[1..], &long[2..]], spoil)
        };
        let wanted = |value| Warning::Sentinel { channel: "x".into(), value, count: 3, low: 0.0, high: 9.0 };
        for value in [-999.0, -9999.0, 9999.0, 1e20, -1e30] {
            assert_eq!(seen(value, 3).last(), Some(&wanted(value)));
        }
        let is_sentinel = |warning: &Warning| matches!(warning, Warning::Sentinel { .. });
        // Once is an outlier; -998 and 9 are numbers like others.
        for (value, times) in [(-999.0, 1), (-998.0, 3), (9.0, 3)] {
            assert!(!seen(value, times).iter().any(is_sentinel), "{value}");
        }
        // Where values go up to 950, 999 is one of them.
        let high: Vec<f64> = (0..400).map(|i| f64::from(i % 96) * 10.0 + if i % 96 == 95 { 49.0 } else { 0.0 }).collect();
        assert!(!of_values(&[&high, &high[1..], &high[2..]], |_, _| {}).iter().any(is_sentinel));
        let message = wanted(-999.0).to_string();
        assert!(message.contains("`x` is -999 3 times") && message.contains("blank"), "{message}");
    }

    #[test]
    fn few_observations_of_many_numbered_channels() {
        let wide = |data: &mut Dataset, named: &str| {
            data.channels = (1..=40).map(|i| format!("{named}_{i}")).collect();
            data.cases
                .iter_mut()
                .enumerate()
                .for_each(|(i, case)| case.values = (0..120).map(|k| f64::from(k * k) + i as f64).collect());
        };
        let wanted = Warning::Transposed { length: 3, channels: 40 };
        assert_eq!(of_values(&SERIES, |data, _| wide(data, "channel")), [wanted]);
        assert_eq!(of_values(&SERIES, |data, _| wide(data, "sensor")), []);
    }
}
