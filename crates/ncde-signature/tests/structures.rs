//! Streams, windows, rolling windows, indices and the two layouts: all equal to the plain computation.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use std::sync::Arc;

use common::{assert_close, distance, naive_signature, walk};
use ncde_signature::{Basis, Index, Interval, OnlineSignature, Paths, Rolling, Signature};

#[test]
fn the_kernel_is_the_naive_computation() {
    for (seed, (length, channels, depth)) in
        [(2, 1, 1), (2, 3, 3), (9, 1, 6), (12, 2, 7), (8, 3, 5), (7, 4, 4), (5, 5, 4), (4, 9, 3), (6, 17, 2), (10, 16, 2)]
            .into_iter()
            .enumerate()
    {
        let x = walk(seed as u64, length, channels);
        let ours = Signature::new(channels, depth).unwrap().of(&Paths::single(&x, channels).unwrap()).unwrap();
        assert_close(&ours, &naive_signature(&x, channels, depth), 1e-13);
    }
}

#[test]
fn a_path_in_lanes_is_bit_for_bit_the_path_alone() {
    for (channels, depth) in [(1, 4), (2, 6), (3, 4), (4, 6), (5, 5), (7, 2), (6, 3), (5, 1)] {
        let lengths: Vec<usize> = (0..37).map(|i| 2 + (i * 7) % 11).collect();
        let x = walk(3, lengths.iter().sum(), channels);
        let singles: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        for transform in [Signature::new(channels, depth).unwrap(), Signature::log(channels, depth, Basis::Hall).unwrap()] {
            let all = transform.of(&Paths::ragged(&x, &lengths, channels).unwrap()).unwrap();
            let all_f32 = transform.of(&Paths::ragged(&singles, &lengths, channels).unwrap()).unwrap();
            let mut start = 0;
            for (i, length) in lengths.iter().enumerate() {
                let rows = start * channels..(start + length) * channels;
                let place = i * transform.len()..(i + 1) * transform.len();
                assert_eq!(transform.of(&Paths::single(&x[rows.clone()], channels).unwrap()).unwrap(), all[place.clone()]);
                assert_eq!(transform.of(&Paths::single(&singles[rows], channels).unwrap()).unwrap(), all_f32[place]);
                start += length;
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let (batch, length, channels) = (19, 40, 3);
    let x: Vec<f32> = walk(1, batch * length, channels).iter().map(|&x| x as f32).collect();
    let paths = Paths::new(&x, batch, length, channels).unwrap();
    let transform = Signature::log(channels, 5, Basis::Lyndon).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let value = transform.of(&paths).unwrap();
            let gradient = transform.of_backward(&paths, &value).unwrap();
            (value, gradient, transform.stream(&paths).unwrap())
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}

#[test]
fn streams_are_prefixes() {
    for (channels, depth) in [(2, 4), (3, 3), (1, 3), (4, 1)] {
        let lengths = [5, 2, 9, 4, 3, 8, 2, 6, 7];
        let x = walk(4, lengths.iter().sum(), channels);
        for transform in [Signature::new(channels, depth).unwrap(), Signature::log(channels, depth, Basis::Lyndon).unwrap()] {
            let stream = transform.stream(&Paths::ragged(&x, &lengths, channels).unwrap()).unwrap();
            let mut rows = stream.chunks_exact(transform.len());
            let mut start = 0;
            for length in lengths {
                for end in 2..=length {
                    let prefix = &x[start * channels..(start + end) * channels];
                    let direct = transform.of(&Paths::single(prefix, channels).unwrap()).unwrap();
                    assert_close(rows.next().unwrap(), &direct, 1e-13);
                }
                start += length;
            }
            assert!(rows.next().is_none());
        }
    }
}

#[test]
fn online_is_the_stream() {
    let x = walk(5, 50, 3);
    let transform = Arc::new(Signature::log(3, 4, Basis::Lyndon).unwrap());
    let stream = transform.stream(&Paths::single(&x, 3).unwrap()).unwrap();
    let mut online = OnlineSignature::new(&transform);
    assert!(online.value().unwrap().iter().all(|&x| x == 0.0));
    for (t, row) in x.chunks(3).enumerate() {
        online.push(row).unwrap();
        if t > 0 {
            assert_close(&online.value().unwrap(), &stream[(t - 1) * transform.len()..t * transform.len()], 1e-13);
        }
    }
    assert!(online.push(&[1.0, f64::NAN, 0.0]).unwrap_err().to_string().contains("channel 1"));
    assert!(online.push(&[1.0]).is_err());
}

#[test]
fn a_rolling_window_is_recomputation_after_ten_thousand_steps() {
    for (window, basis) in [(1, None), (7, Some(Basis::Lyndon)), (64, None)] {
        let (length, channels, depth) = (10_003, 2, 4);
        let x = walk(6, length, channels);
        let transform = basis.map_or_else(|| Signature::new(channels, depth), |basis| Signature::log(channels, depth, basis));
        let transform = Arc::new(transform.unwrap());
        let mut rolling = Rolling::new(&transform, window).unwrap();
        let mut worst = 0.0_f64;
        for (t, row) in x.chunks(channels).enumerate() {
            rolling.push(row).unwrap();
            assert_eq!(rolling.steps(), t.min(window));
            if t > 0 && (t % 97 == 0 || t + 1 == length) {
                let start = t.saturating_sub(window);
                let direct = transform.of(&Paths::single(&x[start * channels..(t + 1) * channels], channels).unwrap()).unwrap();
                worst = worst.max(distance(&rolling.value().unwrap(), &direct));
            }
        }
        assert!(worst < 1e-9, "window {window}: {worst:e}");
    }
}

#[test]
fn the_oldest_increment_can_be_dropped_by_hand() {
    let transform = Arc::new(Signature::new(1, 2).unwrap());
    let mut rolling = Rolling::new(&transform, usize::MAX).unwrap();
    for x in [0.0, 1.0, 3.0, 6.0] {
        rolling.push(&[x]).unwrap();
    }
    rolling.drop_oldest();
    assert_eq!(rolling.value().unwrap(), [5.0, 12.5]);
    rolling.drop_oldest();
    rolling.drop_oldest();
    rolling.drop_oldest();
    assert_eq!((rolling.value().unwrap(), rolling.steps()), (vec![0.0, 0.0], 0));
}

#[test]
fn an_index_answers_every_interval() {
    let (length, channels, depth) = (150, 2, 3);
    let x = walk(7, length, channels);
    for transform in [Signature::new(channels, depth).unwrap(), Signature::log(channels, depth, Basis::Lyndon).unwrap()] {
        let transform = Arc::new(transform);
        let mut index = Index::new(&transform);
        for (t, row) in x.chunks(channels).enumerate() {
            index.push(t as f64 * 0.5, row).unwrap();
        }
        let intervals: Vec<Interval> = (0..length - 1)
            .step_by(3)
            .flat_map(|start| (start + 1..length).step_by(5).map(move |end| Interval { path: 0, start, end }))
            .collect();
        let direct = transform.intervals(&Paths::single(&x, channels).unwrap(), &intervals).unwrap();
        for (interval, direct) in intervals.iter().zip(direct.chunks_exact(transform.len())) {
            assert_close(&index.observations(interval.start, interval.end).unwrap(), direct, 1e-12);
        }
        // Between observations: the same as with the cut points inserted.
        let at = |t: f64| -> Vec<f64> {
            let (i, w) = ((t * 2.0).floor() as usize, (t * 2.0).fract());
            (0..channels)
                .map(|c| x[i * channels + c] + w * (x[((i + 1) * channels + c).min(x.len() - 1)] - x[i * channels + c]))
                .collect()
        };
        for (s, t) in [(0.1, 0.2), (0.3, 41.7), (3.0, 4.25), (3.25, 4.0), (20.0, 60.5)] {
            let inner = (0..length).filter(|&i| s < i as f64 * 0.5 && (i as f64) * 0.5 < t);
            let mut cut = at(s);
            cut.extend(inner.flat_map(|i| x[i * channels..(i + 1) * channels].to_vec()));
            cut.extend(at(t));
            let direct = transform.of(&Paths::single(&cut, channels).unwrap()).unwrap();
            assert_close(&index.between(s, t).unwrap(), &direct, 1e-12);
        }
        assert!(index.observations(3, 3).is_err());
        assert!(index.observations(3, length).is_err());
        assert!(index.between(1.0, 1.0).is_err());
        assert!(index.between(-1.0, 1.0).is_err());
        assert!(index.push(3.0, &[0.0, 0.0]).unwrap_err().to_string().contains("times must increase"));
    }
}

#[test]
fn windows_share_their_end_points_and_join_to_the_whole() {
    let x = walk(8, 31, 3);
    let paths = Paths::single(&x, 3).unwrap();
    for transform in [
        Signature::new(3, 4).unwrap(),
        Signature::log(3, 4, Basis::Hall).unwrap(),
        Signature::log(3, 4, Basis::Expanded).unwrap(),
    ] {
        let windows = transform.intervals(&paths, &paths.windows(7).unwrap()).unwrap();
        assert_eq!(windows.len(), 5 * transform.len());
        let mut rows = windows.chunks_exact(transform.len());
        let first = rows.next().unwrap().to_vec();
        let joined = rows.fold(first, |whole, row| transform.join(&whole, row).unwrap());
        assert_close(&joined, &transform.of(&paths).unwrap(), 1e-12);
    }
    assert_eq!(Paths::single(&vec![0.0; 17984 * 7], 7).unwrap().windows(12).unwrap().len(), 1499);
}

#[test]
fn an_overflow_is_an_error_everywhere() {
    let transform = Arc::new(Signature::new(1, 4).unwrap());
    let (mut online, mut rolling, mut index) =
        (OnlineSignature::new(&transform), Rolling::new(&transform, 3).unwrap(), Index::new(&transform));
    for (t, x) in [0.0_f32, 1e20].into_iter().enumerate() {
        online.push(&[x]).unwrap();
        rolling.push(&[x]).unwrap();
        index.push(t as f64, &[x]).unwrap();
    }
    let joined = transform.join(&[1e20_f32, 0.0, 0.0, 0.0], &[1e20, 1e30, 0.0, 0.0]);
    for result in [online.value(), rolling.value(), index.observations(0, 1), joined] {
        assert!(result.unwrap_err().to_string().contains("overflows"));
    }
}

#[test]
fn a_long_path_in_pieces_is_the_path_in_steps() {
    // Longer than what is computed in one go, beside a short one; online takes it step by step.
    let (channels, lengths) = (2, [9_001, 40, 5_000]);
    let x: Vec<f64> = walk(15, lengths.iter().sum(), channels).iter().map(|x| x * 0.1).collect();
    let paths = Paths::ragged(&x, &lengths, channels).unwrap();
    for transform in [Signature::new(channels, 3).unwrap(), Signature::log(channels, 3, Basis::Lyndon).unwrap()] {
        let transform = Arc::new(transform);
        let all = transform.of(&paths).unwrap();
        let gradient = transform.of_backward(&paths, &vec![1.0; all.len()]).unwrap();
        let mut start = 0;
        for (i, length) in lengths.into_iter().enumerate() {
            let path = paths.path(i);
            let mut online = OnlineSignature::new(&transform);
            path.chunks(channels).for_each(|row| online.push(row).unwrap());
            assert_close(&all[i * transform.len()..(i + 1) * transform.len()], &online.value().unwrap(), 1e-11);
            // A gradient does not know of pieces either: streams are never cut, and the last row's gradient is the whole's.
            let mut last = vec![0.0; (length - 1) * transform.len()];
            let end = last.len() - transform.len();
            last[end..].fill(1.0);
            let direct = transform.stream_backward(&Paths::single(path, channels).unwrap(), &last).unwrap();
            assert_close(&direct, &gradient[start..start + path.len()], 1e-10);
            start += path.len();
        }
    }
}
