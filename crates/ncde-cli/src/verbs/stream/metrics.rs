//! What happens in a stream, as text for Prometheus: in a file, or on a port of this machine alone.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::live::Live;
use crate::args::MetricsTarget;
use crate::error::Failure;
use crate::output;

/// How often the file is written.
const EVERY: Duration = Duration::from_secs(10);

/// Latencies are counted in ranges that grow by a quarter, from a microsecond to more than an hour.
const RANGES: usize = 100;
const GROWTH: f64 = 1.25;
const SHORTEST: f64 = 1e-6;

/// What is counted.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    /// Lines read, lines that could not be used, and lines that came late and were left out.
    pub(super) lines: u64,
    pub(super) refused: u64,
    pub(super) late: u64,
    /// Series that began anew as a state had overflowed, that were dropped, and that were put aside.
    pub(super) resets: u64,
    pub(super) dropped: u64,
    pub(super) aside: u64,
    /// Of each channel the values, and those outside of their range in training.
    pub(super) values: Vec<[u64; 2]>,
    latencies: Vec<u64>,
    seconds: f64,
}

impl Counts {
    pub(super) fn new(channels: usize) -> Self {
        Self {
            lines: 0,
            refused: 0,
            late: 0,
            resets: 0,
            dropped: 0,
            aside: 0,
            values: vec![[0; 2]; channels],
            latencies: vec![0; RANGES],
            seconds: 0.0,
        }
    }

    /// A prediction so long after its line was read.
    pub(super) fn predicted(&mut self, after: Duration) {
        let seconds = after.as_secs_f64();
        let range = (seconds / SHORTEST).max(1.0).log(GROWTH).ceil() as usize;
        self.latencies[range.min(RANGES - 1)] += 1;
        self.seconds += seconds;
    }

    pub(super) fn predictions(&self) -> u64 {
        self.latencies.iter().sum()
    }

    /// An upper bound of a quantile of the latencies.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = (share * self.predictions() as f64).ceil();
        let mut seen = 0;
        let range = self.latencies.iter().position(|&count| {
            seen += count;
            count > 0 && seen as f64 >= wanted
        });
        range.map_or(0.0, |range| SHORTEST * GROWTH.powi(range as i32))
    }

    /// The text, with the names of channels, and how many series are in memory and aside.
    pub(super) fn text(&self, channels: &[String], [held, aside]: [usize; 2]) -> String {
        let mut text = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, samples: &[(String, String)]| {
            let _ = writeln!(text, "# HELP ncde_stream_{name} {help}\n# TYPE ncde_stream_{name} {kind}");
            for (label, value) in samples {
                let _ = writeln!(text, "ncde_stream_{name}{label} {value}");
            }
        };
        let one = |value: u64| [(String::new(), value.to_string())];
        metric("lines_total", "counter", "Lines read.", &one(self.lines));
        metric("refused_total", "counter", "Lines that could not be used.", &one(self.refused));
        metric("late_total", "counter", "Lines left out as they came late.", &one(self.late));
        metric("resets_total", "counter", "Series that began anew as a state overflowed.", &one(self.resets));
        metric("dropped_total", "counter", "Series dropped as idle, or as too many.", &one(self.dropped));
        metric("aside_total", "counter", "Series put aside as idle, or as too many.", &one(self.aside));
        let places = [("memory", held), ("file", aside)].map(|(place, count)| (format!("{{in=\"{place}\"}}"), count.to_string()));
        metric("series", "gauge", "Series known.", &places);
        let help = "Values, by channel.";
        let of = |name: &String| format!("{{channel=\"{}\"}}", escaped(name));
        let values = |i: usize| -> Vec<(String, String)> {
            channels.iter().zip(&self.values).map(|(name, counts)| (of(name), counts[i].to_string())).collect()
        };
        metric("values_total", "counter", help, &values(0));
        metric("values_outside_total", "counter", "Values outside of their range in training, by channel.", &values(1));
        let [all, outside] = self.values.iter().fold([0; 2], |sum, counts| [sum[0] + counts[0], sum[1] + counts[1]]);
        let share = outside as f64 / all.max(1) as f64;
        let help = "Share of all values outside of their range in training.";
        metric("outside_share", "gauge", help, &[(String::new(), share.to_string())]);
        let mut latency: Vec<(String, String)> = [0.5, 0.9, 0.99, 1.0]
            .map(|share| (format!("{{quantile=\"{share}\"}}"), format!("{:.3e}", self.quantile(share))))
            .into();
        latency.push(("_sum".into(), self.seconds.to_string()));
        latency.push(("_count".into(), self.predictions().to_string()));
        metric("latency_seconds", "summary", "From the reading of a line to its prediction.", &latency);
        text
    }
}

/// A text inside quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Metrics that are written or answered with until the program ends.
pub(super) struct Metrics {
    live: Arc<Mutex<Live>>,
    target: MetricsTarget,
}

impl Metrics {
    /// # Errors
    /// If the file cannot be written, or the port is taken.
    pub(super) fn start(target: &MetricsTarget, live: &Arc<Mutex<Live>>) -> Result<Self, Failure> {
        let metrics = Self { live: live.clone(), target: target.clone() };
        let other = Self { live: live.clone(), target: target.clone() };
        match target {
            MetricsTarget::File(_) => {
                metrics.write()?;
                thread::spawn(move || {
                    loop {
                        thread::sleep(EVERY);
                        if let Err(failure) = other.write() {
                            output::warn(&format!("error: {failure}"));
                        }
                    }
                });
            }
            MetricsTarget::Port(port) => {
                let refused =
                    |e: std::io::Error| Failure::Refused(format!("port {port} of 127.0.0.1: {e}; give another to `--metrics`"));
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).map_err(refused)?;
                let address = listener.local_addr().map_err(refused)?;
                output::info(&format!("metrics: http://{address}/metrics"));
                // One request at a time; a client that goes away or says nothing is no matter.
                thread::spawn(move || listener.incoming().flatten().for_each(|client| drop(other.answer(client))));
            }
        }
        Ok(metrics)
    }

    fn text(&self) -> String {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).metrics()
    }

    /// Writes the file, if there is one.
    pub(super) fn write(&self) -> Result<(), Failure> {
        match &self.target {
            MetricsTarget::File(path) => output::file(path, &self.text()),
            MetricsTarget::Port(_) => Ok(()),
        }
    }

    fn answer(&self, mut client: TcpStream) -> std::io::Result<()> {
        client.set_read_timeout(Some(Duration::from_secs(1)))?;
        client.set_write_timeout(Some(Duration::from_secs(1)))?;
        let mut request = Vec::new();
        let mut piece = [0; 1024];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < 1 << 13 {
            match client.read(&mut piece)? {
                0 => break,
                read => request.extend_from_slice(&piece[..read]),
            }
        }
        let is_known = [&b"GET /metrics "[..], b"GET / "].iter().any(|start| request.starts_with(start));
        let (status, text) = if is_known { ("200 OK", self.text()) } else { ("404 Not Found", String::new()) };
        let kind = "text/plain; version=0.0.4; charset=utf-8";
        write!(
            client,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )
    }
}
