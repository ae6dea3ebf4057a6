//! Files of the archive's form at three protocols, broken ones, and how recordings are cut.

use ncde_data::Targets;

use super::array::array;
use super::pickle::{Node, Pickle};
use super::recording::{CHANNELS, Recording, STEP, Signals};
use super::{Cut, Source};

/// Made by `tests/fixtures/ppg.py`.
const FILES: [(&str, &[u8]); 3] = [
    ("0", include_bytes!("../../tests/fixtures/ppg-0.pkl")),
    ("2", include_bytes!("../../tests/fixtures/ppg-2.pkl")),
    ("5", include_bytes!("../../tests/fixtures/ppg-5.pkl")),
];

#[test]
fn files_of_all_protocols_are_read() {
    for (protocol, bytes) in FILES {
        let pickle = Pickle::read(bytes, 1 << 20).unwrap();
        let own = Recording::of("S1", &pickle).unwrap();
        assert_eq!((own.values.len(), own.rates.as_slice()), (512 * 6, [60.0; 4].as_slice()), "protocol {protocol}");
        for t in [0, 1, 2, 17, 511] {
            let (a, slow) = ((t / 2) as f64, (t / 16) as f64);
            let wanted = [a / 64.0, (a + 0.5) / 64.0, -a / 64.0, t as f64 / 8.0, slow / 4.0, 30.0 + slow / 4.0];
            assert_eq!(own.values[6 * t..][..6], wanted, "protocol {protocol}, observation {t}");
        }
        let peaks = array(&pickle, pickle.entry(pickle.root(), "rpeaks").unwrap()).unwrap();
        assert_eq!((peaks.shape.as_slice(), peaks.values[3]), ([8].as_slice(), 2100.0));
        let questions = pickle.entry(pickle.root(), "questionnaire").unwrap();
        assert_eq!(pickle.entry(questions, "AGE").map(|id| pickle.node(id)), Some(&Node::Int(34)));
    }
}

#[test]
fn long_strings_are_passed_over_and_missing_ones_told() {
    // The pulse takes 4096 bytes, the accelerometer 6144; in Latin-1 text a byte takes up to two.
    for (protocol, bytes) in FILES {
        let pickle = Pickle::read(bytes, 5500).unwrap();
        let message = Recording::of("S1", &pickle).unwrap_err();
        assert!(message.contains("[\"ACC\"] is longer than any recording"), "protocol {protocol}: {message}");
        assert!(array(&pickle, pickle.entry(pickle.root(), "label").unwrap()).is_ok());
    }
    let other = Pickle::read(b"}.".as_slice(), 100).unwrap();
    let message = Recording::of("S1", &other).unwrap_err();
    assert!(message.contains("there is no [\"signal\"][\"wrist\"][\"ACC\"]") && message.contains("S1/S1.pkl"), "{message}");
}

#[test]
fn what_python_would_call_is_not_called() {
    // os.system("...") is a note of a call, and no array.
    let pickle = Pickle::read(b"(dp0\nS'label'\np1\ncos\nsystem\np2\n(S'true'\np3\ntRs.".as_slice(), 100).unwrap();
    let label = pickle.entry(pickle.root(), "label").unwrap();
    assert!(matches!(pickle.node(label), Node::Object { state: None, .. }));
    assert!(array(&pickle, label).unwrap_err().contains("`system`"));
}

#[test]
fn broken_files_are_refused_and_never_more() {
    // Sizes that nobody has, memory that is asked for again and again, lists in themselves.
    for text in [
        b"\x80\x02T\xff\xff\xff\xff".as_slice(),
        b"\x80\x05\x8e\xff\xff\xff\xff\xff\xff\xff\x7fabc",
        b"(((((t.",
        b"]q\x00h\x00a.",
        b"t.",
        b"h\x05.",
        b"\x86.",
        b"(I1\nd.",
        b"S'\\x4'\n.",
        b"\x8a\xff.",
        b"",
    ] {
        let seen = Pickle::read(text, 1 << 20).map(|pickle| Recording::of("S1", &pickle));
        assert!(!matches!(seen, Ok(Ok(_))), "{text:?}");
    }
    let again =
        [b"\x80\x02c_codecs\nencode\nq\x00X\x00\x00\x10\x00".as_slice(), &[b'a'; 1 << 20], b"q\x01X\x06\x00\x00\x00latin1q\x02"]
            .concat();
    let many = [again, b"h\x00h\x01h\x02\x86R0".repeat(1000), b".".to_vec()].concat();
    let message = Pickle::read(many.as_slice(), 1 << 20).map(|_| ()).unwrap_err();
    assert!(message.contains("bytes of text"), "{message}");
    let message = Pickle::read([b"N".repeat((1 << 20) + 1), b".".to_vec()].concat().as_slice(), 100).map(|_| ()).unwrap_err();
    assert!(message.contains("more than 1048576 values"), "{message}");
    // Broken copies of good files, cut and changed: read or refused, and never a panic.
    for (_, bytes) in FILES {
        for cut in (0..bytes.len()).step_by(bytes.len() / 97) {
            assert!(Pickle::read(&bytes[..cut], 1 << 20).is_err());
        }
        let mut state = 7_u64;
        for _ in 0..300 {
            let mut copy = bytes.to_vec();
            for _ in 0..4 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let place = (state >> 33) as usize % copy.len();
                copy[place] = (state >> 20) as u8;
            }
            let _ = Pickle::read(copy.as_slice(), 1 << 20).map(|pickle| Recording::of("S1", &pickle));
        }
    }
}

/// A recording in which every number says where it is.
fn counted(labels: usize) -> Recording {
    let seconds = 2 * labels;
    let count = |n: usize| (0..n).map(|i| i as f64).collect::<Vec<_>>();
    let signals =
        Signals { acc: count(seconds * 96), bvp: count(seconds * 64), eda: count(seconds * 4), temp: vec![33.0; seconds * 4] };
    signals.joined("S1", &count(labels))
}

#[test]
fn labels_belong_to_the_end_of_their_eight_seconds() {
    let own = counted(100);
    // Label 0 is of the seconds 0 to 8, which end with observation 511, the last of the fourth two seconds.
    assert_eq!((own.rates[..6].to_vec(), own.rates.len()), (vec![0.0, 0.0, 0.0, 0.0, 1.0, 2.0], 100));
    assert_eq!(own.values.len(), 100 * STEP * CHANNELS.len());
}

#[test]
fn parts_are_contiguous_and_windows_stay_inside_one() {
    let cut = Cut { length: 5 * STEP, stride: 2 * STEP, seed: 1234 };
    let people: Vec<Recording> = (0..12).map(|i| Recording { name: format!("S{i}"), ..counted(100) }).collect();
    let own = cut.windows(&people);
    // 70 labels: windows of 5 from 0 to 65, every 2; 15 labels: from 0 to 10.
    assert_eq!((own.data.cases.len(), own.validation.len(), own.test.len()), (12 * (33 + 6 + 6), 12 * 6, 12 * 6));
    let Targets::ValueSteps { of, .. } = &own.data.targets else { panic!("labels at steps") };
    let mut orders = std::collections::BTreeSet::new();
    for person in 0..12 {
        let mut spans: Vec<(f64, f64, &str)> = Vec::new();
        for part in ["train", "val", "test"] {
            let prefix = format!("S{person}-{part}-");
            let mut low = f64::INFINITY;
            let mut high = f64::NEG_INFINITY;
            for (case, labels) in own.data.cases.iter().zip(of).filter(|(case, _)| case.id.starts_with(&prefix)) {
                assert!(case.times.len() == 640 && case.times[64] == 1.0 && case.values.len() == 640 * 6);
                let known: Vec<usize> = (0..640).filter(|&t| !labels[t].is_nan()).collect();
                assert_eq!(known, [127, 255, 383, 511, 639]);
                low = low.min(labels[127]);
                high = high.max(labels[639]);
            }
            spans.push((low, high, part));
        }
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{spans:?}");
        orders.insert(spans.iter().map(|span| span.2).collect::<Vec<_>>());
    }
    // The order is drawn, and the same again.
    assert!(orders.len() > 2 && cut.windows(&people).data.cases == own.data.cases);
    assert!(Cut { seed: 1, ..cut }.windows(&people).data.cases != own.data.cases);
}

#[test]
fn scaling_is_by_the_training_part() {
    let cut = Cut { length: 5 * STEP, stride: 5 * STEP, seed: 3 };
    let own = cut.windows(&[counted(100)]);
    let part = |name: &str| -> Vec<f64> {
        let cases = own.data.cases.iter().filter(|case| case.id.contains(name));
        cases.flat_map(|case| case.values.chunks_exact(6).map(|row| row[3])).collect()
    };
    let ends = |values: &[f64]| {
        [values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(f64::NEG_INFINITY, f64::max)]
    };
    assert_eq!(ends(&part("train")), [-1.0, 1.0]);
    // The pulse counts on, so the other parts lie outside.
    assert!(part("val").iter().chain(&part("test")).all(|x| x.abs() > 1.0));
    // What never changes is 0, and the axes share a scale.
    assert!(own.data.cases[0].values.chunks_exact(6).all(|row| row[5] == 0.0 && row[0] < row[1] && row[1] < row[2]));
}

#[test]
fn drawn_recordings_have_the_form_of_the_archive() {
    let source = Source::Drawn { people: 2, seconds: 120, seed: 5 };
    let all = source.recordings().unwrap();
    assert!(all.len() == 2 && all.iter().all(|own| own.rates.len() == 60 && own.values.len() == 120 * 64 * 6));
    assert!(all[0] != all[1] && all == source.recordings().unwrap());
    assert!(all[0].rates.iter().all(|rate| (40.0..110.0).contains(rate)));
}
