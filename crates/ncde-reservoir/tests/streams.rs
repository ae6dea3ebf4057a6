//! Rows one by one, in pieces or all at once; streams that go on for ever.

use ncde_reservoir::{Family, Rows, Summary, SummaryShape};

use crate::common::{POOLS, Reservoir, Series, noise};

#[test]
fn pieces_change_no_bit() {
    let reservoir = Reservoir::new(6, 3, &[0.07, 0.5], 1);
    // Regular gaps share their flow with the row before, irregular ones do not; the horizon ends in between.
    let mut series = Series::new(150, 3, 0.01, 4);
    series.gaps[40..80].fill(0.0125);
    let series = Series::at(series.gaps, series.values);
    let bits = |all: &[f32]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let one_by_one = reservoir.features_after(&series, 1..=150);
    for ends in [vec![150], vec![1, 150], vec![31, 32, 33, 64, 100, 150], vec![7, 39, 104, 149]] {
        for (end, seen) in ends.iter().zip(reservoir.features_after(&series, ends.clone())) {
            assert_eq!(bits(&seen), bits(&one_by_one[end - 1]), "{end} of {ends:?}");
        }
    }
}

/// Stationary input, with a horizon of a thousand rows and one of a few.
#[test]
fn a_stream_can_go_on_for_ever() {
    for (horizon, tolerance) in [(1000.0, 0.25), (4.0, 1.5)] {
        let mut reservoir = Reservoir::new(4, 1, &[3.0 / horizon, 40.0 / horizon], 6);
        reservoir.shape.families = vec![Family { groups: 1, pools: POOLS.to_vec() }];
        reservoir.mix.truncate(2);
        reservoir.taps.truncate(2 * 5 * 16);
        reservoir.cuts.truncate(2 * 64);
        let rows = 200_000;
        let gaps = noise(9, rows).iter().map(|x| (1.0 + 0.5 * x) / horizon).collect();
        // The first response of each span lies above its first threshold at all times, the second below.
        for span in 0..2 {
            let cuts = &mut reservoir.cuts[span * 64..];
            (cuts[0], cuts[1]) = (-1e3, 1e3);
        }
        let values = noise(2, rows).iter().map(|&x| x as f32).collect();
        let seen = reservoir.features_after(&Series::at(gaps, values), [20_000, 110_000, 200_000]);
        assert!(seen.iter().flatten().all(|x| x.is_finite() && x.abs() < 1e4));
        // Share, mean, longest and place, each of two spans.
        for all in &seen {
            let pools: Vec<&[f32]> = all[..512].chunks(64).collect();
            assert!(pools[..2].iter().chain(&pools[4..]).all(|pool| pool.iter().all(|x| (0.0..=1.0 + 1e-5).contains(x))));
            for span in 0..2 {
                let [share, longest] = [pools[span], pools[4 + span]];
                assert!((share[0] - 1.0).abs() < 1e-4 && share[1] == 0.0, "{} {}", share[0], share[1]);
                assert!((longest[0] - 1.0).abs() < 1e-4 && longest[1] == 0.0, "{} {}", longest[0], longest[1]);
            }
        }
        // Two looks at the same kind of noise differ by chance alone, and no more after nine times as long.
        let apart = |a: &[f32], b: &[f32]| {
            let shares = a[..128].iter().zip(&b[..128]);
            shares.map(|(a, b)| f64::from((a - b).abs())).sum::<f64>() / 128.0
        };
        let (near, far) = (apart(&seen[1], &seen[2]), apart(&seen[0], &seen[2]));
        assert!(near.max(far) < tolerance * 0.2, "{horizon}: {near} {far}");
        for end in 0..2 {
            let moments = |all: &[f32]| all[all.len() - 6..].to_vec();
            let (early, late) = (moments(&seen[end]), moments(&seen[2]));
            for i in 0..2 {
                assert!((early[i] - late[i]).abs() < tolerance as f32, "{horizon}, moment {i}: {early:?} {late:?}");
            }
        }
    }
}

/// Where rows are so close that a gap is less than the last bit of the horizon, sums stand still and do not grow.
#[test]
fn the_smallest_gaps_let_nothing_grow() {
    let reservoir = Reservoir::new(2, 1, &[0.5], 3);
    for gap in [1e-9, 4e-8, 1e-6] {
        let mut series = Series::new(50_000, 1, 0.02, 7);
        series.gaps[200..].fill(gap);
        let series = Series::at(series.gaps, series.values);
        let seen = reservoir.features_after(&series, [200, 50_000]);
        let most = f64::from(50_000) * gap + 1e-4;
        for (i, (before, after)) in seen[0][..3 * 64].iter().zip(&seen[1]).enumerate() {
            // A share of time moves by no more than the time that has passed.
            assert!(f64::from((before - after).abs()) < 1.1 * most, "gap {gap}, share {i}: {before} {after}");
        }
    }
}

/// What lies many horizons back is forgotten, a long run too.
#[test]
fn a_run_of_many_horizons_is_forgotten_in_a_few() {
    let mut reservoir = Reservoir::new(1, 1, &[0.01], 3);
    reservoir.summary = SummaryShape { order: 1, spans: vec![], memories: false, moments: false, areas: 0, windows: 0, depth: 0 };
    reservoir.shape.families = vec![Family { groups: 1, pools: POOLS.to_vec() }];
    (reservoir.mix, reservoir.taps, reservoir.cuts) = (vec![1.0], [vec![0.0; 16], vec![1.0; 16]].concat(), vec![0.5; 64]);
    // Above the threshold for fifty horizons, then below.
    let values: Vec<f32> = (0..5200).map(|k| if k <= 5000 { 1.0 } else { 0.0 }).collect();
    let series = Series::at(vec![0.01; 5200], values);
    let seen = reservoir.features_after(&series, [90, 5001, 5101, 5200]);
    let longest: Vec<f32> = seen.iter().map(|all| all[128]).collect();
    let faded = |rows: i32| 0.99_f32.powi(rows);
    for (seen, wanted) in longest.iter().zip([1.0, 1.0, faded(100), faded(199)]) {
        assert!((seen - wanted).abs() < 1e-3, "{longest:?}");
    }
    let share: Vec<f32> = seen.iter().map(|all| all[0]).collect();
    assert!((share[2] - faded(100)).abs() < 1e-3 && (share[1] - 1.0).abs() < 1e-5, "{share:?}");
}

/// A channel that stands still has no deviation, not even by rounding.
#[test]
fn a_constant_has_no_deviation() {
    let reservoir = Reservoir::new(3, 2, &[0.3], 2);
    let mut series = Series::new(400, 2, 0.01, 1);
    series.values.chunks_exact_mut(2).for_each(|row| row[0] = 0.7);
    for all in reservoir.features_after(&series, [1, 2, 90, 400]) {
        let moments = &all[all.len() - 11..];
        assert!((moments[0] - 0.7).abs() < 1e-6 && moments[1] == 0.0 && moments[2] == 0.0, "{moments:?}");
        assert_eq!(moments[3..5], [0.7, 0.7]);
    }
}

/// Signed areas of a closed loop are its area, whichever point it starts at; they fade beyond the horizon.
#[test]
fn areas_are_those_of_the_path() {
    let summary = Summary::new(
        SummaryShape { order: 1, spans: vec![], memories: false, moments: false, areas: 2, windows: 0, depth: 0 },
        2,
    );
    let square = [[3.0_f32, 1.0], [5.0, 1.0], [5.0, 4.0], [3.0, 4.0], [3.0, 1.0]];
    let read = |path: &[[f32; 2]], gap: f64| {
        let gaps: Vec<f64> = (0..path.len()).map(|i| if i == 0 { 0.0 } else { gap }).collect();
        let since: Vec<f64> = (0..path.len()).map(|i| i as f64 * gap).collect();
        let (mut state, mut out) = (vec![0.0; summary.state()], Vec::new());
        let rows = Rows { gaps: &gaps, since: &since, values: path.as_flattened(), first: true };
        summary.push(&mut state, rows, &mut Default::default());
        summary.read(&state, &mut out);
        out
    };
    assert_eq!(read(&square, 0.1), [0.0, 0.0, 6.0]);
    let mut back = square;
    back.reverse();
    assert_eq!(read(&back, 0.1), [0.0, 0.0, -6.0]);
    assert_eq!(read(&square[..3], 0.1), [2.0, 3.0, 3.0]);
    // A gap as long as the horizon leaves nothing of what was before.
    assert_eq!(read(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], 1.0), [1.0, 1.0, 0.5]);
}
