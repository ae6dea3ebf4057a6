//! Reads a file and says what it holds: `cargo run --release -p ncde-data --example summary FILE [LABELS]`.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use ncde_data::{ReadOptions, read};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let file = arguments.next().ok_or("which file?")?;
    let options = ReadOptions { labels: arguments.next(), ..ReadOptions::default() };
    let start = Instant::now();
    let data = read(&file, &options)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut out = std::io::stdout().lock();
    write!(out, "{}", data.summary())?;
    writeln!(out, "\nread in {seconds:.3} s")?;
    Ok(())
}
