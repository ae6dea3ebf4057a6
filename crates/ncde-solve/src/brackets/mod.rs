//! Brackets of vector fields, contracted with a log-signature: `F = sum_k lambda_k [..f..]_k`, never one by one.
//!
//! `[f, g](h) = Dg(h) f(h) - Df(h) g(h)`. A Lie element with coefficients `l_w` on words goes to the vector field `F = G_()` of
//!
//! ```text
//! G_u = sum_j l_{uj} f_j + sum_j D G_{uj}[f_j],        G_u = sum_j l_{uj} f_j  where uj has the largest length,
//! ```
//!
//! nested Jacobian-vector products with the first letter outermost: no bracket is formed, and no basis is needed but words. The last
//! two levels together take one product for each channel, `sum_k D f_k[v_k]` with `v_k = sum_j l_{ujk} f_j`, of which only channel
//! `k` is evaluated. So depth `N` costs `d^(N-1)` products.

mod order;
mod reverse;

use ncde_signature::algebra::LieBasis;

use crate::Error;
use crate::error::check;
use crate::field::{Reversible, VectorField};
use crate::scalar::{Dual, Real, Scalar};
use order::{Deeper, DepthOne, DepthTwo, Order, add_tangents, fixed, moving};
use reverse::TwoWay;
pub(crate) use reverse::{Gradients, Inputs};

/// The largest depth of brackets.
pub const MAX_DEPTH: usize = 6;

/// The number of words of 1 to `depth` letters over `channels`, or the largest number there is.
pub fn words(channels: usize, depth: usize) -> usize {
    (1..=depth as u32).fold(0, |sum: usize, k| sum.saturating_add(channels.saturating_pow(k)))
}

/// Calls a function of [`Order`] for a depth that is known only now.
macro_rules! at_depth {
    ($depth:expr, $function:ident ( $($argument:expr),* )) => {
        match $depth {
            1 => DepthOne::$function($($argument),*),
            2 => DepthTwo::$function($($argument),*),
            3 => Deeper::<DepthTwo>::$function($($argument),*),
            4 => Deeper::<Deeper<DepthTwo>>::$function($($argument),*),
            5 => Deeper::<Deeper<Deeper<DepthTwo>>>::$function($($argument),*),
            6 => Deeper::<Deeper<Deeper<Deeper<DepthTwo>>>>::$function($($argument),*),
            depth => return Err(Error::Depth { depth, most: MAX_DEPTH }),
        }
    };
}

/// Writes `F(h)` to `out`, for the Lie element with coefficients `row` on words.
///
/// # Shapes
/// `row`: the words of 1 to `depth` letters, by length, then lexicographically (the expanded form of `ncde-signature`); `h` and `out`: `[H]`.
///
/// # Errors
/// If the sizes do not fit, or the depth is 0 or more than [`MAX_DEPTH`].
pub fn contract<F: VectorField, N: Scalar>(
    field: &F,
    parameters: &[N],
    depth: usize,
    row: &[N],
    h: &[N],
    out: &mut [N],
) -> Result<(), Error> {
    row_size(field, depth, row.len())?;
    sizes("contract", field, parameters.len(), h.len(), out.len(), field.hidden())?;
    at_depth!(depth, contract(field, parameters, row, h, out));
    Ok(())
}

/// [`contract`] in reals, for a field with a reverse pass of its own: faster by far from depth 3 on.
///
/// # Errors
/// As for [`contract`].
pub fn contract_fixed<F: Reversible, T: Real>(
    field: &F,
    parameters: &[T],
    depth: usize,
    row: &[T],
    h: &[T],
    out: &mut [T],
) -> Result<(), Error> {
    row_size(field, depth, row.len())?;
    sizes("contract", field, parameters.len(), h.len(), out.len(), field.hidden())?;
    at_depth!(depth, value(field, parameters, row, h, out));
    Ok(())
}

/// The way back of [`contract_fixed`] on arrays that have been checked: adds to the gradients in state, parameters and coefficients.
pub(crate) fn contract_reverse<F: Reversible, T: Real>(
    field: &F,
    depth: usize,
    at: Inputs<'_, T>,
    gradient: &[T],
    d_h: &mut [T],
    sums: Gradients<'_, T>,
) -> Result<(), Error> {
    at_depth!(depth, reverse(field, at, gradient, d_h, sums));
    Ok(())
}

/// Writes the vector field of element `k` of a basis, an iterated bracket, to `out`. For looking at brackets one by one.
///
/// ```
/// use ncde_signature::Basis;
/// use ncde_signature::algebra::{LieBasis, Shape};
/// use ncde_solve::{brackets, field::Linear};
/// let basis = LieBasis::new(&Shape::new(2, 2)?, Basis::Lyndon)?; // 1, 2, [1,2]
/// let field = Linear { hidden: 2, channels: 2 };
/// let (up, right) = ([0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]);
/// let mut out = [0.0; 2];
/// brackets::lie_bracket(&field, &[up, right].concat(), &basis, 2, &[1.0, 0.0], &mut out)?;
/// assert_eq!(out, [-1.0, 0.0]); // (A^2 A^1 - A^1 A^2) h
/// # Ok::<(), ncde_solve::Error>(())
/// ```
///
/// # Errors
/// If the sizes do not fit, there is no such element, or its degree is more than [`MAX_DEPTH`].
pub fn lie_bracket<F: VectorField, N: Scalar>(
    field: &F,
    parameters: &[N],
    basis: &LieBasis,
    k: usize,
    h: &[N],
    out: &mut [N],
) -> Result<(), Error> {
    sizes("bracket", field, parameters.len(), h.len(), out.len(), field.hidden())?;
    check("bracket", "the alphabet of the basis (one letter for each channel)", basis.shape().width(), field.channels())?;
    let trees = basis.trees();
    let Some(&degree) = basis.degrees().get(k) else {
        let seen = format!("{k} of {}", trees.len());
        return Err(Error::BadParameter { what: "the place of a basis element", wanted: "below their number", seen });
    };
    at_depth!(degree, bracket(field, parameters, trees, k, h, out));
    Ok(())
}

/// Writes `D f(h)[v]` for every channel, `[d, H]`, to `out`.
///
/// # Errors
/// If the sizes do not fit.
pub fn jvp<F: VectorField, N: Scalar>(field: &F, parameters: &[N], h: &[N], v: &[N], out: &mut [N]) -> Result<(), Error> {
    sizes("jvp", field, parameters.len(), h.len(), out.len(), field.channels() * field.hidden())?;
    check("jvp", "the direction", v.len(), h.len())?;
    let mut moved = vec![Dual::fixed(N::zero()); out.len()];
    field.eval(&fixed(parameters), &moving(h, v), &mut moved);
    out.fill(N::zero());
    add_tangents(&moved, out);
    Ok(())
}

fn row_size<F: VectorField>(field: &F, depth: usize, row: usize) -> Result<(), Error> {
    if !(1..=MAX_DEPTH).contains(&depth) {
        return Err(Error::Depth { depth, most: MAX_DEPTH });
    }
    check("contract", "the row of coefficients (one for each word)", row, words(field.channels(), depth))
}

fn sizes<F: VectorField>(
    operation: &'static str,
    field: &F,
    parameters: usize,
    h: usize,
    out: usize,
    wanted: usize,
) -> Result<(), Error> {
    check(operation, "the list of parameters", parameters, field.parameters())?;
    check(operation, "the state", h, field.hidden())?;
    check(operation, "the output", out, wanted)
}
