//! Series that are in memory, as a data set.

use crate::dataset::numbered;
use crate::{Case, Clock, Dataset, Targets};

impl Dataset {
    /// Series of rows of `channels` numbers, each as long as it is, observed at 0, 1, 2, ...; NaN where a value is missing.
    ///
    /// ```
    /// use ncde_data::{Dataset, Targets};
    /// let data = Dataset::from_arrays(2, [vec![0.0, 1.0, 2.0, f64::NAN], vec![5.0, 6.0]], Targets::labels(["up", "flat"]));
    /// assert_eq!((data.cases[0].len(), data.cases[1].len()), (2, 1));
    /// assert_eq!(data.targets.classes(), ["flat", "up"]);
    /// ```
    pub fn from_arrays(channels: usize, series: impl IntoIterator<Item = Vec<f64>>, targets: Targets) -> Self {
        let case = |(i, values): (usize, Vec<f64>)| Case {
            id: format!("{}", i + 1),
            times: (0..values.len() / channels.max(1)).map(|t| t as f64).collect(),
            values,
            statics: Vec::new(),
        };
        Self {
            name: "arrays".into(),
            channels: numbered(channels),
            statics: Vec::new(),
            times: Clock::Index,
            cases: series.into_iter().enumerate().map(case).collect(),
            targets,
            vocabulary: None,
            groups: None,
        }
    }

    /// The same series, observed at these times; as many lists as there are series.
    #[must_use]
    pub fn with_times(mut self, times: impl IntoIterator<Item = Vec<f64>>) -> Self {
        self.times = Clock::Numbers;
        self.cases.iter_mut().zip(times).for_each(|(case, times)| case.times = times);
        self
    }
}

impl Targets {
    /// A class for each case, by its name; classes are sorted.
    pub fn labels<T: Into<String>>(labels: impl IntoIterator<Item = T>) -> Self {
        let labels: Vec<String> = labels.into_iter().map(Into::into).collect();
        let mut names = labels.clone();
        names.sort();
        names.dedup();
        let of = labels.iter().map(|label| names.binary_search(label).unwrap_or(0)).collect();
        Self::Classes { names, of }
    }

    /// A number for each case.
    pub fn numbers(numbers: impl IntoIterator<Item = f64>) -> Self {
        Self::Values { name: "y".into(), of: numbers.into_iter().collect() }
    }
}
