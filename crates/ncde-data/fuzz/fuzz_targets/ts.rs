//! Any bytes, read as `.ts`: a dataset that can be summed up, or an error that can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ncde_data::{Format, ReadOptions, read_bytes};

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions { format: Some(Format::Ts), ..ReadOptions::default() };
    match read_bytes("fuzz", bytes, &options) {
        Ok(data) => assert!(!data.summary().to_string().is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
