//! Layers of other crates, by name: `{"layer": "NAME", ...settings}` in a file, as those of this one.
//!
//! ```
//! use std::sync::Arc;
//! use ncde_runtime::layer::{Layer, Row, Share, Signal, Step, StepChain, Values, register};
//! use ncde_runtime::{Error, LayerSpec};
//! /// `y = -x`.
//! #[derive(Debug)]
//! struct Negative;
//! impl Layer for Negative {
//!     fn describe(&self) -> String {
//!         "each number with the other sign".into()
//!     }
//!     fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
//!         Ok(input.with_width(input.numbers("negative")?))
//!     }
//!     fn step(&self, _: &Signal, _: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
//!         Ok(Box::new(Self))
//!     }
//! }
//! impl Step for Negative {
//!     fn push(&mut self, _: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
//!         out.clear();
//!         out.extend(row.values.iter().map(|x| -x));
//!         Ok(true)
//!     }
//! }
//! register("negative", |_settings| Ok(Arc::new(Negative)))?;
//! let spec: LayerSpec = serde_json::from_str(r#"{"layer": "negative"}"#)?;
//! assert_eq!((spec.name(), spec.layer().describe()), ("negative", "each number with the other sign".into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number, Value};

use super::signal::refuse;
use super::{Layer, LayerSpec};
use crate::Error;

/// Makes a layer from its settings, an object without the name.
pub type ReadLayer = fn(&Value) -> Result<Arc<dyn Layer>, Error>;

static REGISTERED: RwLock<BTreeMap<String, ReadLayer>> = RwLock::new(BTreeMap::new());

/// Makes a layer of another crate known by its name, in the whole process; a layer that was registered by that name before is replaced.
///
/// # Errors
/// If a layer of this crate has the name.
pub fn register(name: &str, read: ReadLayer) -> Result<(), Error> {
    if LayerSpec::NAMES.contains(&name) {
        return refuse("layer", format!("`{name}`, which is the name of a layer of ncde; choose another"));
    }
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), read);
    Ok(())
}

fn registered(name: &str) -> Option<ReadLayer> {
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner).get(name).copied()
}

/// A layer of another crate.
#[derive(Debug, Clone)]
pub struct Foreign {
    name: String,
    settings: Map<String, Value>,
    layer: Arc<dyn Layer>,
}

impl Foreign {
    /// The layer that is registered by this name, with these settings.
    ///
    /// # Errors
    /// If there is none, or it refuses the settings.
    pub fn new(name: &str, settings: Map<String, Value>) -> Result<Self, Error> {
        let Some(read) = registered(name) else {
            return refuse("layer", format!("`{name}`, which is not registered; call `ncde_runtime::layer::register` first"));
        };
        let whole = Value::Object(settings);
        let layer = read(&whole)?;
        let Value::Object(settings) = whole else { return refuse("layer", "without settings") };
        Ok(Self { name: name.into(), settings, layer })
    }

    /// The name in files.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The settings, without the name.
    pub fn settings(&self) -> &Map<String, Value> {
        &self.settings
    }

    /// The layer.
    pub fn layer(&self) -> &dyn Layer {
        &*self.layer
    }
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.settings == other.settings
    }
}

impl Serialize for Foreign {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(1 + self.settings.len()))?;
        map.serialize_entry("layer", &self.name)?;
        self.settings.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

/// Reads a layer: one of another crate if its name is registered, else one of this crate by `read_known`.
pub(super) fn read<'de, D: Deserializer<'de>>(
    from: D,
    read_known: impl FnOnce(Value) -> Result<LayerSpec, serde_json::Error>,
) -> Result<LayerSpec, D::Error> {
    let Strict(value) = Strict::deserialize(from)?;
    let name = value.get("layer").and_then(Value::as_str).filter(|name| registered(name).is_some());
    match (name.map(str::to_owned), value) {
        (Some(name), Value::Object(mut settings)) => {
            settings.remove("layer");
            Foreign::new(&name, settings).map(LayerSpec::Foreign).map_err(|e| D::Error::custom(format!("layer `{name}`: {e}")))
        }
        (_, value) => read_known(value).map_err(D::Error::custom),
    }
}

/// Any value in which no key occurs twice, at no depth: [`Value`] by itself would keep the last.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a layer")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom(format!("{value}, but a finite number is wanted")))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(value)) = all.next_element()? {
            list.push(value);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, Strict(value))) = all.next_entry::<String, Strict>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate field `{key}`")));
            }
            map.insert(key, value);
        }
        Ok(map.into())
    }
}
