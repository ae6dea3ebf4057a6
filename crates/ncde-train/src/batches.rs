//! Which cases make up a step: a pure function of seed and step.
//!
//! ```text
//! epoch = step / batches,   order(epoch) = permutation(seed, epoch),   batch = the (step mod batches)-th piece of it
//! ```
//!
//! Where lengths differ, cases of about the same length share a batch: eight batches are drawn together, sorted by length, cut, and
//! shuffled again. Every epoch sees every case once.

use ncde_runtime::random::Stream;

/// How many batches are sorted together.
const POOL: usize = 8;

/// The batches of one epoch after the other.
#[derive(Debug)]
pub(super) struct Batches {
    stream: Stream,
    batch: usize,
    cases: Vec<(usize, usize)>,
    epoch: Option<(usize, Vec<Vec<usize>>)>,
}

impl Batches {
    pub(super) fn new(seed: u64, batch: usize, cases: Vec<(usize, usize)>) -> Self {
        Self { stream: Stream::new(seed, 3), batch, cases, epoch: None }
    }

    pub(super) fn size(&self) -> usize {
        self.batch
    }

    pub(super) fn count(&self) -> usize {
        self.cases.len().div_ceil(self.batch)
    }

    pub(super) fn at(&mut self, step: usize) -> &[usize] {
        let count = self.count();
        let (epoch, place) = (step / count, step % count);
        if self.epoch.as_ref().is_none_or(|(own, _)| *own != epoch) {
            self.epoch = Some((epoch, self.draw(epoch)));
        }
        self.epoch.as_ref().map_or(&[], |(_, batches)| &batches[place])
    }

    fn draw(&self, epoch: usize) -> Vec<Vec<usize>> {
        let stream = self.stream.child(epoch as u64);
        let order = stream.permutation(self.cases.len());
        let mut batches: Vec<Vec<usize>> = Vec::with_capacity(self.count());
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
        let mut batches = Batches::new(1, 10, cases.clone());
        let first: Vec<Vec<usize>> = (0..22).map(|step| batches.at(step).to_vec()).collect();
        let mut seen: Vec<usize> = first[..11].concat();
        seen.sort_unstable();
        assert_eq!(seen, (0..103).collect::<Vec<_>>());
        assert_ne!(first[..11], first[11..]);
        let mut again = Batches::new(1, 10, cases);
        assert_eq!(again.at(17), first[17]);
        assert_eq!(again.at(3), first[3]);
    }

    #[test]
    fn cases_of_a_batch_have_about_the_same_length() {
        let mut batches = Batches::new(1, 4, (0..64).map(|i| (i, i)).collect());
        let mut spread = 0;
        for step in 0..16 {
            let own = batches.at(step);
            spread += own.iter().max().unwrap() - own.iter().min().unwrap();
        }
        assert!(spread / 16 < 16, "{spread}");
    }
}
