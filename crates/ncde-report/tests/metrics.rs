//! Metrics against values by hand and of scikit-learn.

use ncde_report::metrics::{
    accuracy, auroc, balanced_accuracy, confusion, higher_is_better, log_loss, macro_f1, mae, mse, predicted, r2, softmax,
    spread, wilson,
};
use ncde_report::{Classification, Metrics, Regression};

fn close(seen: f64, wanted: f64) {
    assert!((seen - wanted).abs() <= 1e-13 * wanted.abs().max(1.0), "seen {seen}, wanted {wanted}");
}

/// Probabilities of two classes from those of the second.
fn binary(second: &[f64]) -> Vec<f64> {
    second.iter().flat_map(|p| [1.0 - p, *p]).collect()
}

/// scikit-learn 1.9.1, numpy 2:
///
/// ```python
/// from sklearn.metrics import *
/// y = [0, 1, 1, 0, 1, 0, 1, 1]; s = [.1, .4, .35, .35, .8, .6, .9, .35]
/// p = np.array([[1 - a, a] for a in s]); h = p.argmax(1)
/// print(accuracy_score(y, h), balanced_accuracy_score(y, h), roc_auc_score(y, s), f1_score(y, h, average="macro"),
///       log_loss(y, p), confusion_matrix(y, h))
/// ```
#[test]
fn two_classes_are_those_of_scikit_learn() {
    let probabilities = binary(&[0.1, 0.4, 0.35, 0.35, 0.8, 0.6, 0.9, 0.35]);
    let metrics = Classification::of(&probabilities, 2, &[0, 1, 1, 0, 1, 0, 1, 1]);
    assert_eq!((metrics.cases, metrics.correct()), (8, 4));
    assert_eq!(metrics.confusion, [[2, 1], [3, 2]]);
    close(metrics.accuracy, 0.5);
    close(metrics.balanced_accuracy, 0.533_333_333_333_333_3);
    close(metrics.auroc.unwrap(), 0.733_333_333_333_333_4);
    close(metrics.f1, 0.5);
    close(metrics.loss, 0.599_609_151_433_497_8);
}

/// scikit-learn 1.9.1, as above with
///
/// ```python
/// y = [0, 1, 2, 2, 1, 0, 2]
/// p = np.array([[.7, .2, .1], [.3, .4, .3], [.2, .2, .6], [.5, .1, .4], [.25, .5, .25], [.3, .6, .1], [.1, .3, .6]])
/// roc_auc_score(y, p, multi_class="ovr", average="macro")
/// ```
#[test]
fn three_classes_are_those_of_scikit_learn() {
    let probabilities =
        [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6], [0.5, 0.1, 0.4], [0.25, 0.5, 0.25], [0.3, 0.6, 0.1], [0.1, 0.3, 0.6]];
    let truth = [0, 1, 2, 2, 1, 0, 2];
    let metrics = Classification::of(&probabilities.concat(), 3, &truth);
    assert_eq!(metrics.confusion, [[1, 1, 0], [0, 2, 0], [1, 0, 2]]);
    close(metrics.accuracy, 0.714_285_714_285_714_3);
    close(metrics.balanced_accuracy, 0.722_222_222_222_222_2);
    close(metrics.auroc.unwrap(), 0.883_333_333_333_333_3);
    close(metrics.f1, 0.7);
    close(metrics.loss, 0.729_718_234_300_700_7);

    // Logits that differ from the logarithms of these by a number a row have the same metrics (but rounding breaks the
    // ties that the area counts).
    let logits: Vec<f64> = probabilities.iter().enumerate().flat_map(|(row, p)| p.map(|p| p.ln() + 100.0 * row as f64)).collect();
    let same = Classification::of(&softmax(&logits, 3), 3, &truth);
    assert_eq!(same.confusion, metrics.confusion);
    close(same.loss, metrics.loss);
    close(same.f1, metrics.f1);
}

/// scikit-learn 1.9.1: `y = [0, 0, 1]; h = [0, 2, 2]`, class 2 is predicted but absent, class 3 neither.
#[test]
fn absent_classes_are_treated_as_scikit_learn_does() {
    let counts = vec![vec![1, 0, 1, 0], vec![0, 0, 1, 0], vec![0; 4], vec![0; 4]];
    close(balanced_accuracy(&counts).unwrap(), 0.25);
    close(macro_f1(&counts).unwrap(), 0.222_222_222_222_222_2);
    close(accuracy(&counts).unwrap(), 1.0 / 3.0);
}

#[test]
fn auroc_counts_pairs() {
    let truth = [0, 1, 0, 1, 1];
    // By hand: positives 0.5, 0.5, 0.9 against negatives 0.5, 0.7. Pairs in order 2, ties 2 of 6.
    close(auroc(&binary(&[0.5, 0.5, 0.7, 0.5, 0.9]), 2, &truth).unwrap(), (2.0 + 0.5 * 2.0) / 6.0);
    assert_eq!(auroc(&binary(&[0.1, 0.8, 0.2, 0.7, 0.9]), 2, &truth), Some(1.0));
    assert_eq!(auroc(&binary(&[0.9, 0.1, 0.8, 0.2, 0.3]), 2, &truth), Some(0.0));
    assert_eq!(auroc(&binary(&[0.4; 5]), 2, &truth), Some(0.5));
    assert_eq!(auroc(&binary(&[0.1, 0.2]), 2, &[1, 1]), None);
    // Of three classes one is absent: the mean is over the two others.
    let rows = [0.8, 0.1, 0.1, 0.3, 0.6, 0.1, 0.2, 0.7, 0.1];
    assert_eq!(auroc(&rows, 3, &[0, 1, 1]), Some(1.0));
}

#[test]
fn auroc_agrees_with_counting_all_pairs() {
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for cases in 2..40 {
        let scores: Vec<f64> = (0..cases).map(|_| draw(8) as f64 / 8.0).collect();
        let truth: Vec<usize> = (0..cases).map(|_| draw(2) as usize).collect();
        let (mut pairs, mut won) = (0.0, 0.0);
        for i in (0..cases).filter(|i| truth[*i] == 1) {
            for j in (0..cases).filter(|j| truth[*j] == 0) {
                pairs += 1.0;
                won += if scores[i] > scores[j] {
                    1.0
                } else if scores[i] == scores[j] {
                    0.5
                } else {
                    0.0
                };
            }
        }
        match auroc(&binary(&scores), 2, &truth) {
            Some(area) => close(area, won / pairs),
            None => assert_eq!(pairs, 0.0),
        }
    }
}

/// scikit-learn 1.9.1: `f = [2.5, 0.0, 2.1, 7.8]; y = [3.0, -0.5, 2.0, 7.0]`, `mean_squared_error(y, f)`,
/// `mean_absolute_error(y, f)`, `r2_score(y, f)`; and `log_loss([0, 1], [[1., 0.], [1., 0.]])`.
#[test]
fn numbers_are_those_of_scikit_learn() {
    let metrics = Regression::of(&[2.5, 0.0, 2.1, 7.8], &[3.0, -0.5, 2.0, 7.0]);
    close(metrics.mse, 0.287_5);
    close(metrics.mae, 0.475);
    close(metrics.r2.unwrap(), 0.960_599_571_734_475_4);
    close(log_loss(&[1.0, 0.0, 1.0, 0.0], 2, &[0, 1]).unwrap(), 18.021_826_694_558_577);
}

#[test]
fn r2_is_undefined_without_variance() {
    assert_eq!(r2(&[1.0, 2.0], &[0.1, 0.1]), None);
    // The mean of these three is off by a rounding error, and so they seem to vary.
    assert_eq!(r2(&[1.0, 2.0, 3.0], &[0.1, 0.1, 0.1]), None);
    assert_eq!(r2(&[1.0], &[3.0]), None);
    assert_eq!(r2(&[f64::NAN, 1.0], &[1.0, 2.0]), None);
    assert_eq!(r2(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(1.0));
}

/// `scipy` 1.17.1: `binomtest(correct, cases).proportion_ci(method="wilson")`.
#[test]
fn wilson_intervals_are_those_of_scipy() {
    let golden = [
        (8, 10, 0.490_162_471_536_641_8, 0.943_317_848_545_624_8),
        (0, 10, 0.0, 0.277_532_799_862_889_26),
        (10, 10, 0.722_467_200_137_110_9, 1.0),
        (372, 400, 0.900_691_053_572_249_5, 0.951_128_373_300_255_5),
    ];
    for (correct, cases, low, high) in golden {
        let interval = wilson(correct, cases).unwrap();
        close(interval.low, low);
        close(interval.high, high);
    }
    assert_eq!((wilson(0, 0), wilson(2, 1)), (None, None));
}

/// `scipy` 1.17.1: `scipy.stats.t.ppf(0.975, freedom)`.
#[test]
fn intervals_of_means_use_the_t_distribution() {
    let golden = [
        (1, 12.706_204_736_174_694),
        (2, 4.302_652_729_749_462),
        (3, 3.182_446_305_283_707_8),
        (4, 2.776_445_105_197_793_4),
        (9, 2.262_157_162_798_205),
        (10, 2.228_138_851_986_274),
        (29, 2.045_229_642_132_703),
        (1000, 1.962_339_080_826_408_3),
    ];
    for (freedom, quantile) in golden {
        // Values -1, 1, 0, 0, ... have mean 0 and variance 2 / freedom.
        let mut values = vec![0.0; freedom + 1];
        (values[0], values[1]) = (-1.0, 1.0);
        let spread = spread(&values).unwrap();
        let deviation = (2.0 / freedom as f64).sqrt();
        let half = quantile * deviation / (freedom as f64 + 1.0).sqrt();
        assert!((spread.half.unwrap() / half - 1.0).abs() < 1e-11, "{freedom}: {:?} {half}", spread.half);
    }
    let single = spread(&[0.5]).unwrap();
    assert_eq!((single.mean, single.half), (0.5, None));
    assert_eq!((spread(&[]), spread(&[1.0, f64::NAN])), (None, None));
}

#[test]
fn nothing_gives_nothing_and_nobody_panics() {
    let empty = Classification::of(&[], 3, &[]);
    assert_eq!((empty.cases, empty.auroc, empty.confusion.len()), (0, None, 3));
    assert_eq!((log_loss(&[], 2, &[]), accuracy(&[]), balanced_accuracy(&[]), macro_f1(&[])), (None, None, None, None));
    assert_eq!((mse(&[], &[]), mae(&[], &[]), r2(&[], &[])), (None, None, None));
    for metrics in [Metrics::Classification(empty), Metrics::Regression(Regression::of(&[], &[]))] {
        assert!(metrics.headline().1.is_finite());
        assert!(metrics.names().iter().all(|name| metrics.get(name).is_none()));
    }
    assert_eq!(Classification::of(&[0.5], 0, &[0]).cases, 0);
    assert_eq!(Classification::of(&[1.0, 1.0], 1, &[0, 0]).accuracy, 1.0);
    // Of two rows and a half, with truths of which one is no class, one case counts.
    assert_eq!(Classification::of(&[0.5, 0.5, 0.1, 0.9, 0.3], 2, &[7, 1, 0]).confusion, [[0, 0], [0, 1]]);
    assert_eq!(Regression::of(&[1.0, 2.0], &[1.0]).cases, 1);
    assert_eq!(softmax(&[], 0), [0.0; 0]);
    // A table that is not square.
    let ragged = vec![vec![3], vec![1], vec![]];
    assert_eq!((accuracy(&ragged), balanced_accuracy(&ragged)), (Some(0.75), Some(0.5)));
    close(macro_f1(&ragged).unwrap(), 0.5 * (6.0 / 7.0));
}

#[test]
fn what_is_not_a_number_is_never_the_likeliest() {
    let nan = f64::NAN;
    assert_eq!([predicted(&[nan, 0.1, 0.4]), predicted(&[nan, nan]), predicted(&[0.5, 0.5])], [2, 0, 0]);
    assert_eq!(confusion(&[nan, 0.1, 0.2, nan], 2, &[0, 0]), [[1, 1], [0, 0]]);
    let diverged = Classification::of(&[nan; 6], 3, &[0, 1]);
    close(diverged.loss, -f64::EPSILON.ln());
    assert!(diverged.auroc.unwrap().is_finite());
}

#[test]
fn json_holds_no_number_that_is_none() {
    let diverged = Metrics::Regression(Regression::of(&[f64::NAN, 1.0], &[0.0, 1.0]));
    let text = serde_json::to_string(&diverged).unwrap();
    assert_eq!(text, r#"{"cases":2,"mse":null,"mae":null,"r2":null}"#);
    match serde_json::from_str(&text).unwrap() {
        Metrics::Regression(read) => assert!(read.cases == 2 && read.mse.is_nan() && read.r2.is_none()),
        read => panic!("{read:?}"),
    }
    let metrics = Metrics::Classification(Classification::of(&binary(&[0.25, 0.75]), 2, &[0, 1]));
    assert_eq!(serde_json::from_str::<Metrics>(&serde_json::to_string(&metrics).unwrap()).unwrap(), metrics);
}

#[test]
fn metrics_are_found_by_their_names() {
    let classes = Metrics::Classification(Classification::of(&binary(&[0.25, 0.75, 0.75]), 2, &[0, 1, 0]));
    assert_eq!(classes.headline(), ("accuracy", 2.0 / 3.0));
    assert!(classes.names().iter().all(|name| classes.get(name).is_some()));
    assert_eq!(classes.get("nothing"), None);
    let numbers = Metrics::Regression(Regression::of(&[1.0, 3.0], &[1.0, 2.0]));
    assert_eq!((numbers.get("mse"), numbers.get("mae"), numbers.get("r2")), (Some(0.5), Some(0.5), Some(-1.0)));
    assert_eq!((numbers.get("accuracy"), numbers.cases()), (None, 2));
    assert!(higher_is_better("r2") && !higher_is_better("loss"));
}
