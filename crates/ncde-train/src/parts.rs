//! Parts that others have published: a file that says, for each seed, which cases are validated and tested on.
//!
//! ```json
//! {"2345": {"val": [241, 159], "test": [0, 3, 7]}, "3456": {"train": ["a", "b"], "val": [], "test": ["c"]}}
//! ```
//!
//! A case is its place, from 0 in the training file followed by the test file, or its id. `train` is everything else where it is not said. Whole numbers are ids
//! where one of them is no place.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use ncde_data::Case;
use serde::Deserialize;

use super::{Error, Parts};

#[derive(Deserialize)]
struct Listed {
    train: Option<Vec<Name>>,
    #[serde(default, alias = "validation")]
    val: Vec<Name>,
    #[serde(default)]
    test: Vec<Name>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Place(usize),
    Id(String),
}

/// The parts of a seed.
pub(super) fn read(path: &Path, seed: u64, cases: &[Case]) -> Result<Parts, Error> {
    let failed = |problem: String| Error::File { path: path.into(), problem };
    let text = std::fs::read_to_string(path).map_err(|e| failed(e.to_string()))?;
    let mut all: BTreeMap<String, Listed> = serde_json::from_str(&text)
        .map_err(|e| failed(format!("not a file of parts, `{{\"SEED\": {{\"val\": [...], \"test\": [...]}}}}`: {e}")))?;
    let seeds = all.keys().cloned().collect::<Vec<_>>().join(", ");
    let Some(Listed { train, val, test }) = all.remove(&seed.to_string()) else {
        return Err(failed(format!("no parts for seed {seed}; there are some for {seeds} (`--seed N`)")));
    };
    let names = || train.iter().flatten().chain(&val).chain(&test);
    let by_id = names().any(|name| matches!(name, Name::Place(place) if *place >= cases.len()));
    let ids: HashMap<&str, usize> = cases.iter().enumerate().map(|(i, case)| (case.id.as_str(), i)).collect();
    let find = |name: &Name| -> Result<usize, Error> {
        match name {
            Name::Place(place) if !by_id => Ok(*place),
            Name::Place(id) => ids
                .get(id.to_string().as_str())
                .copied()
                .ok_or_else(|| failed(format!("`{id}` is no case: there are {} of them, and none has this id", cases.len()))),
            Name::Id(id) => ids.get(id.as_str()).copied().ok_or_else(|| failed(format!("no case has the id `{id}`"))),
        }
    };
    let list = |names: &[Name]| names.iter().map(find).collect::<Result<Vec<usize>, Error>>();
    let (validation, test) = (list(&val)?, list(&test)?);
    let mut part = vec![0_u8; cases.len()];
    let named = train.as_deref().map(list).transpose()?;
    for &i in named.iter().flatten().chain(&validation).chain(&test) {
        part[i] += 1;
    }
    if let Some(twice) = part.iter().position(|&count| count > 1) {
        return Err(failed(format!("case `{}` is listed twice for seed {seed}", cases[twice].id)));
    }
    let train = named.unwrap_or_else(|| (0..cases.len()).filter(|&i| part[i] == 0).collect());
    Ok(Parts { train, validation, test }.sorted())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_places_or_ids_and_in_one_part_each() {
        let case = |id: &str| Case { id: id.into(), times: vec![0.0], values: vec![], statics: vec![] };
        let cases: Vec<Case> = ["a", "b", "7", "9", "c"].iter().map(|id| case(id)).collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("parts.json");
        let parts = |text: &str, seed| {
            std::fs::write(&path, text).unwrap();
            read(&path, seed, &cases).map_err(|e| e.to_string())
        };
        let seen = parts(r#"{"1": {"val": [3], "test": [4, 0]}}"#, 1).unwrap();
        assert_eq!([seen.train, seen.validation, seen.test], [vec![1, 2], vec![3], vec![0, 4]]);
        let seen = parts(r#"{"5": {"train": ["b"], "test": [7, 9]}}"#, 5).unwrap();
        assert_eq!([seen.train, seen.validation, seen.test], [vec![1], vec![], vec![2, 3]]);
        for (text, seed, wanted) in [
            (r#"{"1": {"test": [0]}}"#, 2, "no parts for seed 2; there are some for 1"),
            (r#"{"1": {"test": [0, 12]}}"#, 1, "`0` is no case: there are 5 of them"),
            (r#"{"1": {"test": ["z"]}}"#, 1, "no case has the id `z`"),
            (r#"{"1": {"val": [1], "test": [1]}}"#, 1, "case `b` is listed twice"),
            ("[]", 1, "not a file of parts"),
        ] {
            let message = parts(text, seed).unwrap_err();
            assert!(message.contains(wanted), "{message}");
        }
    }
}
