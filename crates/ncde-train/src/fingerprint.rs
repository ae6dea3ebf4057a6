//! A fingerprint of data: the same for the same series and labels, whatever the order of the cases; another one for any other.

use ncde_data::{Dataset, Targets};

use super::Parts;

/// A hash of words of 64 bits: `h <- rotate((h xor word) * odd)`, mixed at the end (the finaliser of `SplitMix64`).
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25).rotate_left(29);
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        for piece in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.word(u64::from_le_bytes(word));
        }
    }

    /// Every NaN is the same one: a missing value.
    fn numbers(&mut self, values: &[f64]) {
        self.word(values.len() as u64);
        values.iter().for_each(|x| self.word(if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }));
    }

    fn mixed(self) -> u64 {
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

/// The fingerprint, as 16 hexadecimal digits: of series, labels, and which case is for what.
pub(super) fn of(data: &Dataset, parts: &Parts) -> String {
    let mut part = vec![0_u64; data.cases.len()];
    for (number, cases) in [&parts.train, &parts.validation, &parts.test].into_iter().enumerate() {
        cases.iter().for_each(|&i| part[i] |= 1 << number);
    }
    let mut head = Hash::new();
    for names in [&data.channels, &data.statics, &data.targets.classes().to_vec()] {
        head.word(names.len() as u64);
        names.iter().for_each(|name| head.text(name));
    }
    let case = |i: usize| {
        let (mut own, case) = (Hash::new(), &data.cases[i]);
        own.text(&case.id);
        own.word(part[i]);
        own.numbers(&case.times);
        own.numbers(&case.values);
        own.numbers(&case.statics);
        match &data.targets {
            Targets::None => {}
            Targets::Classes { of, .. } => own.word(of[i] as u64),
            Targets::Values { of, .. } => own.numbers(&of[i..=i]),
            Targets::ClassSteps { of, .. } => {
                of[i].iter().for_each(|class| own.word(class.map_or(u64::MAX, |class| class as u64)));
            }
            Targets::ValueSteps { of, .. } => own.numbers(&of[i]),
        }
        own.mixed()
    };
    head.word(data.cases.len() as u64);
    head.word((0..data.cases.len()).map(case).fold(0, u64::wrapping_add));
    format!("{:016x}", head.mixed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_shows_but_the_order_of_cases() {
        let data = crate::demo::turns(0);
        let parts = Parts { train: (0..200).collect(), validation: Vec::new(), test: (200..300).collect() };
        let wanted = of(&data, &parts);
        let order: Vec<usize> = (0..data.cases.len()).rev().collect();
        let turned = Parts { train: (100..300).collect(), validation: Vec::new(), test: (0..100).collect() };
        assert_eq!(of(&data.subset(&order), &turned), wanted);
        assert_ne!(of(&data, &turned), wanted);
        let changed = |change: &dyn Fn(&mut Dataset)| {
            let mut other = data.clone();
            change(&mut other);
            assert_ne!(of(&other, &parts), wanted);
        };
        changed(&|data| data.cases[7].values[3] += 1e-12);
        changed(&|data| data.cases[7].times[0] -= 1e-12);
        changed(&|data| data.cases[299].id.push('x'));
        changed(&|data| data.channels.swap(0, 1));
        changed(&|data| data.cases[200].statics.push(1.0));
        changed(&|data| {
            if let Targets::Classes { of, .. } = &mut data.targets {
                of[5] = (of[5] + 1) % 3;
            }
        });
    }
}
