//! Every reverse pass against central differences in f64, at odd shapes.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use std::sync::Arc;

use common::{assert_gradient, dot, uniform, walk};
use ncde_signature::{Basis, Index, Interval, Paths, Signature};

/// Length 2 (one increment), one channel, primes, depth 1, more than a register, enough paths for lanes.
const SHAPES: [(usize, usize, usize, usize); 8] =
    [(1, 2, 1, 1), (1, 2, 3, 2), (2, 7, 1, 5), (1, 11, 2, 5), (3, 5, 3, 4), (1, 3, 5, 3), (9, 4, 3, 3), (1, 6, 17, 2)];

fn transforms(channels: usize, depth: usize) -> Vec<Signature> {
    let log = |basis| Signature::log(channels, depth, basis).unwrap();
    vec![Signature::new(channels, depth).unwrap(), log(Basis::Lyndon), log(Basis::Hall), log(Basis::Expanded)]
}

#[test]
fn of_whole_paths() {
    for (seed, (batch, length, channels, depth)) in SHAPES.into_iter().enumerate() {
        let x: Vec<f64> = (0..batch).flat_map(|i| walk((seed * 100 + i) as u64, length, channels)).collect();
        for transform in transforms(channels, depth) {
            let of = |x: &[f64]| transform.of(&Paths::new(x, batch, length, channels).unwrap()).unwrap();
            let g = uniform(7, batch * transform.len());
            let dx = transform.of_backward(&Paths::new(&x, batch, length, channels).unwrap(), &g).unwrap();
            assert_gradient(&x, &dx, |x| dot(&of(x), &g));
        }
    }
}

#[test]
fn of_ragged_streams() {
    for (seed, (lengths, channels, depth)) in
        [(vec![2], 2, 3), (vec![5, 2, 7], 3, 3), (vec![4, 3, 2, 6, 2, 2, 3, 5, 4], 2, 4), (vec![3, 9], 1, 3), (vec![6], 4, 1)]
            .into_iter()
            .enumerate()
    {
        let x = walk(seed as u64, lengths.iter().sum(), channels);
        for transform in transforms(channels, depth) {
            let of = |x: &[f64]| transform.stream(&Paths::ragged(x, &lengths, channels).unwrap()).unwrap();
            let g = uniform(8, of(&x).len());
            let dx = transform.stream_backward(&Paths::ragged(&x, &lengths, channels).unwrap(), &g).unwrap();
            assert_gradient(&x, &dx, |x| dot(&of(x), &g));
        }
    }
}

#[test]
fn of_windows_and_overlapping_intervals() {
    let (length, channels) = (23, 3);
    let x = walk(5, length, channels);
    let rolling: Vec<Interval> = (0..length - 5).map(|start| Interval { path: 0, start, end: start + 5 }).collect();
    let windows = Paths::single(&x, channels).unwrap().windows(4).unwrap();
    for intervals in [rolling, windows] {
        for transform in transforms(channels, 3) {
            let of = |x: &[f64]| transform.intervals(&Paths::single(x, channels).unwrap(), &intervals).unwrap();
            let g = uniform(9, intervals.len() * transform.len());
            let dx = transform.intervals_backward(&Paths::single(&x, channels).unwrap(), &intervals, &g).unwrap();
            assert_gradient(&x, &dx, |x| dot(&of(x), &g));
        }
    }
}

#[test]
fn of_conversions_and_joins() {
    for (channels, depth) in [(1, 3), (2, 4), (3, 3), (5, 2), (4, 1)] {
        for transform in transforms(channels, depth) {
            let (a, b) = (uniform(1, 2 * transform.len()), uniform(2, 2 * transform.len()));
            let s = uniform(3, 2 * transform.shape().len());
            let g = uniform(4, 2 * transform.len());
            let gs = uniform(5, 2 * transform.shape().len());
            assert_gradient(&s, &transform.from_signature_backward(&s, &g).unwrap(), |s| {
                dot(&transform.from_signature(s).unwrap(), &g)
            });
            assert_gradient(&a, &transform.to_signature_backward(&a, &gs).unwrap(), |a| {
                dot(&transform.to_signature(a).unwrap(), &gs)
            });
            let (da, db) = transform.join_backward(&a, &b, &g).unwrap();
            assert_gradient(&a, &da, |a| dot(&transform.join(a, &b).unwrap(), &g));
            assert_gradient(&b, &db, |b| dot(&transform.join(&a, b).unwrap(), &g));
        }
    }
}

#[test]
fn a_long_path_crosses_many_checkpoints() {
    let (length, channels) = (203, 2);
    let x = walk(11, length, channels);
    let transform = Signature::new(channels, 3).unwrap();
    let g = uniform(12, transform.len());
    let dx = transform.of_backward(&Paths::single(&x, channels).unwrap(), &g).unwrap();
    assert_gradient(&x, &dx, |x| dot(&transform.of(&Paths::single(x, channels).unwrap()).unwrap(), &g));
}

#[test]
fn of_questions_to_an_index() {
    let (length, channels) = (40, 2);
    let x = walk(13, length, channels);
    for transform in transforms(channels, 3) {
        let transform = Arc::new(transform);
        let index = |x: &[f64]| {
            let mut index = Index::new(&transform);
            for (t, row) in x.chunks(channels).enumerate() {
                index.push(t as f64, row).unwrap();
            }
            index
        };
        let g = uniform(14, transform.len());
        // Inside one increment; from an observation; to one; over many; the whole path.
        for (s, t) in [(3.2, 3.7), (3.0, 3.5), (2.5, 3.0), (1.25, 38.5), (0.0, 39.0)] {
            let (touched, rows) = index(&x).between_backward(s, t, &g).unwrap();
            let mut dx = vec![0.0; x.len()];
            dx[touched.start * channels..touched.end * channels].copy_from_slice(&rows);
            assert_gradient(&x, &dx, |x| dot(&index(x).between(s, t).unwrap(), &g));
        }
    }
}
