//! The signature of the path so far, up to a depth `N`; beyond the horizon the path before fades.
//!
//! ```text
//! S^k <- rho^k S^k,     S <- S (x) exp(dx)          words by length, then lexicographically; no leading 1
//! ```

/// The number of words of up to `depth` letters.
pub(crate) fn count(channels: usize, depth: usize) -> usize {
    (1..=depth as u32).map(|length| channels.saturating_pow(length)).fold(0, usize::saturating_add)
}

/// Takes what was added to each channel into the words.
pub(crate) fn push(words: &mut [f32], moved: &[f32], depth: usize, fade: f32) {
    let channels = moved.len();
    let level = |k: usize| count(channels, k - 1)..count(channels, k);
    if fade < 1.0 {
        (1..=depth).for_each(|k| words[level(k)].iter_mut().for_each(|word| *word *= fade.powi(k as i32)));
    }
    for k in (1..=depth).rev() {
        // S^k + sum_j S^j dx^(k - j) / (k - j)!, by Horner's rule.
        let mut tail: Vec<f32> = moved.iter().map(|x| x / k as f32).collect();
        for j in 1..k {
            tail.iter_mut().zip(&words[level(j)]).for_each(|(tail, word)| *tail += word);
            let share = 1.0 / (k - j) as f32;
            tail = tail.iter().flat_map(|tail| moved.iter().map(move |x| tail * x * share)).collect();
        }
        words[level(k)].iter_mut().zip(tail).for_each(|(word, tail)| *word += tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_corners_have_the_words_of_their_path() {
        // Right, then up: S^(1, 2) = 1, S^(2, 1) = 0, S^(1, 1, 2) = 1 / 2.
        let mut words = vec![0.0; count(2, 3)];
        push(&mut words, &[1.0, 0.0], 3, 1.0);
        push(&mut words, &[0.0, 1.0], 3, 1.0);
        let sixth = 1.0 / 6.0;
        let wanted = [1.0, 1.0, 0.5, 1.0, 0.0, 0.5, sixth, 0.5, 0.0, 0.5, 0.0, 0.0, 0.0, sixth];
        assert!(words.iter().zip(wanted).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-6), "{words:?}");
        // A path that fades by half before it goes on is one of half the size.
        let (mut faded, mut half) = (words.clone(), vec![0.0; 14]);
        push(&mut faded, &[0.3, -0.2], 3, 0.5);
        for moved in [[0.5, 0.0], [0.0, 0.5], [0.3, -0.2]] {
            push(&mut half, &moved, 3, 1.0);
        }
        assert!(faded.iter().zip(&half).all(|(a, b)| (a - b).abs() < 1e-6), "{faded:?} {half:?}");
        // Straight on: powers of the increment.
        assert_eq!(count(1, 4), 4);
    }
}
