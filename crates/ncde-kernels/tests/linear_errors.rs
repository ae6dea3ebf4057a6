//! Bad input: every message says what was seen, what was wanted and where.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::{Affine, Bound, Contraction, Error, Field, Mode, Pattern, Recurrence, Structure, Transition};
use ncde_reference::model::{Case, Model, small};

fn case() -> Case {
    let model = Model::new(Structure::Dense { hidden: 2 }, 3);
    Case::new(1, &model, Recurrence::new(model.field.clone()), [2, 4, 1])
}

fn message(case: &Case) -> String {
    case.forward().unwrap_err().to_string()
}

#[test]
fn empty_batches() {
    let wrong = Case { length: 0, coefficients: Vec::new(), affine: None, ..case() };
    assert_eq!(message(&wrong), "the linear recurrence: the batch has length 0; at least 1 is needed");
    let wrong = Case { batch: 0, coefficients: Vec::new(), initial: Vec::new(), affine: None, ..case() };
    assert_eq!(message(&wrong), "the linear recurrence: the batch has size 0; at least 1 is needed");
    let wrong = Case { columns: 0, initial: Vec::new(), affine: None, ..case() };
    assert_eq!(message(&wrong), "the linear recurrence: the batch has number of columns 0; at least 1 is needed");
}

#[test]
fn sizes() {
    let operation = "the linear recurrence";
    let wrong = Case { a: vec![0.0; 11], ..case() };
    let seen = "A holds 11 numbers, but 12 = the parameters of 3 channels of a dense field are needed";
    assert_eq!(message(&wrong), format!("{operation}: {seen}"));
    let wrong = Case { coefficients: vec![0.0; 23], ..case() };
    let seen = "the coefficients holds 23 numbers, but 24 = batch 2 x length 4 x 3 coefficients are needed";
    assert_eq!(message(&wrong), format!("{operation}: {seen}"));
    let wrong = Case { initial: vec![0.0; 5], ..case() };
    let seen = "the initial state holds 5 numbers, but 4 = batch 2 x 1 columns x 2 states are needed";
    assert_eq!(message(&wrong), format!("{operation}: {seen}"));
    let wrong = Case { affine: Some(vec![0.0; 4]), ..case() };
    let seen = "the affine input holds 4 numbers, but 16 = batch 2 x length 4 x 1 columns x 2 states are needed";
    assert_eq!(message(&wrong), format!("{operation}: {seen}"));
    let wrong = Case { lengths: Some(vec![4]), ..case() };
    assert_eq!(message(&wrong), format!("{operation}: the list of lengths holds 1 numbers, but 2 = batch 2 are needed"));
    let states = case().forward().unwrap();
    let error = case().recurrence.backward(&case().input(), &states[1..], &states).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the states", seen: 15, wanted: 16, .. }), "{error}");
    let error = case().recurrence.backward(&case().input(), &states, &states[1..]).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the gradient", seen: 15, wanted: 16, .. }), "{error}");
}

#[test]
fn lengths() {
    let tail = "but lengths lie between 1 and 4, the length of the batch";
    let wrong = Case { lengths: Some(vec![4, 0]), ..case() };
    assert_eq!(message(&wrong), format!("the linear recurrence: series 1 has length 0, {tail}"));
    let wrong = Case { lengths: Some(vec![5, 1]), ..case() };
    assert_eq!(message(&wrong), format!("the linear recurrence: series 0 has length 5, {tail}"));
}

#[test]
fn numbers_that_are_not_finite() {
    let tail = "remove or fill such values first";
    let mut wrong = case();
    wrong.coefficients[3 * 4 + 3 * 2 + 1] = f64::NAN;
    let place = "the coefficients holds NaN at series 1, step 2, coefficient 1";
    assert_eq!(message(&wrong), format!("the linear recurrence: {place}; {tail}"));
    let error = wrong.recurrence.backward(&wrong.input(), &[0.0; 16], &[0.0; 16]).unwrap_err();
    assert_eq!(error.to_string(), format!("the reverse pass of the linear recurrence: {place}; {tail}"));
    let mut wrong = case();
    wrong.a[5] = f64::INFINITY;
    assert_eq!(message(&wrong), format!("the linear recurrence: A holds inf at parameter 5; {tail}"));
    let mut wrong = case();
    wrong.initial[3] = f64::NEG_INFINITY;
    assert_eq!(message(&wrong), format!("the linear recurrence: the initial state holds -inf at series 1, state 1; {tail}"));
    let mut wrong = case();
    wrong.affine.as_mut().unwrap()[8 + 3] = f64::NAN;
    assert_eq!(
        message(&wrong),
        format!("the linear recurrence: the affine input holds NaN at series 1, step 1, state 1; {tail}")
    );
}

#[test]
fn what_lies_past_the_end_of_a_series_is_not_read() {
    let right = Case { lengths: Some(vec![2, 4]), ..case() };
    let mut filled = right.clone();
    filled.coefficients[3 * 2..3 * 4].fill(f64::NAN);
    filled.affine.as_mut().unwrap()[2 * 2..2 * 4].fill(f64::NAN);
    let (states, gradients) = right.run::<f64>();
    assert_eq!(filled.run::<f64>(), (states.clone(), gradients.clone()));
    // A state stays as it is, and its gradients are those of the last step.
    assert_eq!(states[2..4], states[4..6]);
    assert_eq!(states[2..4], states[6..8]);
    assert!(gradients.coefficients[3 * 2..3 * 4].iter().chain(&gradients.affine.unwrap()[4..8]).all(|&x| x == 0.0));
}

#[test]
fn exploding_states() {
    for model in small(1) {
        for transition in [Transition::Exp, Transition::Euler] {
            let recurrence = Recurrence::new(model.field.clone()).with_transition(transition).with_affine(Affine::Approximate);
            let mut case = Case::new(3, &model, recurrence, [3, 6, 1]);
            case.a.iter_mut().for_each(|x| *x = x.abs() + 0.3);
            case.initial.fill(1.0);
            case.coefficients.fill(0.1);
            // Every exponential beyond the numbers there are, but only in series 1 and from step 4 on.
            case.coefficients[6 + 4] = 1e5;
            if transition == Transition::Euler {
                case.coefficients[6 + 4..6 + 6].fill(1e305);
                case.affine = Some(vec![1e5; 3 * 6 * model.hidden()]);
            }
            let error = case.forward().unwrap_err();
            let structure = model.field.structure().name();
            assert_eq!(error, Error::Exploded { structure, step: 4, series: 1 }, "{}", case.name());
            let message = format!(
                "the state of the {structure} recurrence overflows at step 4 of series 1; \
                 scale the input or A down, use smaller steps, or compute in f64"
            );
            assert_eq!(error.to_string(), message);
        }
    }
}

/// Numbers that no exponential survives, such as raw time stamps: an error, at once.
#[test]
fn huge_coefficients() {
    for model in small(1) {
        for huge in [1e300, 1e30, 1e12] {
            let mut case = Case::new(3, &model, Recurrence::new(model.field.clone()), [2, 3, 1]).without_affine();
            case.a.iter_mut().for_each(|x| *x = x.abs() + 0.3);
            case.initial.fill(1.0);
            case.coefficients.fill(0.1);
            case.coefficients[3 + 1] = huge;
            let structure = model.field.structure().name();
            let right = Err(Error::Exploded { structure, step: 1, series: 1 });
            assert_eq!(case.forward(), right, "{huge:e} times {}", model.name());
        }
    }
}

#[test]
fn exploding_gradients() {
    let mut case = Case { affine: None, ..case() };
    let states = case.forward().unwrap();
    case.weights.fill(0.0);
    case.weights[8..].fill(f64::MAX);
    let error = case.recurrence.backward(&case.input(), &states, &case.weights).unwrap_err();
    assert_eq!(error, Error::GradientExploded { structure: "dense", series: 1 });
    assert!(error.to_string().starts_with("the gradient of the dense recurrence overflows, in series 1; scale the loss"));
}

#[test]
fn structures_that_do_not_exist() {
    let message = |structure: Structure| Field::new(structure, 2).unwrap_err().to_string();
    assert_eq!(
        message(Structure::WalshHadamard { hidden: 12, bound: Bound::Tanh }),
        "Walsh-Hadamard: 12 states, but a Hadamard matrix of ours has a power of two; the next is 16"
    );
    assert!(message(Structure::Dplr { hidden: 4, rank: 5 }).starts_with("DPLR: rank 5 with 4 states"));
    assert!(message(Structure::Dplr { hidden: 4, rank: 0 }).ends_with("(rank 0 is `diagonal`)"));
    assert!(message(Structure::DiagonalDense { hidden: 4, block: 5 }).contains("a dense block of 5 in 4 states"));
    assert!(message(Structure::Dense { hidden: 0 }).contains("no states"));
    assert!(message(Structure::Block { sizes: vec![2, 0, 3] }).starts_with("block-diagonal: "));
    assert!(Structure::blocks(10, 4).unwrap_err().to_string().contains("blocks of 4 do not fill 10 states"));
    let error = Field::new(Structure::Dense { hidden: 3 }, 0).unwrap_err();
    assert_eq!(error.to_string(), "dense: there are no channels to drive the state; at least 1 is needed");
    let message = |entries: &[(usize, usize)]| Pattern::new(3, &[entries.to_vec()]).unwrap_err().to_string();
    assert_eq!(message(&[(0, 1), (2, 2), (0, 1)]), "sparse: entry (0, 1) of channel 0 is listed twice");
    assert_eq!(message(&[(0, 3)]), "sparse: entry (0, 3) of channel 0 lies outside a 3 x 3 matrix");
    let sparse = Structure::Sparse { pattern: Pattern::new(3, &[vec![(0, 0)]]).unwrap().into() };
    assert_eq!(Field::new(sparse, 2).unwrap_err().to_string(), "sparse: the masks are for 1 channels, the field has 2");
}

#[test]
fn parallel_on_a_structure_that_is_not_closed() {
    let field = Field::new(Structure::Dplr { hidden: 4, rank: 1 }, 2).unwrap();
    let error = Recurrence::new(field).with_mode(Mode::Parallel).unwrap_err();
    assert_eq!(
        error.to_string(),
        "DPLR matrices are not closed under products, so their flows cannot be scanned in parallel; use mode `recurrent` or `auto`"
    );
}

#[test]
fn more_words_than_can_be_counted() {
    let field = Field::new(Structure::Diagonal { hidden: 1 }, 1 << 20).unwrap();
    let error = Recurrence::new(field).with_contraction(Contraction::Words { depth: 4 }).unwrap_err();
    assert_eq!(error.to_string(), "recurrence: Words { depth: 4 } over 1048576 channels is too large; lower the depth");
}
