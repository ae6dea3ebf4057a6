//! A cache of compiled kernels between runs: compiling them takes longer than a short training.
//!
//! It lies where the system has its caches (`XDG_CACHE_HOME`, `~/.cache`, `~/Library/Caches`, `LOCALAPPDATA`), in a directory for each build of the
//! program: kernels are found by name, which may mean another kernel in another build.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use cubecl::config::cache::CacheConfig;
use cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};

/// Sets the cache directory of `CubeCL`, unless a configuration file sets one or `CubeCL` has started.
pub(crate) fn configure() {
    let Some(directory) = directory() else { return };
    let mut state = CubeClRuntimeConfig::storage().lock();
    if state.is_none() {
        let mut config = CubeClRuntimeConfig::from_current_dir().override_from_env();
        config.compilation.cache.get_or_insert(CacheConfig::File(directory));
        *state = Some(Arc::new(config));
    }
}

/// The directory of this build, which is there; those of others are removed. None where there is no place for it.
fn directory() -> Option<PathBuf> {
    let home = |inside: &str| env::var_os("HOME").map(|home| PathBuf::from(home).join(inside));
    let known = env::var_os("XDG_CACHE_HOME").or_else(|| env::var_os("LOCALAPPDATA")).map(PathBuf::from);
    let base = known.or_else(|| home(if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }))?;
    let program = fs::metadata(env::current_exe().ok()?).ok()?;
    let mut hasher = DefaultHasher::new();
    (program.len(), program.modified().ok()?).hash(&mut hasher);
    let all = base.join("ncde").join("kernels");
    let build = all.join(format!("{:016x}", hasher.finish()));
    if !build.is_dir() {
        // What cannot be removed stays; it does no harm.
        let _ = fs::remove_dir_all(&all);
        fs::create_dir_all(&build).ok()?;
    }
    Some(build)
}
