//! Pools folded into a readout: what the readout makes of the features, from a fraction of the state.

use ncde_reservoir::{Family, Pooling, Scratch};

use crate::common::{LINEAR, Reservoir, Series, noise};

#[test]
fn a_folded_readout_is_that_of_the_features() {
    let lists: [&[Pooling]; 4] =
        [&LINEAR, &[Pooling::Share], &[Pooling::Height, Pooling::Share], &[Pooling::Share, Pooling::Late]];
    for (seed, pools) in lists.into_iter().enumerate() {
        for (channels, outputs) in [(2, 3), (12, 1)] {
            let mut reservoir = Reservoir::new(9, channels, &[0.07, 0.5], seed as u64);
            // The second family shows whether features are told apart by family.
            reservoir.shape.families =
                vec![Family { groups: 4, pools: pools.to_vec() }, Family { groups: 3, pools: vec![Pooling::Share] }];
            let series = Series::new(150, channels, 0.012, 4);
            let count = reservoir.shape.features();
            let columns: Vec<Vec<f32>> =
                (0..outputs).map(|o| noise(100 + o, count).iter().map(|&x| x as f32).collect()).collect();
            let (mut folded, _) = reservoir.parts();
            let full = folded.state();
            assert!(folded.fold(&columns));
            assert!(2 * folded.state() < full, "{} of {full}", folded.state());
            let (mut state, mut pieces) = (vec![0.0; folded.state()], vec![0.0; folded.state()]);
            let mut scratch = Scratch::default();
            // The horizon ends in between.
            for (from, to) in [(0, 1), (1, 40), (40, 150)] {
                folded.push(&mut state, series.rows(from, to), &mut scratch);
                (from..to).for_each(|k| folded.push(&mut pieces, series.rows(k, k + 1), &mut scratch));
                assert!(state.iter().zip(&pieces).all(|(a, b)| a.to_bits() == b.to_bits()), "{from} to {to}");
                let features = &reservoir.features_after(&series, [to])[0][..count];
                let mut seen = vec![0.0; outputs as usize];
                folded.read_out(&state, &mut seen);
                for (seen, column) in seen.iter().zip(&columns) {
                    let wanted: f64 = features.iter().zip(column).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
                    assert!((seen - wanted).abs() < 2e-4, "{pools:?}, {channels} channels, {to} rows: {seen} {wanted}");
                }
            }
        }
    }
}

#[test]
fn pools_that_are_not_linear_are_not_folded() {
    for pool in [Pooling::Mean, Pooling::Longest, Pooling::Place, Pooling::Competing] {
        let mut reservoir = Reservoir::new(4, 1, &[0.5], 1);
        reservoir.shape.families = vec![Family { groups: 1, pools: vec![Pooling::Share, pool] }];
        let (mut responses, _) = reservoir.parts();
        let full = responses.state();
        assert!(!responses.fold(&[vec![1.0; reservoir.shape.features()]]) && responses.state() == full);
    }
}
