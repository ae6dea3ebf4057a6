//! Ridge regression in f64 by Householder's QR.
//!
//! ```text
//! W = argmin |X W - Y|^2 + ridge |W|^2 = argmin | [X; sqrt(ridge) I] W - [Y; 0] |^2
//! ```
//!
//! The condition of the problem is that of `X`, not its square as with the normal equations. Cost: `2 (rows + columns) columns^2`.

use super::Error;

/// `W`, `[columns, outputs]`, from `X`, `[rows, columns]`, and `Y`, `[rows, outputs]`.
pub(crate) fn solve(x: &[f64], y: &[f64], rows: usize, columns: usize, ridge: f64) -> Result<Vec<f64>, Error> {
    let outputs = y.len() / rows.max(1);
    let singular = Err(Error::Singular { rows, columns });
    let height = if ridge > 0.0 { rows + columns } else { rows };
    if height < columns {
        return singular;
    }
    // Column by column: a column of the factorisation is one slice.
    let mut q: Vec<Vec<f64>> =
        (0..columns).map(|c| (0..height).map(|r| if r < rows { x[r * columns + c] } else { 0.0 }).collect()).collect();
    if ridge > 0.0 {
        for (c, column) in q.iter_mut().enumerate() {
            column[rows + c] = ridge.sqrt();
        }
    }
    let mut right: Vec<Vec<f64>> =
        (0..outputs).map(|o| (0..height).map(|r| if r < rows { y[r * outputs + o] } else { 0.0 }).collect()).collect();
    let scale = q.iter().map(|column| norm(column)).fold(0.0, f64::max);
    let mut diagonal = Vec::with_capacity(columns);
    for c in 0..columns {
        let (own, rest) = q.split_at_mut(c + 1);
        let own = &mut own[c][c..];
        let length = norm(own);
        if length <= scale * f64::EPSILON * height as f64 {
            return singular;
        }
        // The reflection that sends the column to (d, 0, ..., 0), its vector kept in place.
        let d = if own[0] > 0.0 { -length } else { length };
        own[0] -= d;
        diagonal.push(d);
        let square = -d * own[0];
        for column in rest.iter_mut().chain(right.iter_mut()) {
            let column = &mut column[c..];
            let share = own.iter().zip(&*column).map(|(v, x)| v * x).sum::<f64>() / square;
            column.iter_mut().zip(&*own).for_each(|(x, v)| *x -= share * v);
        }
    }
    let mut w = vec![0.0; columns * outputs];
    for (o, right) in right.iter().enumerate() {
        for c in (0..columns).rev() {
            let known: f64 = (c + 1..columns).map(|j| q[j][c] * w[j * outputs + o]).sum();
            w[c * outputs + o] = (right[c] - known) / diagonal[c];
        }
    }
    Ok(w)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn solutions_satisfy_the_normal_equations() {
        let (rows, columns, outputs) = (13, 5, 2);
        let stream = Stream::new(0, 0);
        let x: Vec<f64> = (0..rows * columns).map(|i| stream.normal(i as u64)).collect();
        let y: Vec<f64> = (0..rows * outputs).map(|i| stream.child(1).normal(i as u64)).collect();
        for ridge in [0.0, 0.3] {
            let w = solve(&x, &y, rows, columns, ridge).unwrap();
            for c in 0..columns {
                for o in 0..outputs {
                    // X^T (X W - Y) + ridge W = 0.
                    let residual = |r: usize| {
                        (0..columns).map(|j| x[r * columns + j] * w[j * outputs + o]).sum::<f64>() - y[r * outputs + o]
                    };
                    let slope = (0..rows).map(|r| x[r * columns + c] * residual(r)).sum::<f64>() + ridge * w[c * outputs + o];
                    assert!(slope.abs() < 1e-12, "{slope}");
                }
            }
        }
    }

    #[test]
    fn a_ridge_makes_any_problem_solvable() {
        let twice = [1.0, 2.0, 2.0, 4.0, 3.0, 6.0];
        assert_eq!(solve(&twice, &[1.0, 2.0, 3.0], 3, 2, 0.0), Err(Error::Singular { rows: 3, columns: 2 }));
        assert!(solve(&twice, &[1.0, 2.0, 3.0], 3, 2, 1e-6).is_ok());
        assert!(solve(&twice[..2], &[1.0], 1, 2, 0.0).is_err());
        assert!(solve(&twice[..2], &[1.0], 1, 2, 0.1).is_ok());
    }
}
