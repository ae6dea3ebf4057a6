//! The names that keys of the configuration can have.

use serde::{Deserialize, Serialize};

/// Declares names that a key can have.
macro_rules! names {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name { $($(#[$doc])* $variant,)* }
    };
}

names! {
    /// What is predicted.
    TaskName {
        /// A class.
        Classification,
        /// A number.
        Regression,
        /// Later values of the channels.
        Forecast,
    }
}
names! {
    /// Who decides what is tested on.
    SplitBy {
        /// The test file.
        Files,
        /// Chance; a test file is joined to the training file first.
        Random,
        /// Chance as the thesis's code draws it from the seed (Threefry), so that both can be run on the same parts.
        Thesis,
    }
}
names! {
    /// How channels are scaled.
    Scale {
        /// To mean 0 and deviation 1.
        Standard,
        /// To the range from -1 to 1.
        MinMax,
        /// Not at all.
        None,
    }
}
names! {
    /// What happens to missing values.
    MissingName {
        /// They are an error.
        Refuse,
        /// The last value is taken.
        Forward,
        /// The last value is taken, and how many values were seen is a channel.
        Counts,
    }
}
names! {
    /// The models.
    ModelName {
        /// A structured Linear NCDE.
        Slice,
        /// A neural CDE along a smooth path through the observations.
        Ncde,
        /// A neural rough differential equation.
        Nrde,
        /// A neural CDE by the Log-ODE method.
        LogNcde,
        /// A linear model of signature features.
        Signature,
    }
}

impl ModelName {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slice => "slice",
            Self::Ncde => "ncde",
            Self::Nrde => "nrde",
            Self::LogNcde => "log-ncde",
            Self::Signature => "signature",
        }
    }
}
names! {
    /// The structures of a `slice`.
    StructureName {
        /// Equal dense blocks.
        Block,
        /// Full matrices.
        Dense,
        /// Diagonal matrices.
        Diagonal,
        /// A diagonal, then one dense block.
        DiagonalDense,
        /// A diagonal plus a matrix of low rank.
        Dplr,
        /// Few entries.
        Sparse,
        /// A Hadamard matrix times a diagonal.
        WalshHadamard,
    }
}
names! {
    /// A step of the flow.
    TransitionChoice {
        /// The matrix exponential.
        Exp,
        /// `I + Omega`.
        Euler,
    }
}
names! {
    /// What follows the hidden layers of a vector field.
    ActivationChoice {
        /// `z / (1 + e^-z)`.
        Silu,
        /// `max(z, 0)`.
        Relu,
        /// `tanh z`.
        Tanh,
        /// `ln(1 + e^z)`.
        Softplus,
    }
}
names! {
    /// What follows the last layer of a vector field.
    LastChoice {
        /// `tanh z`.
        Tanh,
        /// Nothing.
        Linear,
    }
}
names! {
    /// How an equation is solved.
    SolverChoice {
        /// Order 1, one evaluation a step.
        Euler,
        /// Order 2, two evaluations.
        Heun,
        /// Order 4, four evaluations.
        Rk4,
    }
}
names! {
    /// Which states are read.
    ReadoutName {
        /// The mean of all.
        Mean,
        /// The last.
        Last,
    }
}
names! {
    /// How the learning rate changes.
    Schedule {
        /// Not after the warm-up.
        Constant,
        /// To 0, along a cosine.
        Cosine,
    }
}
names! {
    /// The optimisers.
    OptimizerName {
        /// Adam.
        Adam,
        /// Adam with decoupled weight decay.
        Adamw,
    }
}
names! {
    /// How much a class counts.
    ClassWeights {
        /// Every case the same.
        None,
        /// Every class the same.
        Balanced,
    }
}
