//! The binary as a user runs it, in a folder of its own, and arrays written by hand.
#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The rows of the csv on stdout, header first.
    pub(crate) fn csv(&self) -> Vec<Vec<String>> {
        self.ok();
        parse_csv(&self.stdout)
    }

    /// The numbers of the csv on stdout below its header.
    pub(crate) fn numbers(&self) -> Vec<Vec<f64>> {
        let number = |cell: &String| cell.parse().unwrap();
        let rows = self.csv();
        rows[1..].iter().map(|row| row.iter().map(number).collect()).collect()
    }

    /// The JSON on stdout, in one line.
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.ok().stdout.lines().count(), 1, "{}", self.stdout);
        serde_json::from_str(&self.stdout).unwrap()
    }

    pub(crate) fn ok(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// A failure with this exit code whose message holds all of `parts`.
    pub(crate) fn failed(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in {}", self.stderr);
        }
    }
}

pub(crate) fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.records().map(|record| record.unwrap().iter().map(str::to_string).collect()).collect()
}

/// Few steps on the demo's data: seconds in a test.
pub(crate) const QUICK: &str = "--set steps=40 --set evaluate_every=10 --set hidden=8 --set window=8";

/// A folder with the data of the demo.
pub(crate) fn demo() -> Folder {
    let folder = Folder::new();
    folder.run("data --demo --output demo.csv").ok();
    folder
}

/// The weights of a run, byte by byte.
pub(crate) fn weights(folder: &Folder, run: &str) -> Vec<u8> {
    folder.read(&format!("{run}/model.safetensors"))
}

/// A folder with files in it, gone at the end.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.path(name), content).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The names of everything in it.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `ncde` here with arguments separated by spaces.
    pub(crate) fn run(&self, arguments: &str) -> Run {
        self.run_with(arguments, "")
    }

    pub(crate) fn run_with(&self, arguments: &str, stdin: &str) -> Run {
        let mut child = self.spawn(arguments);
        let (mut pipe, stdin) = (child.stdin.take().unwrap(), stdin.to_owned());
        // From a thread of its own: a program that answers while it reads would wait for us, and we for it.
        let writer = std::thread::spawn(move || pipe.write_all(stdin.as_bytes()));
        let output = child.wait_with_output().unwrap();
        // A program that stops early does not read everything.
        let _ = writer.join().unwrap();
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Begins to run `ncde` here, to talk with it.
    pub(crate) fn spawn(&self, arguments: &str) -> Child {
        self.command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ncde"));
        command.args(arguments.split_whitespace()).current_dir(self.0.path()).env_remove("COLUMNS");
        command
    }
}

/// An npy file with this header and these bytes after it.
pub(crate) fn npy(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

pub(crate) fn npy_f64(shape: &str, values: &[f64]) -> Vec<u8> {
    npy("<f8", "False", shape, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

pub(crate) fn npy_f32(shape: &str, values: &[f32]) -> Vec<u8> {
    npy("<f4", "False", shape, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

/// The header text of an npy file and the bytes after it.
pub(crate) fn split_npy(bytes: &[u8]) -> (String, &[u8]) {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert_eq!(end % 64, 0, "the numbers are not aligned");
    (String::from_utf8(bytes[10..end].to_vec()).unwrap(), &bytes[end..])
}

pub(crate) fn f64s(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
}

pub(crate) fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

pub(crate) fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

pub(crate) fn close(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len(), "{a:?} {b:?}");
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() < 1e-12, "{a:?} {b:?}");
    }
}

/// Right then up, with a header.
pub(crate) const CORNER: &str = "x,y\n0,0\n1,0\n1,1\n";
