//! Bad input: every message says what was seen, what was wanted and where.

use ncde_kernels::Error;
use ncde_kernels::neural::{Activation, Depth, Last, Method, Network, Outputs};

use ncde_reference::neural::case::{Case, Shape};

fn case() -> Case {
    let shape: Shape<'_> = ((2, 3, &[4]), [2, 3, 5]);
    Case::new(1, shape, (Activation::Silu, Last::Tanh), Depth::Two, Method::Heun)
}

fn message(case: &Case) -> String {
    case.solve.forward(&case.input()).unwrap_err().to_string()
}

#[test]
fn networks() {
    let problem = |hidden, channels, widths: &[usize]| Network::new(hidden, channels, widths).unwrap_err().to_string();
    assert_eq!(problem(0, 1, &[1]), "the neural field: it has 0 states; at least 1 is needed");
    assert_eq!(problem(1, 0, &[1]), "the neural field: it has 0 channels; at least 1 is needed");
    assert_eq!(problem(1, 1, &[3, 0]), "the neural field: hidden layer 1 has width 0; leave it out, or give it at least 1");
    assert!(problem(usize::MAX, 2, &[]).ends_with("are too many parameters"));
    assert!(problem(1 << 30, 1 << 30, &[1 << 30]).ends_with("are too many parameters"));
}

#[test]
fn sizes() {
    let operation = "the neural solve";
    let wrong = Case { batch: 0, coefficients: Vec::new(), initial: Vec::new(), dt: Vec::new(), rows: Vec::new(), ..case() };
    assert_eq!(message(&wrong), format!("{operation}: the batch has size 0; at least 1 is needed"));
    assert!(message(&Case { steps: 0, ..case() }).contains("number of steps 0"));
    assert!(message(&Case { control: 0, ..case() }).contains("number of control rows 0"));
    let wrong = Case { parameters: vec![0.0; 41], ..case() };
    let seen = "the array of parameters holds 41 numbers, but 42 = the parameters of 2 states, 3 channels and hidden layers [4] are needed";
    assert_eq!(message(&wrong), format!("{operation}: {seen}"));
    let wrong = Case { coefficients: vec![0.0; 30], ..case() };
    let seen = "the array of coefficients holds 30 numbers, but 60 = batch 2 x 5 control rows x 6 coefficients are needed";
    assert_eq!(message(&wrong), format!("{operation}: {seen}"));
    let wrong = Case { initial: vec![0.0; 2], ..case() };
    assert!(message(&wrong).contains("the initial state holds 2 numbers, but 4 = batch 2 x 2 states"));
    let wrong = Case { dt: vec![0.0; 3], ..case() };
    assert!(message(&wrong).contains("the list of step lengths holds 3 numbers, but 6 = batch 2 x 3 steps"));
    let wrong = Case { rows: vec![0; 6], ..case() };
    assert!(message(&wrong).contains("the list of rows holds 6 numbers, but 12 = batch 2 x 3 steps x 2 stages of Heun"));
    let (case, states) = (case(), case().forward());
    let error = case.solve.backward(&case.input(), &states[1..], Outputs::Every, &states).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the states", seen: 11, wanted: 12, .. }), "{error}");
    let error = case.solve.backward(&case.input(), &states, Outputs::At(&[2, 2]), &states).unwrap_err();
    assert!(matches!(error, Error::Size { what: "the gradient", seen: 12, wanted: 4, .. }), "{error}");
}

#[test]
fn rows_and_outputs() {
    let mut wrong = case();
    wrong.rows[9] = 5;
    let seen = "stage 1 of step 1 of series 1 reads row 5, but controls have 5 rows, counted from 0";
    assert!(message(&wrong).starts_with(&format!("the neural solve: {seen}")), "{}", message(&wrong));
    let case = case();
    let error = |at: &[usize]| case.solve.forward_at(&case.input(), at).unwrap_err();
    assert_eq!(error(&[0, 1, 2, 1]), Error::Output { operation: "the neural solve", series: 1, place: 0, step: 2, steps: 3 });
    assert_eq!(error(&[0, 3, 1, 2]), Error::Output { operation: "the neural solve", series: 0, place: 1, step: 3, steps: 3 });
    assert!(matches!(error(&[]), Error::Empty { what: "number of outputs", .. }));
    assert!(matches!(error(&[0, 1, 2]), Error::Size { what: "the list of outputs", seen: 3, wanted: 2, .. }));
}

#[test]
fn numbers_that_are_not_finite() {
    let place = |change: fn(&mut Case)| {
        let mut wrong = case();
        change(&mut wrong);
        message(&wrong)
    };
    let tail = "remove or fill such values first";
    let seen = place(|case| case.parameters[7] = f64::NAN);
    assert_eq!(seen, format!("the neural solve: the array of parameters holds NaN at parameter 7; {tail}"));
    let seen = place(|case| case.coefficients[38] = f64::INFINITY);
    assert!(seen.contains("holds inf at series 1, row 1, coefficient 2"), "{seen}");
    let seen = place(|case| case.initial[3] = f64::NAN);
    assert!(seen.contains("the initial state holds NaN at series 1, state 1"), "{seen}");
    let seen = place(|case| case.dt[4] = f64::NAN);
    assert!(seen.contains("the list of step lengths holds NaN at series 1, step 1"), "{seen}");
    let (case, states) = (case(), case().forward());
    let mut wrong = states.clone();
    wrong[7] = f64::NAN;
    let error = case.solve.backward(&case.input(), &states, Outputs::Every, &wrong).unwrap_err().to_string();
    assert!(error.contains("the gradient holds NaN at series 1, step 0, state 1"), "{error}");
}

/// A field that grows with its argument, and a control that is huge from row 2 on.
fn explosive() -> Case {
    let shape: Shape<'_> = ((2, 1, &[3]), [3, 8, 4]);
    let mut case = Case::new(1, shape, (Activation::Relu, Last::Linear), Depth::One, Method::Heun);
    case.parameters.fill(0.5);
    case.initial.fill(1.0);
    case.dt.fill(0.1);
    case.rows = (0..48).map(|i| i / 4 % 4).collect();
    case.coefficients = [1.0, 1.0, 1.0, 1.0].repeat(3);
    case
}

#[test]
fn explosions_say_where() {
    let mut case = explosive();
    case.coefficients[6..8].fill(1e300);
    let error = case.solve.forward(&case.input()).unwrap_err();
    // The second series meets row 2 in its fifth step.
    assert_eq!(error, Error::SolveExploded { series: 1, step: 4, row: 2 });
    let seen = "the state of series 1 overflows in step 4 of the neural solve, driven by row 2 of its control";
    assert!(error.to_string().starts_with(seen), "{error}");
    // Also where that state is not asked for.
    assert_eq!(case.solve.forward_at(&case.input(), &[0, 0, 0]).unwrap_err(), error);
    // Never reached, never read: no explosion.
    case.dt[12..16].fill(0.0);
    assert!(case.solve.forward(&case.input()).is_ok());
}

#[test]
fn gradients_that_overflow_are_errors() {
    let case = explosive();
    let states = case.solve.forward(&case.input()).unwrap();
    let mut gradient = vec![0.0; states.len()];
    gradient[47] = 1e308;
    let error = case.solve.backward(&case.input(), &states, Outputs::Every, &gradient).unwrap_err();
    assert_eq!(error, Error::SolveGradientExploded { series: Some(2) });
    assert!(error.to_string().starts_with("the gradient of the neural solve overflows in series 2; scale"), "{error}");
}
