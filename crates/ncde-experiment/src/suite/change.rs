//! Settings of a run on words that are changed from outside: `KEY=VALUE`, keys as `result.json` has them.
//!
//! ```text
//! training.rates.peak=0.01      rates.peak=0.01      peak=0.01        one key, by as much of its name as no other has
//! ```

use serde_json::Value;

use crate::Error;

/// Sets one key.
///
/// # Errors
/// If it is not `KEY=VALUE`, or there is no such key or more than one.
pub(super) fn change(settings: &mut Value, assignment: &str) -> Result<(), Error> {
    let refuse = |problem: String| Err(Error::Refused(format!("`--set {assignment}`: {problem}")));
    let Some((key, value)) = assignment.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
        return refuse("wanted KEY=VALUE, for example `training.decay=0.1`".into());
    };
    // What is no JSON is a string: no quotes are needed on a command line.
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.into()));
    let known = keys(settings, "");
    let tail = format!(".{key}");
    let mut found: Vec<&String> = known.iter().filter(|own| *own == key).collect();
    if found.is_empty() {
        found = known.iter().filter(|own| own.ends_with(&tail)).collect();
    }
    let list = |keys: &[&String]| keys.iter().map(|own| format!("`{own}`")).collect::<Vec<_>>().join(", ");
    let full = match found[..] {
        [own] => own.as_str(),
        [] => key,
        _ => return refuse(format!("it may be {}", list(&found))),
    };
    let (parent, own) = full.rsplit_once('.').map_or((String::new(), full), |(parent, own)| (pointer(parent), own));
    // A setting that is left out where it has its default value may be set by its whole name; whether there is such a one is known where it is read.
    match settings.pointer_mut(&parent).and_then(Value::as_object_mut) {
        Some(place) if !found.is_empty() || !parent.is_empty() => {
            place.insert(own.into(), value);
            Ok(())
        }
        _ => refuse(format!("there is no such key; there are {}", list(&known.iter().collect::<Vec<_>>()))),
    }
}

fn pointer(key: &str) -> String {
    key.split('.').map(|part| format!("/{part}")).collect()
}

/// The whole names of all values.
fn keys(value: &Value, prefix: &str) -> Vec<String> {
    let Value::Object(own) = value else { return vec![prefix.into()] };
    let name = |key: &str| if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
    own.iter().flat_map(|(key, value)| keys(value, &name(key))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::change;

    #[test]
    fn a_key_goes_by_as_much_of_its_name_as_no_other_has() {
        let begun = json!({"hidden": 4, "training": {"rates": {"peak": 1.0}, "steps": 3, "hidden": 1}, "model": {"init": 1.0, "steps": 2}});
        let changed = |assignment: &str| {
            let mut own = begun.clone();
            change(&mut own, assignment).map(|()| own).map_err(|e| e.to_string())
        };
        assert_eq!(changed("peak=0.5").unwrap()["training"]["rates"]["peak"], 0.5);
        assert_eq!(changed("hidden=9").unwrap()["hidden"], 9);
        assert_eq!(changed("training.steps = 9").unwrap()["training"]["steps"], 9);
        assert_eq!(changed("model.flow=exp").unwrap()["model"]["flow"], "exp");
        assert!(changed("steps=1").unwrap_err().contains("`model.steps`, `training.steps`"));
        for wrong in ["flow=exp", "hidden.more=1", "hidden"] {
            assert!(changed(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }
}
