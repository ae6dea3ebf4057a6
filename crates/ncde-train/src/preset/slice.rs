//! `slice`: a structured Linear NCDE over Log-ODE windows.

use ncde_kernels::{Bound, Transition};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{
    Drive, Forget, Form, Initial, InputTerm, LinearCde, Scale, Stability, StructureName, StructureSpec, Windows, ends,
    usual_basis,
};

use super::head::{HeadKeys, MAX_SEEN_COORDINATES};
use super::{Built, Facts, Method, Preset};
use crate::Error;
use crate::config::{Keys, table};
use crate::names::StabilityName;
use crate::settings::{at_least, positive, refuse};

table! {
    /// The keys of `slice`; with the defaults that are not 0 or false.
    pub(crate) SliceKeys {
        @head: HeadKeys;
        /// The number of hidden states; 64 by default.
        hidden: usize,
        /// The matrices: `block` (the default), `dense`, `diagonal`, `diagonal-dense`, `dplr`, `sparse` or `walsh-hadamard`; `permutation-diagonal` is for `stack` alone.
        structure: StructureName,
        /// The size of blocks (4), or of the dense block behind a diagonal (16).
        block: usize,
        /// The rank of the low-rank part of `dplr`; 4 by default.
        rank: usize,
        /// `H^(1 + epsilon)` entries of a sparse matrix; 0.5 by default.
        epsilon: f64,
        /// The range of the diagonals of `walsh-hadamard`: `tanh` (the default) or `none`.
        bound: Bound,
        /// The depth of log-signatures: 1 for contractive flows, else 2, or 1 where that takes too much memory or windows hold one observation.
        depth: usize,
        /// How many observations make up a Log-ODE window: about 64 windows a series; 1 where every observation is predicted at.
        window: usize,
        /// A step of the flow: `exp`, exact (the default), or `euler`, to first order.
        transition: Transition,
        /// Whether flows may expand: `free`, or `contractive`, never, which needs depth 1, `exp`, blocks and time as a channel; the default where these are not set otherwise, so that a stream can go on for ever.
        stability: StabilityName,
        /// What log-signatures are multiplied with; 1 by default.
        log_scale: f64,
        /// The standard deviation of the first entries of the matrices, times the root of the block size; 0.25 by default.
        init: f64,
        /// Whether the path is also added to the state; yes by default.
        input: bool,
        /// Whether states begin with rates of forgetting, from none to one window; by default with `input`, where time is a channel and matrices have a diagonal.
        forget: bool,
    }
}

/// A structure from its keys: those it has are filled, any other is refused.
pub(super) fn structure(
    name: &mut Option<StructureName>,
    hidden: usize,
    (block, rank, epsilon, bound): (&mut Option<usize>, &mut Option<usize>, &mut Option<f64>, &mut Option<Bound>),
) -> Result<StructureSpec, Error> {
    let name = *name.get_or_insert(StructureName::Block);
    let is = |names: &[StructureName]| names.contains(&name);
    let keys = [
        ("block", block.is_some(), is(&[StructureName::Block, StructureName::DiagonalDense])),
        ("rank", rank.is_some(), is(&[StructureName::Dplr])),
        ("epsilon", epsilon.is_some(), is(&[StructureName::Sparse])),
        ("bound", bound.is_some(), is(&[StructureName::WalshHadamard])),
    ];
    has_keys(name, &keys)?;
    let own = |i: usize| keys[i].2;
    let blocks = if name == StructureName::Block { 4 } else { 16.min(hidden) };
    Ok(name.spec(
        filled(block, own(0), blocks),
        filled(rank, own(1), 4),
        filled(epsilon, own(2), 0.5),
        filled(bound, own(3), Bound::Tanh),
    )?)
}

/// Refuses keys that are set, but that a structure does not have.
pub(super) fn has_keys(name: StructureName, keys: &[(&str, bool, bool)]) -> Result<(), Error> {
    match keys.iter().find(|(_, set, has)| *set && !has) {
        None => Ok(()),
        Some((key, ..)) => {
            refuse(&format!("model.{key}"), format!("set, but the structure `{}` has none; leave it out", name.as_str()))
        }
    }
}

/// Of a flow over series that last so long: what is contractive forgets at least at the rate of the longest.
pub(super) fn stability(contractive: bool, longest: f64) -> Stability {
    match contractive {
        true => Stability::Contractive { rate: if longest > 0.0 { 1.0 / longest } else { 1.0 } },
        false => Stability::Free {},
    }
}

/// A value with its default, which is kept where the key is one of the structure's.
fn filled<T: Copy>(key: &mut Option<T>, own: bool, usual: T) -> T {
    if own { *key.get_or_insert(usual) } else { usual }
}

impl Preset for SliceKeys {
    const KEYS: &'static [&'static [Keys]] = &[Self::KEYS, HeadKeys::KEYS];

    fn layers(&mut self, name: &str, facts: &Facts) -> Result<Built, Error> {
        facts.path(name)?;
        let width = facts.width();
        let hidden = at_least("model.hidden", *self.hidden.get_or_insert(64), 1)?;
        let window = facts.window(&mut self.window)?;
        let may_contract = {
            use StructureName::{Block, Dense, Diagonal, DiagonalDense};
            facts.time
                && self.depth.is_none_or(|depth| depth == 1)
                && self.transition.is_none_or(|transition| transition == Transition::Exp)
                && self.structure.is_none_or(|name| matches!(name, Block | Dense | Diagonal | DiagonalDense))
        };
        let usual = if may_contract { StabilityName::Contractive } else { StabilityName::Free };
        let contractive = *self.stability.get_or_insert(usual) == StabilityName::Contractive;
        if contractive {
            // Brackets with the matrix of time, which is not skew, may expand.
            self.depth.get_or_insert(1);
        }
        let depth = facts.depth(&mut self.depth, window)?;
        let structure =
            structure(&mut self.structure, hidden, (&mut self.block, &mut self.rank, &mut self.epsilon, &mut self.bound))?;
        let field = structure.field(hidden, width, None)?;
        let form = Form::LogSignature { depth, basis: usual_basis(&field, depth) };
        let coordinates = form.coordinates(width, window)?;
        let increment_is_enough = self.head.skip == Some(false) || coordinates > MAX_SEEN_COORDINATES;
        let short = depth == 2 && increment_is_enough && LinearCde::short_windows_pay(field.structure(), width, window);
        let input = *self.input.get_or_insert(true);
        let diagonal =
            !matches!(structure, StructureSpec::Dense {} | StructureSpec::Sparse { .. } | StructureSpec::WalshHadamard { .. });
        if contractive && !facts.time {
            return refuse(
                "model.stability",
                "`contractive`, but time is no channel (`prepare.time` is false), and states forget with time",
            );
        }
        let forget = *self.forget.get_or_insert(input && facts.time && (diagonal || contractive));
        if forget && !facts.time {
            return refuse("model.forget", "true, but time is no channel (`prepare.time` is false), and states forget with time");
        }
        let windows = facts.lengths.last().map_or(1, |&longest| ends(longest, window).count() - 1);
        let scale = positive("model.log_scale", *self.log_scale.get_or_insert(1.0))?;
        let cde = LinearCde {
            hidden,
            structure,
            drive: Drive::Windows {},
            input: if input { InputTerm::Path } else { InputTerm::None },
            initial: Initial::First,
            transition: *self.transition.get_or_insert(Transition::Exp),
            scale,
            init: Scale::Scaled { deviation: positive("model.init", *self.init.get_or_insert(0.25))? },
            forget: forget.then(|| Forget { octaves: (windows.max(2) as f64).log2() }),
            stability: stability(contractive, scale * facts.clock.longest),
        };
        let form = if short { Form::Increments {} } else { form };
        let mut layers = vec![LayerSpec::Windows(Windows { window, form })];
        let seen = if short { width } else { coordinates };
        let knot = (contractive && facts.steps()).then(|| facts.of_knot());
        layers.extend(self.head.layers(LayerSpec::LinearCde(cde), hidden, (seen, knot), facts)?);
        Ok((layers, Method::Gradient))
    }
}
