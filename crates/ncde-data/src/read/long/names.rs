//! What the names of columns suggest.
//!
//! A *known* name says what a column is for; one that only *suggests* it needs the cells to agree, and is a guess.

use crate::text::number::{self, Cell};

const IDS: [&str; 4] = ["id", "case", "case_id", "series_id"];
const TIMES: [&str; 5] = ["time", "t", "timestamp", "date", "datetime"];
// Not `y`: beside an `x` that is a place more often than an answer.
const LABELS: [&str; 3] = ["label", "class", "target"];

/// What a series often belongs to.
const OWNERS: &str = "patient subject participant person user customer client device machine engine unit series animal trial \
                      episode session recording vehicle ticker stay";

/// Words behind `time` that say its unit or zone.
const UNITS: &str = "s sec secs second seconds ms millis milliseconds us ns min mins minute minutes h hr hrs hour hours d day \
                     days utc gmt unix epoch";

/// What counts up while a series goes on.
const ELAPSED: &str = "hour hours hr hrs minute minutes min mins second seconds sec secs ms day days week weeks cycle cycles step \
                       frame tick elapsed epoch";

/// What a column that counts rows is called.
const COUNTERS: [&str; 12] =
    ["row", "rows", "rownum", "row number", "row id", "row nr", "row no", "index", "idx", "no", "nr", "line"];

/// Whether a word is one of a list.
fn is_in(word: &str, list: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// The names of columns of labels, for messages.
pub(in super::super) const LABEL_NAMES: &[&str] = &LABELS;

/// Long names in any case; a single letter as it is, since `T` may well be a quantity.
fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| if known.len() == 1 { name == *known } else { name.eq_ignore_ascii_case(known) })
}

pub(in super::super) fn is_id(name: &str) -> bool {
    is_one_of(name, &IDS)
}

pub(in super::super) fn is_label(name: &str) -> bool {
    is_one_of(name, &LABELS)
}

/// `time`, `Time (s)`, `timestamp_ms`.
pub(in super::super) fn is_time(name: &str) -> bool {
    if is_one_of(name, &TIMES) {
        return true;
    }
    let words = words(name);
    match words.split_first() {
        Some((first, rest)) if *first == "t" => name.starts_with('t') && rest.is_empty() && name.len() > 1,
        Some((first, rest)) => TIMES.contains(&first.as_str()) && rest.iter().all(|word| is_in(word, UNITS)),
        None => false,
    }
}

/// `patient_id`, `PatientID`, `subject`.
pub(in super::super) fn suggests_id(name: &str) -> bool {
    ends_as_id(name) || is_owner(name)
}

/// `event_id`: never a quantity, and never a category worth having.
pub(in super::super) fn ends_as_id(name: &str) -> bool {
    let words = words(name);
    let is_word = |word: &String| matches!(word.as_str(), "id" | "ids" | "uid" | "guid" | "uuid" | "key");
    words.len() > 1 && words.last().is_some_and(is_word)
        || ["uid", "uuid", "guid"].contains(&words.concat().as_str())
        || words.len() == 1 && words[0].strip_suffix("id").is_some_and(|owner| is_in(owner, OWNERS))
}

/// `subject`, `unit`, `series`, and `subject number`.
fn is_owner(name: &str) -> bool {
    let words = words(name);
    let is_number = |word: &String| matches!(word.as_str(), "no" | "nr" | "number" | "num" | "name" | "code");
    words.split_first().is_some_and(|(first, rest)| is_in(first, OWNERS) && rest.iter().all(is_number))
}

/// Whether a column of this name is a series' owner only if its cells are numbered: `unit` may also be that of a quantity.
pub(in super::super) fn needs_numbers(name: &str) -> bool {
    words(name).first().is_some_and(|word| word == "unit")
}

/// `event_time`, `charttime`, `recorded_at`.
pub(in super::super) fn suggests_time(name: &str) -> bool {
    let words = words(name);
    let is_word = |word: &String| matches!(word.as_str(), "time" | "timestamp" | "datetime" | "date" | "when" | "ts");
    words.iter().any(is_word) || words.last().is_some_and(|word| word == "at" || word.ends_with("time") || word.ends_with("date"))
}

/// `event_time`, `hour`, `clock`, `Uhrzeit`: a time of day, if it holds some.
pub(in super::super) fn suggests_clock(name: &str) -> bool {
    const CLOCKS: &str = "clock hour hours hr zeit uhrzeit heure hora ora tid tijd";
    suggests_time(name) || words(name).iter().any(|word| is_in(word, CLOCKS))
}

/// `hour`, `cycle`, `elapsed_s`: a time if it rises in each series.
pub(in super::super) fn suggests_elapsed(name: &str) -> bool {
    let words = words(name);
    words.split_first().is_some_and(|(first, rest)| {
        is_in(first, ELAPSED) && rest.iter().all(|word| is_in(word, UNITS) || matches!(word.as_str(), "number" | "no" | "nr"))
    })
}

/// `row`, `index`, `Unnamed: 0`, and no name at all.
pub(in super::super) fn suggests_counter(name: &str) -> bool {
    let words = words(name);
    words.is_empty() || words[0] == "unnamed" || COUNTERS.contains(&words.join(" ").as_str())
}

/// A name that ends in a number, as `t12` and `12`: what stands before it, and the number.
pub(in super::super) fn numbered(name: &str) -> Option<(&str, u64)> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name[stem.len()..].parse().ok().map(|number| (stem, number))
}

/// Whether a name is a number: the file has no header then.
pub(in super::super) fn is_number(name: &str) -> bool {
    matches!(number::cell(name.as_bytes()), Cell::Number(_))
}

/// The words of a name in small letters, without what stands in brackets: `PatientID` is `patient`, `id`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut depth, mut before) = (0_usize, ' ');
    for c in name.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            c if c.is_alphanumeric() => {
                let starts = !before.is_alphanumeric()
                    || (c.is_uppercase() && before.is_lowercase())
                    || (c.is_alphabetic() != before.is_alphabetic());
                if starts {
                    words.push(String::new());
                }
                if let Some(word) = words.last_mut() {
                    word.extend(c.to_lowercase());
                }
            }
            _ => {}
        }
        before = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_words() {
        assert_eq!(words("PatientID"), ["patient", "id"]);
        assert_eq!(words("Time (s)"), ["time"]);
        assert_eq!(words("heart rate [bpm]"), ["heart", "rate"]);
        assert_eq!(words("t12"), ["t", "12"]);
        assert_eq!(words("Unnamed: 0"), ["unnamed", "0"]);
    }

    #[test]
    fn what_names_suggest() {
        for name in ["time", "t", "t [s]", "Time (s)", "timestamp_ms", "Date", "DateTime", "Date Time (UTC)"] {
            assert_eq!(is_time(name), name != "Date Time (UTC)", "{name}");
        }
        for name in ["T", "temperature", "times", "time_of_flight", "t12"] {
            assert!(!is_time(name), "{name}");
        }
        for name in
            ["patient_id", "PatientID", "subject", "series", "unit", "unit number", "encounter_id", "Subject No", "patientid"]
        {
            assert!(suggests_id(name), "{name}");
        }
        for name in ["grid", "humid", "valid", "id_ratio", "units sold", "acid"] {
            assert!(!suggests_id(name), "{name}");
        }
        assert!(
            suggests_time("event_time") && suggests_time("charttime") && suggests_time("recordedAt") && !suggests_time("heat")
        );
        assert!(suggests_elapsed("Hours") && suggests_elapsed("elapsed_s") && !suggests_elapsed("hour of sleep"));
        assert!(suggests_counter("") && suggests_counter("Unnamed: 0") && suggests_counter("row") && !suggests_counter("arrow"));
        assert_eq!((numbered("t12"), numbered("12"), numbered("x")), (Some(("t", 12)), Some(("", 12)), None));
    }
}
