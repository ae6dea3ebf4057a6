//! A batch is its series one row at a time: at the ends of windows, in the middle of them, and cut anywhere.

use burn_flex::Flex;
use burn_tensor::DType;

use crate::run::{Branched, Data, Stepped, apart, places};
use crate::samples::{Sample, all};

/// What f32 may lose on its two ways.
const CLOSE: f64 = 1e-5;

/// The rows that a batch hands on for a series: those at the ends of windows, and that of a shorter last one.
fn emitted(sample: &Sample, steps: &[Stepped]) -> Vec<Vec<f64>> {
    let last = steps.len() - 1;
    let pooled = ncde_runtime::layer::output(&sample.layers, &sample.input).unwrap().pooled;
    let handed_on = |n: usize| n == last || (steps[n].closed && !pooled);
    (0..steps.len()).filter(|&n| handed_on(n)).map(|n| steps[n].row.clone()).collect()
}

fn check(sample: &Sample, data: &Data) {
    for (series, seen) in sample.batch(data, data.longest(), 0.0).iter().enumerate() {
        let error = apart(seen, &emitted(sample, &sample.steps(data, series)));
        assert!(error < CLOSE, "{}, series {series} of {:?}: {error}", sample.name, data.lengths());
    }
}

#[test]
fn a_batch_is_its_series_one_row_at_a_time() {
    for sample in all() {
        check(&sample, &sample.data());
        // Nothing but first rows.
        check(&sample, &Data::new(&sample.input, &[1, 1, 1], 3));
    }
}

#[test]
fn a_row_is_that_of_a_series_that_ends_there() {
    for sample in all() {
        let data = sample.data();
        let prefixes: Vec<(usize, usize)> = (1..=8).map(|length| (3, length)).collect();
        let seen = sample.batch(&data.pick(&prefixes), 8, 0.0);
        let steps = sample.steps(&data, 3);
        let last: Vec<Vec<f64>> = seen.iter().map(|rows| rows[rows.len() - 1].clone()).collect();
        let error = apart(&last, &steps.iter().map(|step| step.row.clone()).collect::<Vec<_>>());
        assert!(error < CLOSE, "{}: {error}", sample.name);
        assert!(steps[1].row != steps[7].row || !sample.name.contains("cde"), "{}: nothing moves", sample.name);
    }
}

#[test]
fn rows_in_the_middle_of_windows() {
    let mut count = 0;
    for sample in all() {
        let data = sample.data();
        let Some(branched) = Branched::new(&sample, &data) else { continue };
        count += 1;
        let rows = branched.rows::<Flex>(DType::F32);
        let out = branched.rest.network::<Flex>().forward(rows, &data.context(DType::F32)).unwrap();
        let trunk = out.places.trunk;
        for (series, own) in places(&out).iter().enumerate() {
            // Both compositions draw the same weights: windows have none.
            let steps = sample.steps(&data, series);
            let between = &branched.observations[series];
            assert!(between.iter().all(|&n| !steps[n].closed));
            let wanted: Vec<Vec<f64>> = between.iter().map(|&n| steps[n].row.clone()).collect();
            let error = apart(&own[trunk..trunk + between.len()], &wanted);
            assert!(error < CLOSE, "{}, series {series}, in the middle: {error}", sample.name);
            let error = apart(&own[..out.places.lengths[series]], &emitted(&sample, &steps));
            assert!(error < CLOSE, "{}, series {series}: {error}", sample.name);
        }
    }
    assert!(count > 40, "{count}");
}
