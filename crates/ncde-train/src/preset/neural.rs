//! `ncde`, `nrde`, `log-ncde`: a network as the vector field.

use ncde_kernels::neural::{Activation, Last, Method};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::{Form, NeuralCde, NeuralKind, Windows};
use ncde_signature::Basis;

use super::head::HeadKeys;
use super::{Built, Facts, PIECES, Preset};
use crate::Error;
use crate::config::{Keys, table};
use crate::settings::{at_least, positive, refuse};

table! {
    /// The keys of `ncde`, `nrde` and `log-ncde`.
    pub(crate) NeuralKeys {
        @head: HeadKeys;
        /// The number of hidden states; 32 by default.
        hidden: usize,
        /// The depth of log-signatures: 2, or 1 with more than 21 channels, where that takes too much memory, or windows hold one observation; 1 for an `ncde`.
        depth: usize,
        /// How many observations make up a Log-ODE window: about 64 windows a series; 1 where every observation is predicted at, and for an `ncde`.
        window: usize,
        /// The width of the hidden layers of the vector field; 64 by default.
        field_width: usize,
        /// How many hidden layers the vector field has; 2 by default.
        field_layers: usize,
        /// What follows each of them: `silu` (`log-ncde`), `relu` (`ncde` and `nrde`, whose last one has tanh), `tanh`, `softplus`, `shifted-softplus` or `identity`.
        activation: Activation,
        /// What follows the last layer of the field: `tanh`, or `linear` (`nrde`).
        last: Last,
        /// How the equation is solved: `euler`, `midpoint`, `heun` (the default), `ralston`, `bogacki-shampine` or `rk4`; not for an `ncde` also `dormand-prince` or `tsitouras`.
        solver: Method,
        /// In how many steps a window is solved; about 64 a series by default.
        solver_steps: usize,
        /// What the first weights of the field are multiplied with: 0.001 for a `log-ncde`, else 1.
        init: f64,
    }
}

impl Preset for NeuralKeys {
    const KEYS: &'static [&'static [Keys]] = &[Self::KEYS, HeadKeys::KEYS];

    fn layers(&mut self, name: &str, facts: &Facts) -> Result<Built, Error> {
        facts.path(name)?;
        let hidden = at_least("model.hidden", *self.hidden.get_or_insert(32), 1)?;
        let kind = match name {
            "ncde" => NeuralKind::Ncde,
            "nrde" => NeuralKind::Nrde,
            _ => NeuralKind::LogNcde,
        };
        let (window, form) = if kind == NeuralKind::Ncde {
            for (key, value) in [("window", &mut self.window), ("depth", &mut self.depth)] {
                let value = *value.get_or_insert(1);
                if value != 1 {
                    let problem = format!("{value}, but an `ncde` is driven by one observation at a time; use `log-ncde`");
                    return refuse(&format!("model.{key}"), problem);
                }
            }
            (1, Form::Hermite {})
        } else {
            let window = facts.window(&mut self.window)?;
            (window, Form::LogSignature { depth: facts.depth_of_few(&mut self.depth, window)?, basis: Basis::Lyndon })
        };
        let usual = NeuralCde::new(kind, hidden);
        let activation = *self.activation.get_or_insert(usual.activation);
        let windows = facts.median().div_ceil(window).max(1);
        let steps = (PIECES / windows as f64).round().max(1.0) as usize;
        let cde = NeuralCde {
            width: at_least("model.field_width", *self.field_width.get_or_insert(usual.width), 1)?,
            layers: *self.field_layers.get_or_insert(usual.layers),
            activation,
            // The thesis's NRDE has a tanh there, whatever the others are.
            before_last: if kind == NeuralKind::Nrde { usual.before_last } else { activation },
            last: *self.last.get_or_insert(usual.last),
            solver: *self.solver.get_or_insert(usual.solver),
            steps: at_least("model.solver_steps", *self.solver_steps.get_or_insert(steps), 1)?,
            init: positive("model.init", *self.init.get_or_insert(usual.init))?,
            ..usual
        };
        let seen = if kind == NeuralKind::Ncde { facts.width() } else { form.coordinates(facts.width(), window)? };
        let mut layers = vec![LayerSpec::Windows(Windows { window, form })];
        layers.extend(self.head.layers(LayerSpec::NeuralCde(cde), hidden, (seen, None), facts)?);
        Ok((layers, super::Method::Gradient))
    }
}
