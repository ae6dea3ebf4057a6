//! A field, a control, and their product: the right-hand side `F(h; rate(t))`.

use super::drive::Drive;
use super::integrate::System;
use crate::Error;
use crate::brackets;
use crate::error::check;
use crate::field::VectorField;
use crate::scalar::{Real, Scalar};

/// A vector field and the control that drives it. That they have as many channels is checked when it is solved.
#[derive(Debug)]
pub struct Term<'a, F, D> {
    /// The field.
    pub field: &'a F,
    /// The control.
    pub drive: &'a D,
}

impl<F: VectorField, D> Term<'_, F, D> {
    /// The number of words in a rate.
    pub(crate) fn width<T: Real>(&self) -> usize
    where
        D: Drive<T>,
    {
        brackets::words(self.drive.channels(), self.drive.depth())
    }

    /// The product of field and rate at a state.
    pub(crate) fn product<N: Scalar>(&self, parameters: &[N], rate: &[N], h: &[N], out: &mut [N]) -> Result<(), Error>
    where
        D: Drive<N::Real>,
    {
        brackets::contract(self.field, parameters, self.drive.depth(), rate, h, out)
    }
}

/// The equation forwards in time.
pub(crate) struct Forward<'a, T, F, D> {
    term: &'a Term<'a, F, D>,
    parameters: &'a [T],
    rate: Vec<T>,
}

impl<'a, T: Real, F: VectorField, D: Drive<T>> Forward<'a, T, F, D> {
    pub(crate) fn new(term: &'a Term<'a, F, D>, parameters: &'a [T], h: &[T]) -> Result<Self, Error> {
        let (field, drive) = (term.field, term.drive);
        check("solve", "the field's output (one column for each channel of the control)", field.channels(), drive.channels())?;
        check("solve", "the list of parameters", parameters.len(), field.parameters())?;
        check("solve", "the initial state", h.len(), field.hidden())?;
        Ok(Self { term, parameters, rate: vec![T::ZERO; term.width()] })
    }
}

impl<T: Real, F: VectorField, D: Drive<T>> System<T> for Forward<'_, T, F, D> {
    fn dimension(&self) -> usize {
        self.term.field.hidden()
    }

    fn slope(&mut self, piece: usize, t: f64, y: &[T], out: &mut [T]) -> Result<(), Error> {
        self.term.drive.rate(piece, t, &mut self.rate)?;
        self.term.product(self.parameters, &self.rate, y, out)
    }
}
