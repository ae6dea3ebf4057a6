//! Explicit Runge-Kutta methods, as tables.
//!
//! ```text
//! y_s = h + dt sum_{r<s} a_sr k_r,   k_s = F(y_s, c(t + nodes_s dt)),   h <- h + dt sum_s b_s k_s
//! ```

/// A method with fixed steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// One stage, order 1.
    Euler,
    /// Two stages, at the start and the end of the step; order 2.
    #[default]
    Heun,
    /// Four stages, two of them in the middle; order 4.
    Rk4,
}

/// `a` by rows below the diagonal, `b`, and the places of the stages within a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tableau {
    pub(crate) a: &'static [&'static [f64]],
    pub(crate) b: &'static [f64],
    nodes: &'static [f64],
}

const EULER: Tableau = Tableau { a: &[&[]], b: &[1.0], nodes: &[0.0] };
const HEUN: Tableau = Tableau { a: &[&[], &[1.0]], b: &[0.5, 0.5], nodes: &[0.0, 1.0] };
const RK4: Tableau = Tableau {
    a: &[&[], &[0.5], &[0.0, 0.5], &[0.0, 0.0, 1.0]],
    b: &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
    nodes: &[0.0, 0.5, 0.5, 1.0],
};

/// The most stages of a method.
pub(crate) const MOST_STAGES: usize = 4;

impl Solver {
    pub(crate) fn tableau(self) -> Tableau {
        match self {
            Self::Euler => EULER,
            Self::Heun => HEUN,
            Self::Rk4 => RK4,
        }
    }

    /// How often the field is evaluated in a step.
    pub fn stages(self) -> usize {
        self.nodes().len()
    }

    /// Where in the step each stage reads the control: 0 is its start, 1 its end.
    ///
    /// ```
    /// use ncde_kernels::neural::Solver;
    /// assert_eq!(Solver::Rk4.nodes(), [0.0, 0.5, 0.5, 1.0]);
    /// ```
    pub fn nodes(self) -> &'static [f64] {
        self.tableau().nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conditions of order up to 4 of explicit methods.
    #[test]
    fn tables_have_their_order() {
        for (solver, order) in [(Solver::Euler, 1), (Solver::Heun, 2), (Solver::Rk4, 4)] {
            let Tableau { a, b, nodes } = solver.tableau();
            let s = solver.stages();
            assert!(s <= MOST_STAGES && a.len() == s && b.len() == s);
            let a = |i: usize, j: usize| if j < i { a[i][j] } else { 0.0 };
            let sum = |f: &dyn Fn(usize) -> f64| (0..s).map(f).sum::<f64>();
            let inner = |i: usize, f: &dyn Fn(usize) -> f64| sum(&|j| a(i, j) * f(j));
            for i in 0..s {
                assert!((inner(i, &|_| 1.0) - nodes[i]).abs() < 1e-15, "{solver:?}");
            }
            let c = |i: usize| nodes[i];
            let conditions = [
                (1, sum(&|i| b[i]), 1.0),
                (2, sum(&|i| b[i] * c(i)), 1.0 / 2.0),
                (3, sum(&|i| b[i] * c(i).powi(2)), 1.0 / 3.0),
                (3, sum(&|i| b[i] * inner(i, &c)), 1.0 / 6.0),
                (4, sum(&|i| b[i] * c(i).powi(3)), 1.0 / 4.0),
                (4, sum(&|i| b[i] * c(i) * inner(i, &c)), 1.0 / 8.0),
                (4, sum(&|i| b[i] * inner(i, &|j| c(j).powi(2))), 1.0 / 12.0),
                (4, sum(&|i| b[i] * inner(i, &|j| inner(j, &c))), 1.0 / 24.0),
            ];
            for (of, seen, wanted) in conditions {
                if of <= order {
                    assert!((seen - wanted).abs() < 1e-15, "{solver:?}: {of}: {seen} {wanted}");
                }
            }
        }
    }
}
