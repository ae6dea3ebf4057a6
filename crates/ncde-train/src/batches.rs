//! Which cases make up a step: a pure function of seed and step.
//!
//! ```text
//! epoch = step / batches,   order(epoch) = permutation(seed, epoch),   batch = the (step mod batches)-th piece of it
//! ```
//!
//! Where lengths differ, cases of about the same length share a batch: eight batches are drawn together, sorted by length, cut, and
//! shuffled again. Every epoch sees every case once.
//!
//! With `short_first` the first so many steps are eight stages, of which number `i` sees the `i/8` shortest cases alone: what has to be remembered for long is learned
//! where it is short.

use ncde_runtime::random::Stream;

/// How many batches are sorted together.
const POOL: usize = 8;

/// How many stages there are until all cases take part.
const STAGES: usize = 8;

/// The batches of one epoch after the other.
#[derive(Debug)]
pub(super) struct Batches {
    stream: Stream,
    batch: usize,
    /// Steps until all cases take part.
    short_first: usize,
    /// With their lengths; the shortest first where they come first.
    cases: Vec<(usize, usize)>,
    epoch: Option<(Epoch, Vec<Vec<usize>>)>,
}

/// One pass over the first so many cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Epoch {
    cases: usize,
    /// 1 to 7, or 0 where all take part.
    stage: usize,
    number: usize,
}

impl Batches {
    pub(super) fn new(seed: u64, batch: usize, short_first: usize, mut cases: Vec<(usize, usize)>) -> Self {
        if short_first > 0 {
            cases.sort_by_key(|&(_, length)| length);
        }
        Self { stream: Stream::new(seed, 3), batch, short_first, cases, epoch: None }
    }

    pub(super) fn size(&self) -> usize {
        self.batch
    }

    /// The epoch of a step, and its place there.
    fn epoch_of(&self, step: usize) -> (Epoch, usize) {
        let end_of = |stage: usize| (self.short_first as u128 * stage as u128 / STAGES as u128) as usize;
        let (stage, begin) = match (1..STAGES).find(|&stage| step < end_of(stage)) {
            Some(stage) => (stage, end_of(stage - 1)),
            // The last stage sees all, and goes on for ever.
            None => (0, end_of(STAGES - 1)),
        };
        let cases = if stage == 0 { self.cases.len() } else { (self.cases.len() * stage).div_ceil(STAGES) };
        let (batches, step) = (cases.div_ceil(self.batch), step - begin);
        (Epoch { cases, stage, number: step / batches }, step % batches)
    }

    pub(super) fn at(&mut self, step: usize) -> &[usize] {
        let (epoch, place) = self.epoch_of(step);
        if self.epoch.as_ref().is_none_or(|(own, _)| *own != epoch) {
            self.epoch = Some((epoch, self.draw(epoch)));
        }
        self.epoch.as_ref().map_or(&[], |(_, batches)| &batches[place])
    }

    fn draw(&self, epoch: Epoch) -> Vec<Vec<usize>> {
        let all = if epoch.stage == 0 { self.stream } else { self.stream.child(u64::MAX - epoch.stage as u64) };
        let stream = all.child(epoch.number as u64);
        let order = stream.permutation(epoch.cases);
        let mut batches: Vec<Vec<usize>> = Vec::with_capacity(epoch.cases.div_ceil(self.batch));
        for pool in order.chunks(POOL * self.batch) {
            let mut pool: Vec<(usize, usize)> = pool.iter().map(|&i| self.cases[i]).collect();
            pool.sort_by_key(|&(_, length)| length);
            batches.extend(pool.chunks(self.batch).map(|own| own.iter().map(|&(case, _)| case).collect()));
        }
        let order = stream.child(0).permutation(batches.len());
        order.into_iter().map(|i| std::mem::take(&mut batches[i])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_sees_every_case_once_and_any_step_can_be_asked_for() {
        let cases: Vec<(usize, usize)> = (0..103).map(|i| (i, 5 + i % 7)).collect();
        let mut batches = Batches::new(1, 10, 0, cases.clone());
        let first: Vec<Vec<usize>> = (0..22).map(|step| batches.at(step).to_vec()).collect();
        let mut seen: Vec<usize> = first[..11].concat();
        seen.sort_unstable();
        assert_eq!(seen, (0..103).collect::<Vec<_>>());
        assert_ne!(first[..11], first[11..]);
        let mut again = Batches::new(1, 10, 0, cases);
        assert_eq!(again.at(17), first[17]);
        assert_eq!(again.at(3), first[3]);
    }

    #[test]
    fn cases_of_a_batch_have_about_the_same_length() {
        let mut batches = Batches::new(1, 4, 0, (0..64).map(|i| (i, i)).collect());
        let mut spread = 0;
        for step in 0..16 {
            let own = batches.at(step);
            spread += own.iter().max().unwrap() - own.iter().min().unwrap();
        }
        assert!(spread / 16 < 16, "{spread}");
    }

    #[test]
    fn short_cases_come_first() {
        // The longest first, so that their order is not that of lengths.
        let cases: Vec<(usize, usize)> = (0..80).map(|i| (i, 100 - i)).collect();
        let mut batches = Batches::new(1, 10, 80, cases);
        for step in [0, 9, 10, 35, 69] {
            let longest = batches.at(step).iter().map(|&case| 100 - case).max().unwrap();
            assert!(longest <= 20 + 10 * (1 + step / 10), "step {step}: {longest}");
        }
        let mut last: Vec<usize> = (70..78).flat_map(|step| batches.at(step).to_vec()).collect();
        last.sort_unstable();
        assert_eq!(last, (0..80).collect::<Vec<_>>());
        let again = batches.at(35).to_vec();
        assert_eq!(Batches::new(1, 10, 80, (0..80).map(|i| (i, 100 - i)).collect()).at(35), again);
    }
}
