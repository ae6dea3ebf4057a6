//! Explicit Runge-Kutta methods as data: `k_i = F(t + c_i dt, y + dt sum_j a_ij k_j)`, `y_1 = y + dt sum_i b_i k_i`.
//!
//! The kernel here takes fixed steps, of any of them; `ncde-solve` adaptive ones as well, with the same tables.
//!
//! `e = b - b^` gives the distance to a second solution `y^_1` of lower order, the estimate of the error. A test checks the order
//! conditions of every tableau, tree by tree.

use serde::{Deserialize, Serialize};

/// The numbers of an explicit method of `s` stages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tableau {
    /// The order of `y_1`.
    pub order: usize,
    /// The rows of `a` below the first: row `i` has `i` entries.
    pub a: &'static [&'static [f64]],
    /// The weights `b`; 0 for a last stage that only serves the error and the next step.
    pub b: &'static [f64],
    /// The places `c` of the stages.
    pub c: &'static [f64],
    /// Differences `e` to the weights of a second solution, one order lower.
    pub error: Option<&'static [f64]>,
}

impl Tableau {
    /// `s`.
    pub fn stages(&self) -> usize {
        self.b.len()
    }

    /// The number of stages that `y_1` depends on.
    pub fn propagating(&self) -> usize {
        self.b.iter().rposition(|&b| b != 0.0).map_or(0, |last| last + 1)
    }

    /// Whether the last stage is the first of the next step, so that the method pays for one stage less than it has.
    pub fn reuses_last_stage(&self) -> bool {
        self.propagating() < self.stages()
    }

    /// Row `s` of `a`: what the stages before it go into stage `s` with.
    pub fn row(&self, s: usize) -> &'static [f64] {
        if s == 0 { &[] } else { self.a[s - 1] }
    }
}

/// The most stages that a step of a method is made of.
pub(crate) const MAX_STAGES: usize = 6;

/// A method by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Order 1.
    Euler,
    /// Order 2, by the middle; error against Euler.
    Midpoint,
    /// Order 2, by both ends; error against Euler. The thesis's choice.
    #[default]
    Heun,
    /// Order 2 with the smallest error bound; error against Euler.
    Ralston,
    /// Order 3 with an error estimate of order 2 (Bogacki, Shampine 1989).
    BogackiShampine,
    /// The classical method of order 4.
    Rk4,
    /// Order 5 with an error estimate of order 4 (Dormand, Prince 1980).
    DormandPrince,
    /// Order 5 with an error estimate of order 4 (Tsitouras 2011).
    Tsitouras,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 8] = [
        Self::Euler,
        Self::Midpoint,
        Self::Heun,
        Self::Ralston,
        Self::BogackiShampine,
        Self::Rk4,
        Self::DormandPrince,
        Self::Tsitouras,
    ];

    /// The name in files and messages, and the numbers.
    fn definition(self) -> (&'static str, &'static Tableau) {
        match self {
            Self::Euler => ("euler", &EULER),
            Self::Midpoint => ("midpoint", &MIDPOINT),
            Self::Heun => ("heun", &HEUN),
            Self::Ralston => ("ralston", &RALSTON),
            Self::BogackiShampine => ("bogacki-shampine", &BOGACKI_SHAMPINE),
            Self::Rk4 => ("rk4", &RK4),
            Self::DormandPrince => ("dormand-prince", &DORMAND_PRINCE),
            Self::Tsitouras => ("tsitouras", &TSITOURAS),
        }
    }

    /// The name in files and messages.
    pub fn name(self) -> &'static str {
        self.definition().0
    }

    /// The tableau of the method.
    pub fn tableau(self) -> &'static Tableau {
        self.definition().1
    }

    /// The number of field evaluations in a step of fixed length, which needs no error estimate.
    pub fn stages(self) -> usize {
        self.tableau().propagating()
    }

    /// Where in such a step each stage reads the control: 0 is its start, 1 its end.
    ///
    /// ```
    /// use ncde_kernels::neural::Method;
    /// assert_eq!(Method::Rk4.nodes(), [0.0, 0.5, 0.5, 1.0]);
    /// ```
    pub fn nodes(self) -> &'static [f64] {
        &self.tableau().c[..self.stages()]
    }
}

const EULER: Tableau = Tableau { order: 1, a: &[], b: &[1.0], c: &[0.0], error: None };

const MIDPOINT: Tableau = Tableau { order: 2, a: &[&[0.5]], b: &[0.0, 1.0], c: &[0.0, 0.5], error: Some(&[-1.0, 1.0]) };

const HEUN: Tableau = Tableau { order: 2, a: &[&[1.0]], b: &[0.5, 0.5], c: &[0.0, 1.0], error: Some(&[-0.5, 0.5]) };

const RALSTON: Tableau =
    Tableau { order: 2, a: &[&[2.0 / 3.0]], b: &[0.25, 0.75], c: &[0.0, 2.0 / 3.0], error: Some(&[-0.75, 0.75]) };

const BOGACKI_SHAMPINE: Tableau = Tableau {
    order: 3,
    a: &[&[0.5], &[0.0, 0.75], &[2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0]],
    b: &[2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0, 0.0],
    c: &[0.0, 0.5, 0.75, 1.0],
    error: Some(&[-5.0 / 72.0, 1.0 / 12.0, 1.0 / 9.0, -1.0 / 8.0]),
};

const RK4: Tableau = Tableau {
    order: 4,
    a: &[&[0.5], &[0.0, 0.5], &[0.0, 0.0, 1.0]],
    b: &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
    c: &[0.0, 0.5, 0.5, 1.0],
    error: None,
};

const DORMAND_PRINCE: Tableau = Tableau {
    order: 5,
    a: &[
        &[1.0 / 5.0],
        &[3.0 / 40.0, 9.0 / 40.0],
        &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
        &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
        &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
        &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
    ],
    b: &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0, 0.0],
    c: &[0.0, 1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0, 1.0],
    error: Some(&[71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339_200.0, 22.0 / 525.0, -1.0 / 40.0]),
};

const TSITOURAS: Tableau = Tableau {
    order: 5,
    a: &[
        &[0.161],
        &[-0.008480655492356989, 0.335480655492357],
        &[2.8971530571054935, -6.359448489975075, 4.3622954328695815],
        &[5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525],
        &[5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383],
        &[0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774],
    ],
    b: &[0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774, 0.0],
    c: &[0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0],
    error: Some(&[
        -0.001780011052225771,
        -0.0008164344596567469,
        0.007880878010261995,
        -0.1447110071732629,
        0.5823571654525552,
        -0.45808210592918697,
        1.0 / 66.0,
    ]),
};

#[cfg(test)]
mod tests {
    use super::*;

    /// A rooted tree: its subtrees.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
    struct Tree(Vec<Tree>);

    impl Tree {
        fn order(&self) -> usize {
            1 + self.0.iter().map(Tree::order).sum::<usize>()
        }

        fn density(&self) -> f64 {
            self.order() as f64 * self.0.iter().map(Tree::density).product::<f64>()
        }

        /// `prod over subtrees of sum_j a_ij (weight of the subtree at j)`.
        fn at_stage(&self, tableau: &Tableau, i: usize) -> f64 {
            let below = |tree: &Tree| (0..i).map(|j| tableau.a[i - 1][j] * tree.at_stage(tableau, j)).sum::<f64>();
            self.0.iter().map(below).product()
        }

        fn weight(&self, tableau: &Tableau, b: &[f64]) -> f64 {
            (0..b.len()).map(|i| b[i] * self.at_stage(tableau, i)).sum()
        }
    }

    /// All trees with `n` nodes: a leaf added in every way to those with one node less.
    fn trees(n: usize) -> Vec<Tree> {
        fn grown(tree: &Tree) -> Vec<Tree> {
            let mut all = Vec::new();
            for i in 0..tree.0.len() {
                for subtree in grown(&tree.0[i]) {
                    let mut children = tree.0.clone();
                    children[i] = subtree;
                    all.push(Tree(children));
                }
            }
            let mut children = tree.0.clone();
            children.push(Tree(Vec::new()));
            all.push(Tree(children));
            for tree in &mut all {
                tree.0.sort();
            }
            all
        }
        let mut all = vec![Tree(Vec::new())];
        for _ in 1..n {
            all = all.iter().flat_map(grown).collect();
            all.sort();
            all.dedup();
        }
        all
    }

    /// The largest order up to which all conditions hold.
    fn order(tableau: &Tableau, b: &[f64]) -> usize {
        let holds = |n: usize| trees(n).iter().all(|tree| (tree.weight(tableau, b) - 1.0 / tree.density()).abs() < 1e-12);
        (1..=6).take_while(|&n| holds(n)).count()
    }

    #[test]
    fn there_are_as_many_trees_as_there_should_be() {
        assert_eq!([1, 2, 3, 4, 5, 6].map(|n| trees(n).len()), [1, 1, 2, 4, 9, 20]);
    }

    #[test]
    fn tableaux_have_their_orders() {
        for method in Method::ALL {
            let tableau = method.tableau();
            assert_eq!(order(tableau, tableau.b), tableau.order, "{method:?}");
            if let Some(error) = tableau.error {
                let second: Vec<f64> = tableau.b.iter().zip(error).map(|(b, e)| b - e).collect();
                assert_eq!(order(tableau, &second), tableau.order - 1, "{method:?}");
            }
        }
    }

    #[test]
    fn tableaux_are_consistent() {
        for method in Method::ALL {
            let tableau = method.tableau();
            assert_eq!((tableau.a.len() + 1, tableau.c.len()), (tableau.stages(), tableau.stages()), "{method:?}");
            assert!(method.stages() <= MAX_STAGES, "{method:?}");
            for (row, c) in tableau.a.iter().zip(&tableau.c[1..]) {
                assert!((row.iter().sum::<f64>() - c).abs() < 1e-14, "{method:?}");
            }
            if tableau.reuses_last_stage() {
                let last = tableau.a[tableau.a.len() - 1];
                assert_eq!((last, tableau.propagating()), (&tableau.b[..last.len()], last.len()), "{method:?}");
            }
        }
    }
}
