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
    let known = keys(settings, "");
    let refuse = |problem: String| Err(ncde_train::Error::Config(problem));
    let full_key = |key: &str| {
        let tail = format!(".{key}");
        let found: Vec<&String> = match known.iter().find(|name| *name == key) {
            Some(exact) => vec![exact],
            None => known.iter().filter(|name| name.ends_with(&tail)).collect(),
        };
        let list = |names: &[&String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        match found[..] {
            [name] => Ok(name.clone()),
            // A setting that is left out where it has its default value may be set by its whole name; whether there is such a one is known where it is read.
            [] if key
                .rsplit_once('.')
                .is_some_and(|(table, _)| settings.pointer(&pointer(table)).is_some_and(Value::is_object)) =>
            {
                Ok(key.into())
            }
            [] => refuse(format!("there is no such key; there are {}", list(&known.iter().collect::<Vec<_>>()))),
            _ => refuse(format!("it may be {}", list(&found))),
        }
    };
    let mut changed = settings.clone();
    ncde_train::assign(&mut changed, assignment, full_key).map_err(|e| Error::Refused(format!("`--set {assignment}`: {e}")))?;
    *settings = changed;
    Ok(())
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
