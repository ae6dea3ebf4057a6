//! Steps that were begun and not looked at yet: a device is busy with the newer while the older is looked at.

use std::collections::VecDeque;

use ncde_layers::dense::Seen;
use ncde_layers::layer::Error;

/// What a step saw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stepped {
    /// The loss, without the penalty.
    pub(crate) loss: f64,
    /// The norm of the gradient over all weights.
    pub(crate) norm: f64,
}

impl Stepped {
    /// Waits for what a step saw.
    fn of(seen: Seen) -> Result<Self, Error> {
        let [loss, squares] = match seen {
            Seen::Now(seen) => seen,
            Seen::Later(seen) => seen()?,
        };
        Ok(Self { loss, norm: squares.sqrt() })
    }

    /// Whether both are finite; else nothing was changed.
    pub(crate) fn is_finite(&self) -> bool {
        self.loss.is_finite() && self.norm.is_finite()
    }
}

/// Steps that were begun, in order. What could not be begun is among them, so that errors come in order, too.
#[derive(Debug, Default)]
pub(crate) struct InFlight(VecDeque<Result<Seen, Error>>);

impl InFlight {
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether another one may be begun before the oldest is looked at.
    pub(crate) fn has_room(&self) -> bool {
        match self.0.front() {
            None => true,
            Some(Ok(oldest)) => self.count() < 2 && matches!(oldest, Seen::Later(_)),
            Some(Err(_)) => false,
        }
    }

    pub(crate) fn push(&mut self, step: Result<Seen, Error>) {
        self.0.push_back(step);
    }

    /// What the oldest saw, or why it could not be begun; none if there is none.
    pub(crate) fn pop(&mut self) -> Option<Result<Stepped, Error>> {
        self.0.pop_front().map(|oldest| Stepped::of(oldest?))
    }

    /// Forgets all, once the device is done with them: the caller undoes what they did.
    pub(crate) fn clear(&mut self) {
        while self.pop().is_some() {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn later(loss: f64) -> Result<Seen, Error> {
        Ok(Seen::Later(Box::new(move || Ok([loss, 4.0]))))
    }

    #[test]
    fn two_steps_are_in_flight_at_most_and_are_seen_in_order() {
        let mut flight = InFlight::default();
        flight.push(later(1.0));
        assert!(flight.has_room());
        flight.push(later(2.0));
        assert!(!flight.has_room());
        assert_eq!(flight.pop().unwrap().unwrap(), Stepped { loss: 1.0, norm: 2.0 });
        assert!(flight.has_room() && flight.count() == 1);
        flight.clear();
        assert!(flight.count() == 0 && flight.pop().is_none());
        // What is done is looked at before the next one is begun.
        flight.push(Ok(Seen::Now([3.0, 4.0])));
        assert!(!flight.has_room());
    }
}
