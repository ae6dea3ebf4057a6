//! A prediction as a line: JSON where JSON came in, CSV where CSV did.

use std::io::{self, Write};

use ncde_runtime::{ModelSpec, Prediction, Task};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::verbs::predict::{cells, columns};

pub(super) struct Writer {
    spec: ModelSpec,
    csv: bool,
    begun: bool,
}

impl Writer {
    pub(super) fn new(spec: &ModelSpec, csv: bool) -> Self {
        Self { spec: spec.clone(), csv, begun: false }
    }

    pub(super) fn write(&mut self, out: &mut impl Write, id: &str, time: f64, prediction: &Prediction) -> io::Result<()> {
        if !self.csv {
            serde_json::to_writer(&mut *out, &Line { id, time, prediction, spec: &self.spec })?;
            return out.write_all(b"\n");
        }
        let mut writer = csv::Writer::from_writer(out);
        if !self.begun {
            self.begun = true;
            writer.write_record(["id", "time"].map(String::from).into_iter().chain(columns(&self.spec)))?;
        }
        writer.write_record([id.to_owned(), time.to_string()].into_iter().chain(cells(&self.spec, prediction)))?;
        // Into the buffer behind it, which is flushed when there is nothing left to read.
        writer.into_inner().map(|_| ()).map_err(|e| io::Error::other(e.to_string()))
    }
}

struct Line<'a> {
    id: &'a str,
    time: f64,
    prediction: &'a Prediction,
    spec: &'a ModelSpec,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.id.is_empty() {
            map.serialize_entry("id", self.id)?;
        }
        map.serialize_entry("time", &self.time)?;
        match (self.prediction, &self.spec.task) {
            (Prediction::Class { class, probabilities }, Task::Classification { classes, .. }) => {
                map.serialize_entry("prediction", &classes[*class])?;
                map.serialize_entry("probabilities", &Named { names: classes, values: probabilities })?;
            }
            (Prediction::Value(value), _) => map.serialize_entry("prediction", value)?,
            (Prediction::Values(values), _) => {
                map.serialize_entry("prediction", &Named { names: &self.spec.channels, values })?;
            }
            (Prediction::Class { .. }, _) => {}
        }
        map.end()
    }
}

/// Numbers by name.
struct Named<'a> {
    names: &'a [String],
    values: &'a [f64],
}

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.names.iter().zip(self.values))
    }
}
