//! A value of JSON with the order of its keys: that of columns.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value; what is no list and no object is the cell that a csv file has for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Cell(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    pub(super) fn is_cell(&self) -> bool {
        matches!(self, Self::Cell(_))
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(OfAny)
    }
}

struct OfAny;

impl<'de> Visitor<'de> for OfAny {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Cell(String::new()))
    }

    fn visit_bool<E>(self, is: bool) -> Result<Value, E> {
        Ok(Value::Cell(is.to_string()))
    }

    fn visit_i64<E>(self, x: i64) -> Result<Value, E> {
        Ok(Value::Cell(x.to_string()))
    }

    fn visit_u64<E>(self, x: u64) -> Result<Value, E> {
        Ok(Value::Cell(x.to_string()))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
        let is_plain = x == 0.0 || (1e-5..1e16).contains(&x.abs());
        Ok(Value::Cell(if is_plain { x.to_string() } else { format!("{x:e}") }))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Cell(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut of: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = of.next_element()? {
            list.push(value);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut of: A) -> Result<Value, A::Error> {
        let mut object = Vec::new();
        while let Some(entry) = of.next_entry()? {
            object.push(entry);
        }
        Ok(Value::Object(object))
    }
}
