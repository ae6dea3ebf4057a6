//! All features with every instruction set of the machine. The choice holds for the whole process, so this test has a process of its own.

mod common;

use common::{Reservoir, Series};
use ncde_simd::{Instructions, with_each};

#[test]
fn every_instruction_set_agrees() {
    for (order, channels) in [(1, 1), (9, 3), (12, 20)] {
        let reservoir = Reservoir::new(order, channels, &[0.1, 0.7], 4);
        let series = Series::new(120, channels, 0.02, 6);
        let all = with_each(|set| (set, reservoir.features(&series)));
        assert_eq!(all[0].0, Instructions::Plain);
        for (set, seen) in &all[1..] {
            for (i, (seen, wanted)) in seen.iter().zip(&all[0].1).enumerate() {
                assert!((seen - wanted).abs() < 1e-4 * (1.0 + wanted.abs()), "{set:?}, order {order}, {i}: {seen} {wanted}");
            }
        }
    }
}
