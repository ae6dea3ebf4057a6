//! All series in a file, to go on with later.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use ncde_runtime::{Model, Series};
use serde::{Deserialize, Serialize};

use crate::error::Failure;

#[derive(Serialize, Deserialize)]
struct Saved<S> {
    /// The checksum of the weights they belong to.
    model: u32,
    series: S,
}

/// The series in a file; none if there is no file yet.
pub(super) fn load(path: &Path, model: &Model) -> Result<HashMap<String, Series>, Failure> {
    let refuse = |problem: String| Failure::Refused(format!("`{}`: {problem}", path.display()));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(e) => return Err(refuse(e.to_string())),
    };
    let saved: Saved<HashMap<String, Series>> =
        serde_json::from_str(&text).map_err(|e| refuse(format!("not the state of a stream: {e}")))?;
    if saved.model != model.spec().weights.crc32 {
        return Err(refuse("it was saved with another model; remove it to begin anew".into()));
    }
    for (id, series) in &saved.series {
        model.check(series).map_err(|e| refuse(format!("series `{id}`: {e}")))?;
    }
    Ok(saved.series)
}

/// Writes them, beside the file first.
pub(super) fn save(path: &Path, model: &Model, series: &HashMap<String, Series>) -> Result<(), Failure> {
    let failed = |source: std::io::Error| Failure::Write { path: path.into(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    let sorted: std::collections::BTreeMap<&String, &Series> = series.iter().collect();
    let saved = Saved { model: model.spec().weights.crc32, series: sorted };
    serde_json::to_writer(&mut file, &saved).map_err(|e| failed(e.into()))?;
    file.flush().map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}
