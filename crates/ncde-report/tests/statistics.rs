//! Tests over tables of models and data sets: values of SciPy, the thesis's own, and what callers get wrong.

use ncde_report::statistics::{Alternative, Better, Comparison, Error, Method, average_ranks, friedman, holm, wilcoxon};
use serde::Deserialize;

/// A table, and what SciPy and statsmodels say of it; `fixtures/statistics.py` made them.
#[derive(Deserialize)]
struct Known {
    scores: Vec<Vec<f64>>,
    ranks: Vec<f64>,
    friedman: [f64; 2],
    pairs: Vec<f64>,
    holm: Vec<f64>,
}

fn close(own: f64, wanted: f64, what: &str) {
    assert!((own - wanted).abs() <= 1e-11 * wanted.abs().max(1e-3), "{what}: {own} instead of {wanted}");
}

#[test]
fn values_are_those_of_scipy() {
    let known: Vec<Known> = serde_json::from_str(include_str!("fixtures/statistics.json")).unwrap();
    assert_eq!(known.len(), 30);
    for (at, own) in known.iter().enumerate() {
        let name = |what: &str| format!("table {at}, {what}");
        let ranks = average_ranks(&own.scores, Better::More).unwrap();
        ranks.iter().zip(&own.ranks).for_each(|(rank, wanted)| close(*rank, *wanted, &name("rank")));
        let test = friedman(&own.scores).unwrap();
        close(test.statistic, own.friedman[0], &name("Friedman"));
        close(test.p, own.friedman[1], &name("Friedman's p"));
        let mut wanted = own.pairs.iter();
        for (i, x) in own.scores.iter().enumerate() {
            for y in &own.scores[i + 1..] {
                let wanted = *wanted.next().unwrap();
                close(wilcoxon(x, y, Alternative::TwoSided).unwrap().p, wanted, &name("Wilcoxon's p"));
                close(wilcoxon(y, x, Alternative::TwoSided).unwrap().p, wanted, &name("Wilcoxon's p, turned"));
            }
        }
        holm(&own.pairs).iter().zip(&own.holm).for_each(|(p, wanted)| close(*p, *wanted, &name("Holm")));
        // Put together, in the order of ranks.
        let whole = Comparison::of(&own.scores, Better::More).unwrap();
        let sorted = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values
        };
        let corrected = sorted(whole.pairs.iter().map(|pair| pair.corrected).collect());
        corrected.iter().zip(sorted(own.holm.clone())).for_each(|(p, wanted)| close(*p, wanted, &name("pairs")));
    }
}

#[test]
fn methods_are_chosen_as_scipy_does() {
    let method = |x: &[f64]| wilcoxon(x, &vec![0.0; x.len()], Alternative::TwoSided).unwrap().method;
    let to = |n: i32| (1..=n).map(f64::from).collect::<Vec<_>>();
    let tied = |n: i32| [to(n - 1), vec![1.0]].concat();
    let zero = |n: i32| [to(n - 1), vec![0.0]].concat();
    assert_eq!([method(&to(50)), method(&tied(13)), method(&zero(13))], [Method::Exact; 3]);
    assert_eq!([method(&to(51)), method(&tied(14)), method(&zero(14))], [Method::Normal; 3]);
}

/// Accuracies of seven models on six data sets, and what the thesis says of them in its text. Two that its table rounds to 47.7 have a digit more, from the
/// results beside its code.
#[test]
fn the_thesiss_tests_are_found_again() {
    let scores = [
        [87.8, 21.5, 78.4, 48.4, 82.6, 51.2],
        [81.1, 24.1, 77.7, 47.74, 89.9, 50.5],
        [85.0, 26.4, 76.5, 51.3, 82.8, 49.9],
        [70.9, 27.9, 76.2, 47.66, 80.7, 48.2],
        [75.0, 29.9, 73.9, 49.5, 79.8, 53.0],
        [83.9, 25.3, 72.9, 47.0, 80.9, 53.7],
        [85.6, 34.4, 75.2, 53.7, 83.1, 53.7],
    ]
    .map(Vec::from);
    let own = Comparison::of(&scores, Better::More).unwrap();
    assert!((own.friedman.statistic - 9.69).abs() < 0.005 && (own.friedman.p - 0.138).abs() < 5e-4, "{:?}", own.friedman);
    let published = [3.5, 4.0, 3.5, 5.5, 4.5, 4.9, 2.1];
    assert!(own.ranks.iter().zip(published).all(|(own, published)| (own - published).abs() <= 0.0501), "{:?}", own.ranks);
    // Log-NCDE against NCDE and NRDE, one-sided.
    let one = |other: usize| wilcoxon(&scores[6], &scores[other], Alternative::Greater).unwrap().p;
    assert_eq!(holm(&[one(4), one(5)]), [0.03125, 0.03125]);
    assert_eq!(wilcoxon(&scores[4], &scores[6], Alternative::Less).unwrap().p, 1.0 / 64.0);
    // Twenty-one pairs on six data sets: nothing could be told apart, and that is said.
    assert!(!own.can_differ() && own.cliques == [[0, 6]]);
    let names = ["LRU", "S5", "S6", "Mamba", "NCDE", "NRDE", "Log-NCDE"];
    let words = own.words(&names);
    assert!(words[0].contains("Log-NCDE 2.08, ") && words[1].contains("p = 0.1383: no difference"), "{words:?}");
    assert!(words[2].contains("cannot tell any pair apart") && words[2].contains("0.0312"), "{words:?}");
}

#[test]
fn models_that_differ_are_told_apart() {
    // Over twelve data sets: the first two alike, the third worse than both on all.
    let scores: Vec<Vec<f64>> = [[3.0, 2.9], [2.9, 3.0], [1.0, 1.1]]
        .iter()
        .map(|pair| (0..12).map(|set| pair[set % 2] + [0.01, 0.02, 0.03][set % 3] * set as f64).collect())
        .collect();
    let own = Comparison::of(&scores, Better::More).unwrap();
    assert_eq!((own.order.last(), own.cliques.as_slice()), (Some(&2), [[0, 1]].as_slice()));
    assert!(own.friedman.p < 1e-3 && own.pairs.iter().filter(|pair| pair.differs()).count() == 2);
    // Where less is better the order is the opposite.
    let turned = Comparison::of(&scores, Better::Less).unwrap();
    assert_eq!((turned.order[0], turned.friedman), (2, own.friedman));
    assert!(own.words(&["a", "b", "c"])[2].contains("2 differ: "), "{:?}", own.words(&["a", "b", "c"]));
}

#[test]
fn equal_models_do_not_differ() {
    let same = vec![vec![1.0; 20]; 3];
    let own = Comparison::of(&same, Better::More).unwrap();
    assert_eq!((own.friedman.statistic, own.friedman.p, own.ranks), (0.0, 1.0, vec![2.0; 3]));
    assert!(own.pairs.iter().all(|pair| pair.test.p == 1.0));
}

#[test]
fn what_cannot_be_tested_is_refused() {
    let row = |n: usize| vec![1.0; n];
    assert_eq!(friedman(&[row(3), row(3)]), Err(Error::Few { what: "models", seen: 2, wanted: 3 }));
    assert_eq!(friedman(&[row(1), row(1), row(1)]), Err(Error::Few { what: "data sets", seen: 1, wanted: 2 }));
    assert_eq!(friedman(&[row(3), row(2), row(3)]), Err(Error::Ragged { model: 1, seen: 2, wanted: 3 }));
    let holed = [row(2), row(2), vec![1.0, f64::NAN]];
    assert_eq!(friedman(&holed), Err(Error::NotFinite { model: 2, set: 1 }));
    assert!(wilcoxon(&[], &[], Alternative::TwoSided).is_err() && wilcoxon(&[1.0], &[], Alternative::TwoSided).is_err());
    assert!(average_ranks(&[], Better::Less).is_err() && holm(&[]).is_empty());
    assert!(friedman(&holed).unwrap_err().to_string().contains("leave the model or the data set out"));
}
