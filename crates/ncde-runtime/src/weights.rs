//! Weights by name, in a safetensors file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::Error;
use crate::spec::WeightsSpec;

/// The name of the file in the directory of a model.
pub const WEIGHTS: &str = "model.safetensors";

/// A weight of a model, with its values.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedWeight {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers, row-major.
    pub values: Vec<f32>,
}

/// The bytes of a file with these weights, and what to remember of it.
///
/// # Errors
/// If a shape does not fit its numbers.
pub fn to_bytes(weights: &[NamedWeight]) -> Result<(Vec<u8>, WeightsSpec), Error> {
    let raw: Vec<Vec<u8>> = weights.iter().map(|w| w.values.iter().flat_map(|x| x.to_le_bytes()).collect()).collect();
    let views =
        weights.iter().zip(&raw).map(|(w, raw)| Ok((w.name.as_str(), TensorView::new(Dtype::F32, w.shape.clone(), raw)?)));
    let views: Result<Vec<_>, safetensors::SafeTensorError> = views.collect();
    let bytes = views.and_then(|views| safetensors::serialize(views, None));
    let bytes = bytes.map_err(|e| Error::Corrupt { path: WEIGHTS.into(), problem: e.to_string() })?;
    let spec = WeightsSpec { bytes: bytes.len() as u64, crc32: crc32fast::hash(&bytes) };
    Ok((bytes, spec))
}

/// The weights of a file, to be taken one by one.
#[derive(Debug)]
pub struct Weights {
    path: PathBuf,
    all: HashMap<String, NamedWeight>,
}

impl Weights {
    /// Reads a file, which must be the one that `spec` remembers.
    ///
    /// # Errors
    /// If it cannot be read, is another one or a damaged one, or holds a number that is not finite.
    pub fn read(path: impl AsRef<Path>, spec: &WeightsSpec) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::parse(path, &read(path, |bytes| check_size(path, bytes, spec))?, spec)
    }

    /// From the contents of a file.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn from_bytes(bytes: &[u8], spec: &WeightsSpec) -> Result<Self, Error> {
        Self::parse(WEIGHTS.as_ref(), bytes, spec)
    }

    fn parse(path: &Path, bytes: &[u8], spec: &WeightsSpec) -> Result<Self, Error> {
        let corrupt = |problem: String| Error::Corrupt { path: path.into(), problem };
        check_size(path, bytes.len() as u64, spec)?;
        if crc32fast::hash(bytes) != spec.crc32 {
            return Err(corrupt("its checksum is not the one in `model.json`: the file is damaged or of another model".into()));
        }
        let file = SafeTensors::deserialize(bytes).map_err(|e| corrupt(format!("not a safetensors file: {e}")))?;
        let mut all = HashMap::new();
        for (name, view) in file.tensors() {
            if view.dtype() != Dtype::F32 {
                return Err(corrupt(format!("weight `{name}` is of type {:?}, but f32 is wanted", view.dtype())));
            }
            let values: Vec<f32> = view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            if let Some(i) = values.iter().position(|x| !x.is_finite()) {
                return Err(corrupt(format!("weight `{name}` is {} at place {i}", values[i])));
            }
            all.insert(name.clone(), NamedWeight { shape: view.shape().to_vec(), values, name });
        }
        Ok(Self { path: path.into(), all })
    }

    /// Weights that are there already.
    pub fn of(weights: Vec<NamedWeight>) -> Self {
        let all = weights.into_iter().map(|weight| (weight.name.clone(), weight)).collect();
        Self { path: WEIGHTS.into(), all }
    }

    /// How many numbers there are in all.
    pub fn numbers(&self) -> usize {
        self.all.values().map(|weight| weight.values.len()).sum()
    }

    /// All of them, by name.
    pub fn all(&self) -> Vec<NamedWeight> {
        let mut all: Vec<NamedWeight> = self.all.values().cloned().collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The weight of this name, which must have this shape.
    ///
    /// # Errors
    /// If there is none, or it has another shape.
    pub fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        let wrong = |seen: String| Error::Weight { name: name.into(), seen, wanted: shape.into() };
        let weight = self.all.remove(name).ok_or_else(|| wrong(format!("is not in `{}`", self.path.display())))?;
        if weight.shape == shape { Ok(weight.values) } else { Err(wrong(format!("has shape {:?}", weight.shape))) }
    }

    /// All were wanted.
    ///
    /// # Errors
    /// If some were not.
    pub fn finish(self) -> Result<(), Error> {
        match self.all.keys().min() {
            None => Ok(()),
            Some(name) => Err(Error::Corrupt { path: self.path, problem: format!("weight `{name}` is not one of the model's") }),
        }
    }
}

/// The contents of a plain file whose size is checked before memory is asked for.
pub(crate) fn read(path: &Path, check_size: impl FnOnce(u64) -> Result<(), Error>) -> Result<Vec<u8>, Error> {
    let failed = |e: std::io::Error| Error::File { path: path.into(), problem: e.to_string() };
    ncde_files::check_plain(path).map_err(failed)?;
    check_size(std::fs::metadata(path).map_err(failed)?.len())?;
    ncde_files::read_plain(path).map_err(failed)
}

/// The file is as long as the description remembers.
fn check_size(path: &Path, seen: u64, spec: &WeightsSpec) -> Result<(), Error> {
    if seen == spec.bytes {
        return Ok(());
    }
    let problem = format!("{seen} bytes, but `model.json` says {}; copy the model again", spec.bytes);
    Err(Error::Corrupt { path: path.into(), problem })
}
