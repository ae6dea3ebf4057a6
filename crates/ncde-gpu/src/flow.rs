//! How a generator becomes a step of the state.

/// What is added to the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Affine {
    /// Nothing.
    None,
    /// `beta`.
    Plain,
    /// `phi_1(Omega) beta`.
    Exact,
}

/// How a generator becomes a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flow {
    /// `exp(Omega)`, not `I + Omega`.
    pub exact: bool,
    /// What is added.
    pub affine: Affine,
}

impl Flow {
    /// Whether there is an affine input.
    pub fn is_affine(self) -> bool {
        self.affine != Affine::None
    }

    /// The flow alone.
    #[must_use]
    pub fn without_affine(self) -> Self {
        Self { affine: Affine::None, ..self }
    }

    /// Whether the affine input goes through the series. (The first term alone adds `beta` as it is.)
    pub fn is_inside(self) -> bool {
        self.affine == Affine::Exact && self.exact
    }
}
