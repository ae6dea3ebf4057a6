//! One step at a time is the whole recurrence.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::{Affine, Contraction, Error, Recurrence, Stream, Transition};
use ncde_reference::assert_close;
use ncde_reference::model::{Case, large, small};

/// The states of the first series, pushed one by one.
fn pushed(case: &Case) -> Vec<f64> {
    let mut stream = Stream::new(&case.recurrence, &case.a).unwrap();
    let (state_len, width) = (case.columns * case.model.hidden(), case.recurrence.coefficients());
    let mut h = case.initial[..state_len].to_vec();
    let mut states = Vec::new();
    for t in 0..case.length {
        let beta = case.affine.as_ref().map(|affine| &affine[t * state_len..(t + 1) * state_len]);
        stream.push(&mut h, &case.coefficients[t * width..(t + 1) * width], beta).unwrap();
        states.extend_from_slice(&h);
    }
    states
}

#[test]
fn a_stream_is_the_recurrence() {
    for (i, model) in small(3).into_iter().chain(large(3)).enumerate() {
        for (transition, affine) in
            [(Transition::Exp, Affine::Exact), (Transition::Exp, Affine::Approximate), (Transition::Euler, Affine::Exact)]
        {
            let recurrence = Recurrence::new(model.field.clone()).with_transition(transition).with_affine(affine);
            let case = Case::new(i as u64, &model, recurrence, [1, 5, 1 + 2 * (i % 2)]);
            assert_close(&case.name(), &pushed(&case), &case.forward().unwrap(), 1e-13);
            let case = case.without_affine();
            assert_close(&case.name(), &pushed(&case), &case.forward().unwrap(), 1e-13);
        }
        let recurrence = Recurrence::new(model.field.clone()).with_contraction(Contraction::Words { depth: 2 }).unwrap();
        let case = Case::new(i as u64, &model, recurrence, [1, 3, 1]);
        assert_close(&case.name(), &pushed(&case), &case.forward().unwrap(), 1e-13);
    }
}

#[test]
fn a_step_that_fails_leaves_the_state_as_it_was() {
    for model in small(1) {
        let mut a = model.parameters(1);
        a.iter_mut().for_each(|x| *x = x.abs() + 0.3);
        let mut stream = Stream::new(&Recurrence::new(model.field.clone()), &a).unwrap();
        let start = vec![1.0; model.hidden()];
        let mut h = start.clone();
        assert!(matches!(stream.push(&mut h, &[f64::NAN], None), Err(Error::NotFinite { .. })));
        assert!(matches!(stream.push(&mut h, &[1.0, 2.0], None), Err(Error::Size { .. })));
        assert!(matches!(stream.push(&mut h, &[1e5], None), Err(Error::Exploded { .. })), "{}", model.name());
        assert_eq!(h, start, "{}", model.name());
        stream.push(&mut h, &[0.1], None).unwrap();
        assert!(h.iter().all(|x| x.is_finite()) && h != start, "{}", model.name());
    }
    let model = &small(2)[1];
    assert!(matches!(
        Stream::new(&Recurrence::new(model.field.clone()), &[0.0; 3]),
        Err(Error::Size { seen: 3, wanted: 50, .. })
    ));
}
