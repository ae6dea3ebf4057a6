//! Reads a file and says what it holds: `cargo run --release -p ncde-data --example summary FILE [LABELS]`. Without a file, a few lines of CSV.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use ncde_data::{ReadOptions, read, read_bytes};

const WALKS: &str =
    "id,time,x,y,label\na,0.0,1.0,0.0,left\na,0.7,1.5,,left\nb,0.1,0.3,2.0,right\nb,0.4,,2.5,right\nb,0.9,0.1,2.2,right\n";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let file = arguments.next();
    let options = ReadOptions { labels: arguments.next(), ..ReadOptions::default() };
    let start = Instant::now();
    let data = match file {
        Some(file) => read(&file, &options)?,
        None => read_bytes("walks.csv", WALKS.as_bytes(), &options)?,
    };
    let seconds = start.elapsed().as_secs_f64();
    let mut out = std::io::stdout().lock();
    write!(out, "{}", data.summary())?;
    writeln!(out, "\nread in {seconds:.3} s")?;
    Ok(())
}
