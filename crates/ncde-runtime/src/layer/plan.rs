//! What each coordinate of a log-signature multiplies.
//!
//! ```text
//! log S^N(omega) over a window = sum_P lambda_P P,   Omega = sum_P lambda_P A_P,   beta = sum_P lambda_P c_P
//! ```
//!
//! `c_P` are there where the path is also added to the state: `(A^i, B^i)` acts on `(h, 1)` as one matrix, so every element goes with a matrix and a
//! vector. The basis that windows come in decides the way to `Omega`:
//!
//! | route | coordinates | matrices |
//! | --- | --- | --- |
//! | [`Route::Letters`] | Lyndon | `A^1, ..., A^d` alone: depth 1, or diagonal matrices, which commute |
//! | [`Route::Brackets`] | Lyndon | `A_P` formed once for each value of the parameters; structures closed under products |
//! | [`Route::Words`] | expanded | none: `Omega h = sum_w lambda_w A^{w_n} ... A^{w_1} h`, nested; any structure |

use std::sync::Arc;

use ncde_kernels::{Bracket, Brackets, Contraction, Field, Structure};
use ncde_signature::algebra::{Shape, Tree, words};
use ncde_signature::{Basis, Signature};

use super::signal::misplaced;
use crate::Error;

/// What bracket matrices may take.
const BRACKET_BYTES: usize = 256 << 20;

/// How `Omega` is made from a log-signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Level 1 only.
    Letters,
    /// Bracket matrices, formed ahead.
    Brackets,
    /// Nested products, no bracket formed.
    Words,
}

/// The basis that suits a field best: brackets of Lyndon words where their matrices can be formed ahead, in at most 256 MiB.
///
/// ```
/// use ncde_kernels::{Field, Structure};
/// use ncde_runtime::layer::usual_basis;
/// use ncde_signature::Basis;
/// let block = Field::new(Structure::blocks(128, 4)?, 7)?;
/// let dplr = Field::new(Structure::Dplr { hidden: 128, rank: 4 }, 7)?;
/// assert_eq!([usual_basis(&block, 2), usual_basis(&dplr, 2), usual_basis(&dplr, 1)], [Basis::Lyndon, Basis::Expanded, Basis::Lyndon]);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
pub fn usual_basis(field: &Field, depth: usize) -> Basis {
    let diagonal = matches!(field.structure(), Structure::Diagonal { .. });
    let bytes = words::lie_dimension(field.channels(), depth).and_then(|n| n.checked_mul(8 * field.channel(0).len() as u128));
    let fit = field.structure().is_closed() && bytes.is_some_and(|bytes| bytes <= BRACKET_BYTES as u128);
    if depth == 1 || diagonal || fit { Basis::Lyndon } else { Basis::Expanded }
}

/// What each coordinate of a log-signature multiplies.
#[derive(Debug, Clone)]
pub struct Plan {
    route: Route,
    depth: usize,
    /// What the recurrence is built with.
    field: Field,
    /// Forms the matrices; on the route of brackets alone.
    matrices: Option<Arc<Brackets>>,
    /// How many coordinates go with matrices: the first ones.
    coefficients: usize,
    vectors: Option<Vectors>,
}

/// The elements that go with vectors.
#[derive(Debug, Clone)]
struct Vectors {
    /// Forms them; at depth 1 they are the columns of `B`.
    brackets: Arc<Brackets>,
    /// Their coordinates.
    places: Vec<usize>,
}

impl Plan {
    /// For log-signatures of depth `depth` in this basis of the channels that drive `field`; `input` says whether the path is also added to the state.
    ///
    /// # Errors
    /// If the structure needs another basis, or the tables would be too large.
    pub fn new(field: &Field, input: bool, depth: usize, basis: Basis) -> Result<Self, Error> {
        let channels = field.channels();
        let shape = Shape::new(channels, depth)?;
        let diagonal = matches!(field.structure(), Structure::Diagonal { .. });
        let route = match basis {
            _ if depth == 1 => Route::Letters,
            Basis::Lyndon if diagonal => Route::Letters,
            Basis::Lyndon if field.structure().is_closed() => Route::Brackets,
            Basis::Expanded if !diagonal => Route::Words,
            _ => {
                let right = if diagonal || field.structure().is_closed() { "lyndon" } else { "expanded" };
                let name = field.structure().name();
                let problem = format!("windows come in the basis {basis:?}, but a {name} structure needs `{right}`");
                return Err(misplaced("linear-cde", problem));
            }
        };
        let (brackets, places) = match route {
            Route::Letters | Route::Brackets => {
                let table = lyndon(channels, depth)?;
                let brackets = if input { Brackets::of_path(field, &table)? } else { Brackets::new(field, 0, &table)? };
                (brackets, (0..table.len()).collect())
            }
            Route::Words => {
                let (table, elements) = nested(channels, &shape);
                let brackets = Brackets::new(field, channels, &table)?;
                let places = brackets.vector_places().iter().map(|&i| elements[i]).collect();
                (brackets, places)
            }
        };
        let brackets = Arc::new(brackets);
        Ok(Self {
            route,
            depth,
            coefficients: match route {
                Route::Letters => channels,
                Route::Brackets => brackets.matrix_places().len(),
                Route::Words => shape.len(),
            },
            field: if route == Route::Brackets { brackets.widened()? } else { field.clone() },
            matrices: (route == Route::Brackets).then(|| brackets.clone()),
            vectors: input.then_some(Vectors { brackets, places }),
        })
    }

    /// How `Omega` is made.
    pub fn route(&self) -> Route {
        self.route
    }

    /// The field that the recurrence is built with.
    pub fn field(&self) -> &Field {
        &self.field
    }

    /// What the coefficients of the recurrence multiply.
    pub fn contraction(&self) -> Contraction {
        match self.route {
            Route::Brackets | Route::Letters => Contraction::Matrices,
            Route::Words => Contraction::Words { depth: self.depth },
        }
    }

    /// How many coordinates go with matrices: they are the first.
    pub fn coefficients(&self) -> usize {
        self.coefficients
    }

    /// Forms the matrices, where they are formed ahead.
    pub fn brackets(&self) -> Option<&Arc<Brackets>> {
        self.matrices.as_ref()
    }

    /// Forms the vectors; none if nothing is added to the state, or they are the columns of `B`.
    pub fn vector_brackets(&self) -> Option<&Arc<Brackets>> {
        self.vectors.as_ref().filter(|_| self.depth > 1).map(|vectors| &vectors.brackets)
    }

    /// The coordinates that go with vectors.
    pub fn vector_places(&self) -> &[usize] {
        self.vectors.as_ref().map_or(&[], |vectors| &vectors.places)
    }
}

/// The brackets of all Lyndon words.
fn lyndon(width: usize, depth: usize) -> Result<Vec<Bracket>, Error> {
    let log = Signature::log(width, depth, Basis::Lyndon)?;
    let trees = log.basis().map(|basis| basis.trees().to_vec()).unwrap_or_default();
    let bracket = |tree: &Tree| match *tree {
        Tree::Letter(i) => Bracket::Letter(i - 1),
        Tree::Bracket(p, q) => Bracket::Pair(p, q),
    };
    Ok(trees.iter().map(bracket).collect())
}

/// `[...[xi_j, e_{w_2}], ..., e_{w_n}]`, whose vector is `A^{w_n} ... A^{w_2} B^j`, for every word `j w_2 ... w_n`; with it the coordinate of
/// that word. The letters come first: those of omega, then those of xi.
fn nested(channels: usize, shape: &Shape) -> (Vec<Bracket>, Vec<usize>) {
    let mut table: Vec<Bracket> = (0..2 * channels).map(Bracket::Letter).collect();
    let mut elements: Vec<usize> = (0..channels).chain(0..channels).collect();
    for level in 2..=shape.depth() {
        let (before, words) = (shape.level(level - 1), shape.level(level));
        // Words of a level are in order, so that those with one prefix follow each other; word `w` stands at `channels + w` of the table.
        table.extend((0..words.len()).map(|k| Bracket::Pair(channels + before.start + k / channels, k % channels)));
        elements.extend(words);
    }
    (table, elements)
}
