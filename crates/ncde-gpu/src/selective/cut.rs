//! How a call is cut: a pure function of shapes and of what the device is.

/// Steps of a chunk; the states of one are in local memory in the reverse pass.
pub(crate) const CHUNK: usize = 16;
/// The most states of a channel, which are in registers.
pub(crate) const MAX_STATES: usize = 128;
/// The most channels of a cube in the reverse pass.
const MAX_UNITS: usize = 128;
/// The fewest, so that there are not too many partial sums over channels.
const MIN_UNITS: usize = 8;

/// The reverse pass: a cube has a chunk of some channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cut {
    /// `N`.
    pub(crate) states: usize,
    /// Units of a cube, a channel each.
    pub(crate) units: usize,
}

impl Cut {
    /// None where a cube of so many units and bytes has no room for the states of its channels.
    pub(crate) fn new([channels, states]: [usize; 2], units: usize, shared: usize) -> Option<Self> {
        let most = channels.next_multiple_of(MIN_UNITS).next_power_of_two().min(MAX_UNITS);
        let halved = (0..=most.ilog2()).map(|halvings| Self { states, units: most >> halvings });
        let fits = |cut: &Self| cut.units <= units && cut.bytes() <= shared;
        halved.take_while(|cut| cut.units >= MIN_UNITS).find(fits).filter(|_| states <= MAX_STATES)
    }

    /// Sums over the channels of a cube: `db` and `dc` of a step.
    pub(crate) fn sums(&self) -> usize {
        2 * self.states
    }

    /// Sums that are worked on at once, and units for each.
    pub(crate) fn together(&self) -> usize {
        self.sums().min(self.units)
    }

    /// See there.
    pub(crate) fn lanes(&self) -> usize {
        self.units / self.together()
    }

    /// The numbers of a sum in shared memory; one more, so that neighbouring sums are in different banks.
    pub(crate) fn stride(&self) -> usize {
        self.units + 1
    }

    fn bytes(&self) -> usize {
        self.sums() * (self.stride() + self.lanes()) * size_of::<f32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cube_has_room_for_its_channels() {
        for channels in [1, 7, 32, 100, 128, 256, 1000] {
            for states in [1, 3, 16, 64, 128, 200] {
                for (units, shared) in [(128, 16 << 10), (1024, 48 << 10)] {
                    let Some(cut) = Cut::new([channels, states], units, shared) else {
                        assert!(states > MAX_STATES, "{channels} {states}");
                        continue;
                    };
                    assert!(cut.units <= units && cut.bytes() <= shared && cut.lanes() >= 1, "{cut:?}");
                }
            }
        }
        let of_mamba = Cut::new([256, 16], 1024, 48 << 10);
        assert_eq!(of_mamba, Some(Cut { states: 16, units: 128 }));
    }
}
