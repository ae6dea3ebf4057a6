//! Words and their answers, against plain definitions.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::HashSet;

use ncde_experiment::Shuffle;
use ncde_experiment::token::{A5, Formal, Group, Language, Lengths, Word, WordSource};
use ncde_runtime::random::Stream;

#[test]
fn a5_is_the_group_of_even_permutations() {
    let group = Group::a5();
    let elements = group.elements();
    assert_eq!(elements.len(), 60);
    // In lexicographic order, so all are distinct.
    assert!(elements.windows(2).all(|pair| pair[0] < pair[1]));
    // A permutation is even if it is a product of an even number of swaps: five less its cycles.
    for p in elements {
        let mut seen = [false; 5];
        let mut cycles = 0;
        for start in 0..5 {
            let mut i = start;
            cycles += usize::from(!seen[start]);
            while !seen[i] {
                seen[i] = true;
                i = usize::from(p[i]);
            }
        }
        assert_eq!((5 - cycles) % 2, 0, "{p:?}");
    }
    for p in 0..60_u8 {
        assert_eq!([group.product(p, 0), group.product(0, p)], [p, p]);
        assert_eq!((0..60).filter(|&q| group.product(p, q) == 0).count(), 1);
        for q in 0..60_u8 {
            let pq = group.product(p, q);
            let [p_, q_] = [p, q].map(|e| elements[usize::from(e)]);
            assert_eq!(elements[usize::from(pq)], std::array::from_fn(|i| p_[usize::from(q_[i])]));
            for r in 0..60_u8 {
                assert_eq!(group.product(pq, r), group.product(p, group.product(q, r)));
            }
        }
    }
    // It is not commutative, and has elements of orders 1, 2, 3 and 5: 1, 15, 20 and 24 of them.
    let order = |p: u8| (1..=5).find(|&n| (0..n).fold(0, |so_far, _| group.product(so_far, p)) == 0).unwrap();
    let mut counts = [0; 6];
    (0..60).for_each(|p| counts[order(p)] += 1);
    assert_eq!(counts, [0, 1, 15, 20, 0, 24]);
}

/// The product of the first letters, from the permutations themselves.
fn naive(word: &[u8]) -> u8 {
    let group = Group::a5();
    let mut place = [0, 1, 2, 3, 4_u8];
    for &x in word.iter().rev() {
        place = place.map(|i| group.elements()[usize::from(x)][usize::from(i)]);
    }
    group.elements().iter().position(|own| *own == place).unwrap() as u8
}

#[test]
fn words_of_a_length_are_distinct_and_in_one_part() {
    for length in [3, 4, 20] {
        let source = A5::new(Lengths::One(length), 64, 1234, 7);
        let mut trained: HashSet<Vec<u8>> = HashSet::new();
        for step in 0..40 {
            let groups = source.batch(step);
            assert_eq!([groups[0].len(), groups[1].len()], [64, 25]);
            for (i, word) in groups[0].iter().enumerate() {
                assert!(word.tokens.len() == length && trained.insert(word.tokens.clone()), "{word:?}");
                // Every answer of some words, the last of all.
                for k in if i < 4 { 1 } else { length }..=length {
                    assert_eq!(word.answers[k - 1], naive(&word.tokens[..k]));
                }
            }
            assert!(groups[1].iter().all(|word| word.tokens.len() == 2 && word.answers[1] == naive(&word.tokens)));
        }
        let held_out: HashSet<Vec<u8>> = (0..2000).map(|i| source.held_out(i).tokens).collect();
        assert!(held_out.len() == 2000 && held_out.is_disjoint(&trained), "{length}");
        // Which are held out does not depend on the seed of a run; the order does.
        let other = A5::new(Lengths::One(length), 64, 1234, 8);
        assert!(other.held_out(5) == source.held_out(5) && other.batch(0) != source.batch(0));
        assert_eq!(source.batch(3), A5::new(Lengths::One(length), 64, 1234, 7).batch(3));
        assert_ne!(source.held_out(5), A5::new(Lengths::One(length), 64, 1235, 7).held_out(5));
    }
}

#[test]
fn an_epoch_sees_every_word_of_length_three_once() {
    let source = A5::new(Lengths::One(3), 1728, 1234, 7);
    let mut seen = HashSet::new();
    for step in 0..100 {
        for word in &source.batch(step)[0] {
            assert!(seen.insert(word.tokens.clone()));
        }
    }
    assert_eq!(seen.len(), 172_800);
    (0..43_200).for_each(|i| assert!(seen.insert(source.held_out(i).tokens)));
    assert_eq!(seen.len(), 216_000);
    // The next epoch has the same words in another order.
    let again = &source.batch(100)[0];
    assert!(again.iter().all(|word| seen.contains(&word.tokens)));
    assert_ne!(*again, source.batch(0)[0]);
}

#[test]
fn uniform_words_have_all_lengths_and_letters() {
    let source = A5::new(Lengths::Uniform { train: [3, 6], held_out: [7, 8] }, 500, 1234, 1);
    let words = source.batch(0).concat();
    let mut letters = [0; 60];
    let mut lengths = [0; 9];
    for word in &words {
        lengths[word.tokens.len()] += 1;
        word.tokens.iter().for_each(|&x| letters[usize::from(x)] += 1);
        assert_eq!(word.answers.last(), Some(&naive(&word.tokens)));
    }
    assert!(lengths[3..7].iter().all(|&count| count > 80), "{lengths:?}");
    assert!(letters.iter().all(|&count| count > 10), "{letters:?}");
    assert!((0..50).map(|i| source.held_out(i).tokens.len()).all(|length| length == 7 || length == 8));
}

/// The value of an expression, by splitting it at its operators.
fn expression(tokens: &[u8]) -> i64 {
    let mut sum = 0;
    let mut sign = 1;
    let mut product: Option<i64> = None;
    for &token in &tokens[..tokens.len() - 1] {
        match token {
            5 | 6 => {
                sum += sign * product.take().unwrap();
                sign = if token == 5 { 1 } else { -1 };
            }
            7 => {}
            digit => product = Some(product.map_or(i64::from(digit), |so_far| so_far * i64::from(digit) % 5)),
        }
    }
    (sum + sign * product.unwrap()).rem_euclid(5)
}

#[test]
fn languages_answer_what_they_say() {
    for (name, language) in Language::ALL {
        let source = Formal { language, batch: 300, seed: 3, train: [3, 40], held_out: [40, 256] };
        let mut answers = vec![0; source.classes()];
        for Word { tokens, answers: own } in &source.batch(11).concat() {
            assert_eq!(own.len(), 1);
            answers[usize::from(own[0])] += 1;
            let wanted = match language {
                Language::CycleNavigation => tokens.iter().map(|&t| [0, 1, -1_i64][usize::from(t)]).sum::<i64>().rem_euclid(5),
                Language::EvenPairs => {
                    let count = |pair: [u8; 2]| tokens.windows(2).filter(|own| *own == pair).count();
                    i64::from(count([0, 1]) == count([1, 0]))
                }
                Language::ModularArithmetic => {
                    assert!(tokens.len() % 2 == 0 && tokens.last() == Some(&8));
                    assert!(tokens.iter().enumerate().all(|(t, &x)| t + 1 == tokens.len() || (x < 5) == (t % 2 == 0)));
                    expression(tokens)
                }
                Language::Parity => 1 - tokens.iter().map(|&t| i64::from(t)).sum::<i64>() % 2,
            };
            assert_eq!(i64::from(own[0]), wanted, "{name} {tokens:?}");
            assert!(tokens.iter().all(|&token| usize::from(token) < source.vocabulary()));
            assert!((3..=40).contains(&tokens.len()));
        }
        // No answer is rare.
        let fair = 300 / source.classes();
        assert!(answers.iter().all(|&count| count > fair / 2), "{name} {answers:?}");
        assert!((0..200).all(|i| (40..=256).contains(&source.held_out(i).tokens.len())));
        assert_eq!(source.batch(4), Formal { ..source }.batch(4));
        assert_ne!(source.batch(4), Formal { seed: 4, ..source }.batch(4));
    }
}

#[test]
fn arithmetic_has_its_precedence() {
    // 2 + 3 * 4 - 1 = 13.
    assert_eq!(Language::ModularArithmetic.answer(&[2, 5, 3, 7, 4, 6, 1, 8]), 3);
    // 1 - 2 * 3 * 4 = -23.
    assert_eq!(Language::ModularArithmetic.answer(&[1, 6, 2, 7, 3, 7, 4, 8]), 2);
}

#[test]
fn orders_hold_everything_once_and_are_fair() {
    for n in [1, 2, 3, 60, 1000, 3600] {
        let order = Shuffle::new(n, Stream::new(5, 6));
        let mut seen: Vec<u128> = (0..n).map(|i| order.at(i)).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..n).collect::<Vec<_>>());
    }
    // Of huge ones, numbers are within range and spread over it.
    let n = 60_u128.pow(20);
    let order = Shuffle::new(n, Stream::new(5, 6));
    let below = (0..1000).filter(|&i| order.at(i) < n / 2).count();
    assert!((0..1000).all(|i| order.at(i) < n) && (400..600).contains(&below), "{below}");
    // What comes first is as often any of five things.
    let mut first = [0; 5];
    (0..5000).for_each(|seed| first[Shuffle::new(5, Stream::new(seed, 0)).at(0) as usize] += 1);
    assert!(first.iter().all(|&count| (880..1120).contains(&count)), "{first:?}");
}
