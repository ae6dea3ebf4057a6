//! Windows of a driving path as log-signatures, and what each coordinate multiplies.
//!
//! ```text
//! log S^N(omega, xi)_[r_l, r_{l+1}] = sum_P lambda^l_P P,   Omega_l = sum_P lambda^l_P A_P,   beta_l = sum_P lambda^l_P c_P
//! ```
//!
//! The path is the joint one: elements without a xi letter go with matrices, those with exactly one with vectors, the others vanish. Where
//! xi is omega itself ([`Inputs::Path`]), the log-signature is that of omega alone, and every element goes with both. Two ways to `Omega`, and [`plan`] chooses from the sizes alone:
//!
//! | route | coordinates | matrices |
//! | --- | --- | --- |
//! | [`Route::Brackets`] | Lyndon | `A_P` formed once for each value of the parameters; closed structures, if they fit |
//! | [`Route::Words`] | expanded | none: `Omega h = sum_w lambda_w A^{w_n} ... A^{w_1} h`, nested |
//! | [`Route::Letters`] | Lyndon | `A^1, ..., A^d` alone: diagonal matrices commute, their brackets vanish |

use std::sync::Arc;

use ncde_kernels::{Bracket, Brackets, Contraction, Field, Float, Structure};
use ncde_signature::algebra::{Shape, Tree, words};
use ncde_signature::{Basis, Signature};

use crate::Error;

/// How `Omega` is made from a log-signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Bracket matrices, formed ahead.
    Brackets,
    /// Nested products, no bracket formed.
    Words,
    /// Level 1 only.
    Letters,
}

/// What is added to the state beside the flow: `B dxi`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inputs {
    /// Nothing.
    None,
    /// A path of its own, with so many channels, which stand behind those of omega in the joint path.
    Own(usize),
    /// The driving path: `xi = omega`.
    Path,
}

impl Inputs {
    /// How many channels they add to the path that log-signatures are taken of.
    pub fn joined(self) -> usize {
        if let Self::Own(channels) = self { channels } else { 0 }
    }

    /// How many columns `B` has, with `omega` driving channels.
    pub fn columns(self, omega: usize) -> usize {
        match self {
            Self::None => 0,
            Self::Own(channels) => channels,
            Self::Path => omega,
        }
    }
}

/// What each coordinate of a log-signature multiplies.
#[derive(Debug, Clone)]
pub struct Plan {
    route: Route,
    depth: usize,
    coordinates: usize,
    /// What the recurrence is built with.
    field: Field,
    /// Forms the matrices; on the route of brackets alone.
    matrices: Option<Arc<Brackets>>,
    /// The coordinates that go with matrices.
    matrix_places: Vec<usize>,
    vectors: Option<Vectors>,
}

/// The elements with one xi letter, by that letter.
#[derive(Debug, Clone)]
struct Vectors {
    brackets: Arc<Brackets>,
    /// Their coordinates.
    places: Vec<usize>,
    /// Where each one is among the vectors of `brackets`.
    rows: Vec<usize>,
}

/// Decides how the log-signatures of depth `depth` of `field.channels()` driving channels and the affine `inputs` are used.
/// Brackets are formed ahead if the structure is closed under products and they take at most `most_bytes` in f64.
///
/// ```
/// use ncde_runtime::{Inputs, Route, plan};
/// use ncde_kernels::{Field, Structure};
/// use ncde_signature::Basis;
/// let block = Field::new(Structure::blocks(128, 4)?, 7)?;
/// let dplr = Field::new(Structure::Dplr { hidden: 128, rank: 4 }, 7)?;
/// assert_eq!(plan(&block, Inputs::None, 2, 256 << 20)?.route(), Route::Brackets);
/// assert_eq!(plan(&block, Inputs::None, 2, 1000)?.route(), Route::Words);
/// assert_eq!(plan(&dplr, Inputs::None, 2, 256 << 20)?.basis(), Basis::Expanded);
/// # Ok::<(), ncde_runtime::Error>(())
/// ```
///
/// # Errors
/// If the depth is 0 or the tables would be too large.
pub fn plan(field: &Field, inputs: Inputs, depth: usize, most_bytes: usize) -> Result<Plan, Error> {
    let channels = field.channels();
    let shape = Shape::new(channels + inputs.joined(), depth)?;
    let route = match field.structure() {
        Structure::Diagonal { .. } => Route::Letters,
        _ if depth == 1 => Route::Letters,
        structure => {
            let elements = words::lie_dimension(channels, depth);
            let bytes = elements.and_then(|n| n.checked_mul(8 * field.channel(0).len() as u128));
            let fit = bytes.is_some_and(|bytes| bytes <= most_bytes as u128);
            if structure.is_closed() && fit { Route::Brackets } else { Route::Words }
        }
    };
    let (brackets, table, elements) = match route {
        Route::Brackets | Route::Letters => {
            let table = lyndon(channels + inputs.joined(), depth)?;
            let brackets = match inputs {
                Inputs::Path => Brackets::of_path(field, &table)?,
                Inputs::None | Inputs::Own(_) => Brackets::new(field, inputs.joined(), &table)?,
            };
            let own = (0..table.len()).collect();
            (brackets, table, own)
        }
        Route::Words => {
            let (table, words) = nested(channels, inputs, &shape);
            (Brackets::new(field, inputs.columns(channels), &table)?, table, words)
        }
    };
    let brackets = Arc::new(brackets);
    let matrix_places: Vec<usize> = match route {
        Route::Brackets => brackets.matrix_places().to_vec(),
        Route::Words => pure_words(channels, &shape),
        Route::Letters => (0..channels).collect(),
    };
    let vectors = (inputs != Inputs::None).then(|| {
        let all = brackets.vector_places();
        let mut rows: Vec<usize> = (0..all.len()).collect();
        if let Inputs::Own(_) = inputs {
            rows.sort_by_key(|&row| letter(&table, channels, all[row]));
        }
        let places = rows.iter().map(|&row| elements[all[row]]).collect();
        Vectors { brackets: brackets.clone(), places, rows }
    });
    Ok(Plan {
        route,
        depth,
        coordinates: match route {
            Route::Brackets | Route::Letters => table.len(),
            Route::Words => shape.len(),
        },
        field: if route == Route::Brackets { brackets.widened()? } else { field.clone() },
        matrices: (route == Route::Brackets).then_some(brackets),
        matrix_places,
        vectors,
    })
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

/// `[...[xi_j, e_{w_2}], ..., e_{w_n}]`, whose vector is `A^{w_n} ... A^{w_2} B^j`, for every word `xi_j w_2 ... w_n`; with it the
/// coordinate of that word, which is `j w_2 ... w_n` where xi is omega. The letters come first.
fn nested(channels: usize, inputs: Inputs, shape: &Shape) -> (Vec<Bracket>, Vec<usize>) {
    let columns = inputs.columns(channels);
    // The first xi letter, which is the first of omega where that is xi.
    let shift = if inputs == Inputs::Path { 0 } else { channels };
    let mut table: Vec<Bracket> = (0..channels + columns).map(Bracket::Letter).collect();
    let mut elements: Vec<usize> = (0..channels).chain((0..columns).map(|j| shift + j)).collect();
    let mut place = std::collections::HashMap::new();
    for (i, word) in words::all(shape).enumerate() {
        let affine = (shift + 1..=shift + columns).contains(&word[0]) && word[1..].iter().all(|&letter| letter <= channels);
        if !affine {
            continue;
        }
        if word.len() == 1 {
            place.insert(word.clone(), channels + word[0] - 1 - shift);
            continue;
        }
        let (prefix, last) = word.split_at(word.len() - 1);
        place.insert(word.clone(), table.len());
        table.push(Bracket::Pair(place[prefix], last[0] - 1));
        elements.push(i);
    }
    (table, elements)
}

/// The words without a xi letter, among all words of the joint path.
fn pure_words(channels: usize, shape: &Shape) -> Vec<usize> {
    let all = words::all(shape).enumerate();
    all.filter(|(_, word)| word.iter().all(|&letter| letter <= channels)).map(|(i, _)| i).collect()
}

/// The xi letter of an element with exactly one.
fn letter(table: &[Bracket], channels: usize, element: usize) -> usize {
    fn find(table: &[Bracket], channels: usize, element: usize) -> Option<usize> {
        match table[element] {
            Bracket::Letter(k) => k.checked_sub(channels),
            Bracket::Pair(p, q) => find(table, channels, p).or_else(|| find(table, channels, q)),
        }
    }
    find(table, channels, element).unwrap_or_default()
}

impl Plan {
    /// How `Omega` is made.
    pub fn route(&self) -> Route {
        self.route
    }

    /// The coordinates that log-signatures of the joint path must have.
    pub fn basis(&self) -> Basis {
        match self.route {
            Route::Brackets | Route::Letters => Basis::Lyndon,
            Route::Words => Basis::Expanded,
        }
    }

    /// The depth of the log-signatures.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// How many coordinates a log-signature of the joint path has.
    pub fn coordinates(&self) -> usize {
        self.coordinates
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

    /// The parameters of the recurrence, from those of the field.
    ///
    /// # Errors
    /// If `a` has the wrong size.
    pub fn matrices<T: Float>(&self, a: Vec<T>) -> Result<Vec<T>, Error> {
        match &self.matrices {
            Some(brackets) => Ok(brackets.matrices(&a)?),
            None => Ok(a),
        }
    }

    /// `c_P`, `[vectors, H]`; of a path of its own by xi letter, the same number for each.
    ///
    /// # Errors
    /// If `a` or `b` has the wrong size.
    pub fn vectors<T: Float>(&self, a: &[T], b: Vec<T>) -> Result<Vec<T>, Error> {
        match &self.vectors {
            Some(vectors) if self.depth > 1 => {
                let (all, hidden) = (vectors.brackets.vectors(a, &b)?, self.field.hidden());
                Ok(vectors.rows.iter().flat_map(|row| &all[row * hidden..(row + 1) * hidden]).copied().collect())
            }
            _ => Ok(b),
        }
    }

    /// Forms the matrices, where they are formed ahead.
    pub fn brackets(&self) -> Option<&Arc<Brackets>> {
        self.matrices.as_ref()
    }

    /// Forms the vectors, and says which of its rows are wanted in which order; none if there are no inputs or the depth is 1.
    pub fn vector_brackets(&self) -> Option<(&Arc<Brackets>, &[usize])> {
        self.vectors.as_ref().filter(|_| self.depth > 1).map(|vectors| (&vectors.brackets, &vectors.rows[..]))
    }

    /// The coordinates that go with matrices.
    pub fn matrix_places(&self) -> &[usize] {
        &self.matrix_places
    }

    /// The coordinates that go with vectors, by xi letter.
    pub fn vector_places(&self) -> &[usize] {
        self.vectors.as_ref().map_or(&[], |vectors| &vectors.places)
    }
}
