//! Small Linear NCDEs and what drives them.

use burn::tensor::FloatDType;
use ncde::model::{Drive, Init, LinearNcde, LinearNcdeConfig, StructureConfig, cast};
use ncde_kernels::Bound;

use super::{B, tensor, values};

pub(crate) const BATCH: usize = 2;
pub(crate) const STEPS: usize = 5;
pub(crate) const OMEGA: usize = 3;
pub(crate) const INPUTS: usize = 2;

pub(crate) fn structures() -> Vec<StructureConfig> {
    vec![
        StructureConfig::Dense,
        StructureConfig::Diagonal,
        StructureConfig::Block { block: 2 },
        StructureConfig::Blocks { sizes: vec![3, 1] },
        StructureConfig::DiagonalDense { block: 2 },
        StructureConfig::Dplr { rank: 2 },
        StructureConfig::Sparse { epsilon: 0.5 },
        StructureConfig::WalshHadamard { bound: Bound::Tanh },
    ]
}

pub(crate) fn config(structure: StructureConfig) -> LinearNcdeConfig {
    LinearNcdeConfig::new(4, OMEGA).with_structure(structure).with_init(Init::Scaled { std: 1.0 })
}

pub(crate) fn model(config: &LinearNcdeConfig) -> LinearNcde<B> {
    cast(config.init::<B>(&Default::default(), 1).unwrap(), FloatDType::F64)
}

pub(crate) fn drive(steps: usize, scale: f64, inputs: usize) -> Drive<B> {
    let scaled = |count, seed| values(count, scale, seed);
    Drive {
        first: tensor(values(BATCH * 2, 1.0, 5), [BATCH, 2]),
        omega: tensor(scaled(BATCH * steps * OMEGA, 6), [BATCH, steps, OMEGA]),
        xi: (inputs > 0).then(|| tensor(scaled(BATCH * steps * inputs, 7), [BATCH, steps, inputs])),
        lengths: None,
    }
}
