//! Words, tensors, brackets and matrices, as plainly as they can be written.

/// Coefficients of words, level by level: `[0]` is that of the empty word, `[n]` has `d^n`, words in lexicographical order.
pub(crate) type Tensor = Vec<Vec<f64>>;

/// Row by row.
pub(crate) type Matrix = Vec<Vec<f64>>;

/// The tensor with nothing but this level 0 and level 1.
fn start(constant: f64, x: &[f64], depth: usize) -> Tensor {
    let mut tensor: Tensor = (0..=depth).map(|n| vec![0.0; x.len().pow(n as u32)]).collect();
    tensor[0][0] = constant;
    tensor[1].copy_from_slice(x);
    tensor
}

/// The product of the tensor algebra: words are joined.
pub(crate) fn times(a: &Tensor, b: &Tensor) -> Tensor {
    let mut product: Tensor = a.iter().map(|level| vec![0.0; level.len()]).collect();
    for n in 0..a.len() {
        for left in 0..=n {
            let width = b[n - left].len();
            for (i, x) in a[left].iter().enumerate() {
                for (j, y) in b[n - left].iter().enumerate() {
                    product[n][i * width + j] += x * y;
                }
            }
        }
    }
    product
}

/// `a <- a + factor b`.
fn add(a: &mut Tensor, factor: f64, b: &Tensor) {
    for (a, b) in a.iter_mut().zip(b) {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
    }
}

/// `S = exp(x_1) exp(x_2) ...`: the signature of the piecewise linear path with these increments.
pub(crate) fn signature(increments: &[Vec<f64>], d: usize, depth: usize) -> Tensor {
    let mut signature = start(1.0, &vec![0.0; d], depth);
    for x in increments {
        let segment = start(0.0, x, depth);
        let mut power = start(1.0, &vec![0.0; d], depth);
        let mut exponential = power.clone();
        for n in 1..=depth {
            power = times(&power, &segment);
            add(&mut exponential, 1.0 / (1..=n).product::<usize>() as f64, &power);
        }
        signature = times(&signature, &exponential);
    }
    signature
}

/// `log S = sum_n (-1)^(n + 1) (S - 1)^n / n`.
pub(crate) fn logarithm(signature: &Tensor) -> Tensor {
    let (d, depth) = (signature[1].len(), signature.len() - 1);
    let mut rest = signature.clone();
    rest[0][0] -= 1.0;
    let mut power = start(1.0, &vec![0.0; d], depth);
    let mut log = start(0.0, &vec![0.0; d], depth);
    for n in 1..=depth {
        power = times(&power, &rest);
        add(&mut log, if n % 2 == 1 { 1.0 } else { -1.0 } / n as f64, &power);
    }
    log
}

/// All levels but 0, one after the other.
pub(crate) fn flat(tensor: &Tensor) -> Vec<f64> {
    tensor[1..].concat()
}

/// A letter, or the bracket of two earlier elements; all counted from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Element {
    Letter(usize),
    Bracket(usize, usize),
}

/// Smaller than all of its proper suffixes.
fn is_lyndon(word: &[usize]) -> bool {
    (1..word.len()).all(|i| word < &word[i..])
}

/// All words of `length` letters, in lexicographical order.
pub(crate) fn words(d: usize, length: usize) -> Vec<Vec<usize>> {
    (0..d.pow(length as u32)).map(|i| (0..length).rev().map(|place| i / d.pow(place as u32) % d).collect()).collect()
}

/// The Lyndon words by length, then lexicographically: `w = uv` with `v` its longest proper Lyndon suffix is `[u, v]`.
pub(crate) fn lyndon(d: usize, depth: usize) -> Vec<Element> {
    let all: Vec<Vec<usize>> = (1..=depth).flat_map(|n| words(d, n)).filter(|w| is_lyndon(w)).collect();
    let place = |word: &[usize]| all.iter().position(|w| w == word).unwrap();
    let element = |w: &Vec<usize>| match &w[..] {
        [letter] => Element::Letter(*letter),
        w => {
            let cut = (1..w.len()).find(|&i| is_lyndon(&w[i..])).unwrap();
            Element::Bracket(place(&w[..cut]), place(&w[cut..]))
        }
    };
    all.iter().map(element).collect()
}

/// Degree by degree, all `[h, k]` with `h` before `k`, where `k` is a letter or its left part is not after `h`.
pub(crate) fn hall(d: usize, depth: usize) -> Vec<Element> {
    let mut all: Vec<(usize, Element)> = (0..d).map(|i| (1, Element::Letter(i))).collect();
    for degree in 2..=depth {
        let mut new = Vec::new();
        for (h, left) in all.iter().enumerate() {
            for (k, right) in all.iter().enumerate().skip(h + 1) {
                let fits = !matches!(right.1, Element::Bracket(inner, _) if inner > h);
                if left.0 + right.0 == degree && fits {
                    new.push((degree, Element::Bracket(h, k)));
                }
            }
        }
        all.extend(new);
    }
    all.into_iter().map(|(_, element)| element).collect()
}

/// The coordinates of a Lie element: `log = sum_P lambda_P P`, solved by least squares over all words.
pub(crate) fn coordinates(log: &Tensor, elements: &[Element]) -> Vec<f64> {
    let (d, depth) = (log[1].len(), log.len() - 1);
    let mut expanded: Vec<Tensor> = Vec::new();
    for element in elements {
        expanded.push(match *element {
            Element::Letter(i) => start(0.0, &(0..d).map(|j| f64::from(u8::from(i == j))).collect::<Vec<_>>(), depth),
            Element::Bracket(p, q) => {
                let mut bracket = times(&expanded[p], &expanded[q]);
                add(&mut bracket, -1.0, &times(&expanded[q], &expanded[p]));
                bracket
            }
        });
    }
    let columns: Vec<Vec<f64>> = expanded.iter().map(flat).collect();
    let right = flat(log);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let rows = columns.iter().map(|a| columns.iter().map(|b| dot(a, b)).chain([dot(a, &right)]).collect());
    solve(rows.collect())
}

/// Gauss's elimination; the last column is the right-hand side.
fn solve(mut rows: Matrix) -> Vec<f64> {
    let n = rows.len();
    for i in 0..n {
        let best = (i..n).max_by(|&a, &b| rows[a][i].abs().total_cmp(&rows[b][i].abs())).unwrap();
        rows.swap(i, best);
        let pivot = rows[i].clone();
        for (j, row) in rows.iter_mut().enumerate() {
            let factor = row[i] / pivot[i];
            if j != i && factor != 0.0 {
                row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
            }
        }
    }
    (0..n).map(|i| rows[i][n] / rows[i][i]).collect()
}

pub(crate) fn zeros(n: usize) -> Matrix {
    vec![vec![0.0; n]; n]
}

pub(crate) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let n = a.len();
    (0..n).map(|i| (0..n).map(|j| (0..n).map(|k| a[i][k] * b[k][j]).sum()).collect()).collect()
}

pub(crate) fn apply(a: &Matrix, x: &[f64]) -> Vec<f64> {
    a.iter().map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

/// `a <- a + factor b`.
pub(crate) fn accumulate(a: &mut Matrix, factor: f64, b: &Matrix) {
    for (a, b) in a.iter_mut().zip(b) {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
    }
}

/// Taylor's series of a small enough part, squared.
pub(crate) fn exponential(a: &Matrix) -> Matrix {
    let norm = a.iter().map(|row| row.iter().map(|x| x.abs()).sum::<f64>()).fold(0.0, f64::max);
    let squarings = if norm > 0.5 { (norm / 0.5).log2().ceil() as i32 } else { 0 };
    let mut part = zeros(a.len());
    accumulate(&mut part, 0.5_f64.powi(squarings), a);
    let mut power = zeros(a.len());
    (0..a.len()).for_each(|i| power[i][i] = 1.0);
    let mut sum = power.clone();
    for n in 1..=20 {
        power = product(&power, &part);
        power.iter_mut().flatten().for_each(|x| *x /= f64::from(n));
        accumulate(&mut sum, 1.0, &power);
    }
    (0..squarings).for_each(|_| sum = product(&sum, &sum));
    sum
}
