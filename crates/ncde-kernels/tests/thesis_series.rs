//! The thesis's statements on linear fields: the flow as a series in the signature, parity, and state-space models as Linear NCDEs.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::{Affine, Error, Field, Input, Recurrence, Structure, Transition};
use ncde_reference::matrix::{apply, exponential, norm_2};
use ncde_reference::model::{Model, small};
use ncde_reference::reference::{word_matrix, words};
use ncde_reference::{assert_close, dot, narrow, normal, scaled, uniform, wide};
use ncde_signature::{Paths, Signature};

/// The corners of a path of three segments, and `sum_k ||A^k|| int |domega^k|`, which is 0.8.
fn short_path(model: &Model, a: &[f64]) -> (Vec<f64>, f64) {
    let d = model.field.channels();
    let norms: Vec<f64> = model.matrices(a).iter().map(|m| norm_2(model.hidden(), m)).collect();
    let steps = uniform(17, 3 * d);
    let variation: f64 = steps.iter().enumerate().map(|(i, x)| norms[i % d] * x.abs()).sum();
    let mut corners = vec![0.0; d];
    for (i, x) in scaled(&steps, 0.8 / variation).into_iter().enumerate() {
        corners.push(corners[i] + x);
    }
    (corners, 0.8)
}

/// The exact state after the path: one exponential a segment.
fn exact(model: &Model, a: &[f64], corners: &[f64], h: &[f64]) -> Vec<f64> {
    let (n, d) = (model.hidden(), model.field.channels());
    let matrices = model.matrices(a);
    let mut h = h.to_vec();
    for (now, next) in corners.chunks_exact(d).zip(corners[d..].chunks_exact(d)) {
        let mut omega = vec![0.0; n * n];
        for (k, matrix) in matrices.iter().enumerate() {
            omega.iter_mut().zip(matrix).for_each(|(sum, x)| *sum += (next[k] - now[k]) * x);
        }
        h = apply(n, &exponential(n, &omega), &h);
    }
    h
}

#[test]
fn the_series_converges_to_the_flow() {
    const DEPTH: usize = 10;
    for (i, model) in small(2).into_iter().chain(small(1)).enumerate() {
        let (a, h) = (model.parameters(i as u64), uniform(i as u64 + 30, model.hidden()));
        let (corners, length) = short_path(&model, &a);
        let d = model.field.channels();
        let signature = Signature::new(d, DEPTH).unwrap().of(&Paths::single(&corners, d).unwrap()).unwrap();
        let right = exact(&model, &a, &corners, &h);
        let size = dot(&h, &h).sqrt();
        let mut errors = Vec::new();
        for depth in 0..=DEPTH {
            let state = model.field.series(&a, &signature[..words(d, depth).len()], depth, &h).unwrap();
            let difference: Vec<f64> = state.iter().zip(&right).map(|(x, y)| x - y).collect();
            errors.push(dot(&difference, &difference).sqrt() / size);
        }
        // |Phi h - Phi^N h| <= L^(N+1) / (N+1)! exp(L) |h|.
        let mut bound = length.exp();
        for (depth, &error) in errors.iter().enumerate() {
            bound *= length / (depth + 1) as f64;
            assert!(error <= bound + 1e-14, "{}, depth {depth}: {error:e} above {bound:e}", model.name());
        }
        for pair in errors[2..].windows(2) {
            assert!(pair[1] < 0.5 * pair[0] || pair[1] < 1e-14, "{}: {errors:?}", model.name());
        }
        assert!(errors[DEPTH] < 1e-8 && errors[0] > 1e-3, "{}: {errors:?}", model.name());
    }
}

#[test]
fn the_series_is_the_sum_over_words() {
    for (channels, depth) in [(1, 4), (2, 3), (3, 3), (5, 2), (4, 1)] {
        for (i, model) in small(channels).iter().enumerate() {
            let n = model.hidden();
            let words = words(channels, depth);
            // Any coefficients, not only signatures; as f32 holds them.
            let round = |x: Vec<f64>| wide::<f32>(&narrow(&x));
            let (a, s) = (round(model.parameters(i as u64)), round(uniform(i as u64 + 5, words.len())));
            let h = round(uniform(i as u64 + 6, n));
            let mut right = h.clone();
            for (word, s) in words.iter().zip(&s) {
                let product = word_matrix(n, &model.matrices(&a), word);
                right.iter_mut().zip(apply(n, &product, &h)).for_each(|(sum, x)| *sum += s * x);
            }
            assert_close(&model.name(), &model.field.series(&a, &s, depth, &h).unwrap(), &right, 1e-13);
            let seen = model.field.series::<f32>(&narrow(&a), &narrow(&s), depth, &narrow(&h)).unwrap();
            assert_close(&model.name(), &wide(&seen), &right, 1e-5);
        }
    }
}

#[test]
fn series_that_cannot_be() {
    let field = Field::new(Structure::Dense { hidden: 2 }, 2).unwrap();
    let (a, s, h) = ([0.5; 8], [0.1; 6], [1.0, 2.0]);
    assert_eq!(field.series(&a, &[], 0, &h).unwrap(), h);
    let message = |result: Result<Vec<f64>, Error>| result.unwrap_err().to_string();
    assert_eq!(
        message(field.series(&a, &s[..5], 2, &h)),
        "the series of the flow: the signature holds 5 numbers, but 6 = the words of 1 to 2 letters over 2 channels are needed"
    );
    assert!(matches!(field.series(&a[1..], &s, 2, &h), Err(Error::Size { what: "A", seen: 7, wanted: 8, .. })));
    assert!(matches!(field.series(&a, &s, 2, &h[1..]), Err(Error::Size { what: "the state", seen: 1, wanted: 2, .. })));
    assert!(matches!(field.series(&a, &s, 100, &h), Err(Error::Unsupported { .. })));
    assert_eq!(
        message(field.series(&a, &[0.1, f64::NAN], 1, &h)),
        "the series of the flow: the signature holds NaN at word 1; remove or fill such values first"
    );
    assert!(message(field.series(&[1e200; 8], &s, 2, &h)).contains("overflows"));
}

/// The states of a series of tokens.
fn run(recurrence: &Recurrence, a: &[f64], tokens: &[f64], initial: &[f64]) -> Vec<f64> {
    let input = Input {
        batch: 1,
        length: tokens.len() / recurrence.coefficients(),
        columns: 1,
        a,
        coefficients: tokens,
        initial,
        affine: None,
        lengths: None,
    };
    recurrence.forward(&input).unwrap()
}

/// Bits, a different share of ones for each seed, the last one ones only.
fn bits(seed: u64) -> Vec<f64> {
    let share = [0.1, 0.5, 0.9, 1.0][seed as usize];
    uniform(seed, 1000).into_iter().map(|u| f64::from(u8::from(u + 0.5 < share))).collect()
}

#[test]
fn half_a_turn_a_token_is_parity() {
    let pi = std::f64::consts::PI;
    let recurrence = Recurrence::new(Field::new(Structure::Dense { hidden: 2 }, 1).unwrap());
    for seed in 0..4 {
        let mut parity = 1.0;
        let states = run(&recurrence, &[0.0, -pi, pi, 0.0], &bits(seed), &[1.0, 0.0]);
        for (t, (state, bit)) in states.chunks_exact(2).zip(bits(seed)).enumerate() {
            parity *= 1.0 - 2.0 * bit;
            assert!((state[0] - parity).abs() < 1e-11 && state[1].abs() < 1e-11, "token {t}: {state:?}, parity {parity}");
        }
    }
}

#[test]
fn exact_diagonal_flows_never_change_sign() {
    let recurrence = Recurrence::new(Field::new(Structure::Diagonal { hidden: 9 }, 1).unwrap());
    for seed in 0..4 {
        let a = normal(seed + 10, 9, 0.2);
        let states = run(&recurrence, &a, &bits(seed), &[1.0; 9]);
        assert!(states.iter().all(|&h| h > 0.0), "seed {seed}");
        // They only count: h = exp(a n) after n ones.
        let ones: f64 = bits(seed).iter().sum();
        let right: Vec<f64> = a.iter().map(|a| a * ones).collect();
        let logarithms: Vec<f64> = states[999 * 9..].iter().map(|h| h.ln()).collect();
        assert_close("logarithms", &logarithms, &right, 1e-11);
    }
    // The first-order flow 1 + a is not positive: with a = -2 it turns.
    let euler = Recurrence::new(Field::new(Structure::Diagonal { hidden: 1 }, 1).unwrap()).with_transition(Transition::Euler);
    let mut parity = 1.0;
    for (state, bit) in run(&euler, &[-2.0], &bits(1), &[1.0]).iter().zip(bits(1)) {
        parity *= 1.0 - 2.0 * bit;
        assert_eq!(*state, parity);
    }
}

/// `phi_1(x) = (exp(x) - 1) / x`.
fn phi_1(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { x.exp_m1() / x }
}

/// States for each of `INPUTS` channels of the data.
const STATES: usize = 3;
const INPUTS: usize = 2;
const HIDDEN: usize = STATES * INPUTS;

/// The stacked field `A^k = diag(0, ..., C^k, ..., 0)`, as a diagonal one and as one of blocks, with the parameters of each.
fn stacked(c: &[[f64; STATES]; INPUTS]) -> Vec<(Field, Vec<f64>)> {
    let diagonal = Field::new(Structure::Diagonal { hidden: HIDDEN }, INPUTS).unwrap();
    let block = Field::new(Structure::blocks(HIDDEN, STATES).unwrap(), INPUTS).unwrap();
    let (mut diagonals, mut full) = (vec![0.0; diagonal.parameters()], vec![0.0; block.parameters()]);
    for k in 0..INPUTS {
        for s in 0..STATES {
            diagonals[k * HIDDEN + k * STATES + s] = c[k][s];
            full[(k * INPUTS + k) * STATES * STATES + s * STATES + s] = c[k][s];
        }
    }
    vec![(diagonal, diagonals), (block, full)]
}

/// The states of the affine field `dh = sum_k A^k h domega^k + B dxi` from rows of `domega` and `B dxi`.
fn run_affine(field: &Field, a: &[f64], affine: Affine, domega: &[f64], beta: &[f64]) -> Vec<f64> {
    let input = Input {
        batch: 1,
        length: domega.len() / INPUTS,
        columns: 1,
        a,
        coefficients: domega,
        initial: &[0.3; HIDDEN],
        affine: Some(beta),
        lengths: None,
    };
    Recurrence::new(field.clone()).with_affine(affine).forward(&input).unwrap()
}

#[test]
fn s4_is_an_affine_field_driven_by_time() {
    // dh^j = C^j h^j dt + D X^j dt with X held over steps of different lengths; one state only integrates.
    let c = [[-0.5, -2.0, 0.0], [-0.1, 0.3, -7.0]];
    let d = [0.4, -1.1, 0.8];
    let x = normal(3, 50 * INPUTS, 1.0);
    let dt: Vec<f64> = uniform(4, 50).iter().map(|u| 0.6 + u).collect();
    let domega: Vec<f64> = dt.iter().flat_map(|&dt| [dt; INPUTS]).collect();
    let mut beta = Vec::new();
    for (x, dt) in x.chunks_exact(INPUTS).zip(&dt) {
        // xi = int X ds, and B = diag(D, D).
        beta.extend(x.iter().flat_map(|x| d.map(|d| d * x * dt)));
    }
    for affine in [Affine::Exact, Affine::Approximate] {
        let (mut h, mut right) = ([[0.3; STATES]; INPUTS], Vec::new());
        for (x, dt) in x.chunks_exact(INPUTS).zip(&dt) {
            for j in 0..INPUTS {
                for s in 0..STATES {
                    let hold = if affine == Affine::Exact { phi_1(dt * c[j][s]) } else { 1.0 };
                    h[j][s] = (dt * c[j][s]).exp() * h[j][s] + hold * dt * d[s] * x[j];
                }
                right.extend(h[j]);
            }
        }
        for (field, a) in stacked(&c) {
            let name = format!("{}, {affine:?}", field.structure().name());
            assert_close(&name, &run_affine(&field, &a, affine, &domega, &beta), &right, 1e-12);
        }
    }
}

#[test]
fn mamba_is_an_affine_field_with_a_selective_gate() {
    // omega^k = int softplus(alpha^k . X + beta^k) ds, xi^k = int softplus(...) X^k X ds; steps of length 1, C shared.
    let c = [-0.4, -1.5, -3.0];
    let (alpha, bias) = ([[0.7, -1.2], [1.9, 0.4]], [-0.3, 0.6]);
    let d = [[0.5, -0.2], [1.3, 0.9], [-0.7, 0.1]];
    let x = normal(5, 50 * INPUTS, 1.0);
    let softplus = |z: f64| z.exp().ln_1p();
    let gate = |k: usize, x: &[f64]| softplus(dot(&alpha[k], x) + bias[k]);
    let (mut domega, mut beta) = (Vec::new(), Vec::new());
    for x in x.chunks_exact(INPUTS) {
        for k in 0..INPUTS {
            domega.push(gate(k, x));
            let dxi = scaled(x, gate(k, x) * x[k]);
            beta.extend(d.iter().map(|row| dot(row, &dxi)));
        }
    }
    let (mut h, mut right) = ([[0.3; STATES]; INPUTS], Vec::new());
    for x in x.chunks_exact(INPUTS) {
        for j in 0..INPUTS {
            let delta = gate(j, x);
            for s in 0..STATES {
                // The zero-order hold with the step delta, and the input matrix D x.
                let input = ((delta * c[s]).exp() - 1.0) / c[s] * dot(&d[s], x);
                h[j][s] = (delta * c[s]).exp() * h[j][s] + input * x[j];
            }
            right.extend(h[j]);
        }
    }
    for (field, a) in stacked(&[c; INPUTS]) {
        assert_close(field.structure().name(), &run_affine(&field, &a, Affine::Exact, &domega, &beta), &right, 1e-12);
    }
}
