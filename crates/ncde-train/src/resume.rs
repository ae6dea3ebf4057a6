//! Whether a run may go on: it must have the data and the settings it was begun with. Values are compared, not texts.

use std::path::Path;

use ncde_report::RunRecord;
use serde_json::{Value, json};

use crate::directory::RECORD;
use crate::{Config, Error, Run};

/// What may differ between a run and its resumption: where files are (what is in them may not), and how many steps there are.
const EXEMPT: [&str; 6] = ["/data/train", "/data/test", "/data/labels", "/data/test_labels", "/data/parts", "/train/steps"];

/// How many steps the identity of a run asks for.
pub(crate) fn steps_of(identity: &Value) -> Option<usize> {
    identity.pointer("/config/train/steps").and_then(Value::as_u64).map(|steps| steps as usize)
}

/// All that decides what comes out of a run.
fn identity(config: &Config, fingerprint: &str) -> Value {
    json!({"config": config, "data": fingerprint})
}

/// The settings that a run which goes on must have the same.
fn comparable(identity: &Value) -> Value {
    let mut config = identity["config"].clone();
    for place in EXEMPT {
        if let Some((table, key)) = place.rsplit_once('/')
            && let Some(table) = config.pointer_mut(table).and_then(Value::as_object_mut)
        {
            table.remove(key);
        }
    }
    config
}

/// The first key under which one value has something else than another, with what it has: `model.hidden = 8`.
fn difference(has: &Value, other: &Value, key: &str) -> Option<String> {
    let below = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    match (has, other) {
        (Value::Object(has), Value::Object(other)) => {
            has.iter().find_map(|(name, value)| difference(value, other.get(name).unwrap_or(&Value::Null), &below(name)))
        }
        (Value::Array(has), Value::Array(other)) if has.len() == other.len() => {
            has.iter().zip(other).enumerate().find_map(|(i, (value, other))| difference(value, other, &below(&i.to_string())))
        }
        _ => (has != other).then(|| format!("{key} = {has}")),
    }
}

impl Run {
    /// All that decides what comes out of it.
    pub(crate) fn identity(&self) -> Value {
        identity(&self.config, &self.fingerprint)
    }

    /// The record of the finished run in a directory, if there is one; an error if it was another.
    pub(crate) fn finished(&self, directory: &Path) -> Option<Result<RunRecord, Error>> {
        let path = directory.join(RECORD);
        (path.exists() && directory.join(ncde_runtime::SPEC).exists()).then(|| {
            let record = RunRecord::read(&path).map_err(|e| Error::Unfit(e.to_string()))?;
            self.check_same(&identity(&Config::from_toml(&record.config)?, &record.data.fingerprint))?;
            Ok(record)
        })
    }

    /// A run that is resumed must have the data and the settings it was begun with, and at least as many steps.
    pub(crate) fn check_same(&self, begun: &Value) -> Result<(), Error> {
        let now = self.identity();
        let (before, after) = (comparable(begun), comparable(&now));
        if let Some(differs) = difference(&before, &after, "") {
            return Err(Error::Config(format!(
                "the run was begun with other settings (`{differs}`); give the same ones to resume it, or another directory to begin anew"
            )));
        }
        if let Some(more) = difference(&after, &before, "") {
            return Err(Error::Config(format!(
                "the run was begun without `{more}`; leave it out to resume it, or give another directory to begin anew"
            )));
        }
        // Records of earlier versions have no fingerprint.
        if begun["data"] != "" && begun["data"] != now["data"] {
            return Err(Error::Unfit(
                "the run was begun with other data: cases, values or labels have changed since; give the same files to resume it, \
                 or another directory to begin anew"
                    .into(),
            ));
        }
        match (steps_of(begun), steps_of(&now)) {
            (Some(begun), Some(now)) if now < begun => Err(Error::Config(format!(
                "`train.steps` is {now}, but the run was begun with {begun}; it can be trained longer, not shorter"
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Value {
        comparable(&identity(&Config::from_toml(text).unwrap_or_default(), ""))
    }

    #[test]
    fn values_are_compared_where_they_stand() {
        let cde = |steps: usize| {
            format!(
                "[[model.layers]]\nlayer = \"neural-cde\"\nkind = \"ncde\"\nhidden = 4\nwidth = 4\nlayers = 1\nactivation = \"relu\"\n\
                 before_last = \"relu\"\nlast = \"tanh\"\nsolver = \"heun\"\nsteps = {steps}\ninit = 1.0\n"
            )
        };
        // The steps of a solver are no steps of training.
        assert_eq!(difference(&of(&cde(2)), &of(&cde(3)), ""), Some("model.layers.0.steps = 2".into()));
        let trained = |steps: usize| format!("[data]\ntrain = \"{steps}.csv\"\n[train]\nsteps = {steps}\nrate = 0.1\n");
        assert_eq!(difference(&of(&trained(5)), &of(&trained(6)), ""), None);
        let more = of("[train]\nrate = 0.1\nclip = 1.0\n");
        assert_eq!(difference(&of(&trained(5)), &more, ""), None);
        assert_eq!(difference(&more, &of(&trained(5)), ""), Some("train.clip = 1.0".into()));
    }
}
