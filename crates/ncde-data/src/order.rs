//! Cases in the order of their ids, so that nothing depends on where they stand in a file.

use std::cmp::Ordering;

use crate::Dataset;

impl Dataset {
    /// The dataset with its cases in the order of their ids: numbers in ids by size (`walk-9` before `walk-10`), the rest as text.
    ///
    /// ```
    /// use ncde_data::{ReadOptions, read_bytes};
    /// let data = read_bytes("x.csv", b"id,time,x\nb10,0,1\nb9,0,2\na,0,3\n", &ReadOptions::default())?;
    /// let ids: Vec<String> = data.by_id().cases.into_iter().map(|case| case.id).collect();
    /// assert_eq!(ids, ["a", "b9", "b10"]);
    /// # Ok::<(), ncde_data::Error>(())
    /// ```
    #[must_use]
    pub fn by_id(self) -> Self {
        let mut order: Vec<usize> = (0..self.cases.len()).collect();
        order.sort_by(|&a, &b| compare(&self.cases[a].id, &self.cases[b].id));
        if order.is_sorted() { self } else { self.subset(&order) }
    }
}

/// Digits by the number they make, everything else by its letters.
fn compare(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let (Some(&x), Some(&y)) = (left.first(), right.first()) {
        let order = if x.is_ascii_digit() && y.is_ascii_digit() {
            let (number_a, number_b) = (number(&mut left), number(&mut right));
            number_a.len().cmp(&number_b.len()).then_with(|| number_a.cmp(number_b))
        } else {
            (left, right) = (&left[1..], &right[1..]);
            x.cmp(&y)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    // Such as `1` and `01`: the same number, but two ids.
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Takes the digits at the start, without zeros before the number.
fn number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    let zeros = digits.iter().take_while(|&&byte| byte == b'0').count();
    &digits[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_one_order() {
        let ids = ["", "-1", "1", "01", "2", "10", "18446744073709551617", "a", "a1b2", "a1b10", "a2", "a10", "b"];
        for (i, a) in ids.iter().enumerate() {
            for (j, b) in ids.iter().enumerate() {
                let wanted = if (*a, *b) == ("1", "01") || (*a, *b) == ("01", "1") { a.cmp(b) } else { i.cmp(&j) };
                assert_eq!(compare(a, b), wanted, "{a} {b}");
            }
        }
    }
}
