//! Elements of the truncated tensor algebra, with the operations of the thesis's section on it.
//!
//! `(ab)_n = sum_{i+j=n} a_i ⊗ b_j`, `exp(x) = sum_n x^n / n!`, `log(1 + t) = sum_n (-1)^(n-1) t^n / n`, `[a, b] = ab - ba`.

use crate::algebra::product::multiply;
use crate::algebra::series::{self, Function};
use crate::algebra::{Shape, words};
use crate::engine::Engine;
use crate::{Error, Float};
use ncde_simd::kernel;

/// An element of `T^N(R^d)`, constant included.
///
/// ```
/// use ncde_signature::algebra::{Shape, Tensor};
/// let shape = Shape::new(2, 3)?;
/// let x = Tensor::from_levels(&shape, 0.0, &[1.0, 2.0])?;
/// let y = Tensor::from_levels(&shape, 0.0, &[0.5, -1.0])?;
/// let bracket = x.bracket(&y)?;
/// assert_eq!(bracket.coefficient(&[1, 2])?, 1.0 * -1.0 - 2.0 * 0.5);
/// assert_eq!(x.exp()?.coefficient(&[2, 2])?, 2.0 * 2.0 / 2.0);
/// # Ok::<(), ncde_signature::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor<T> {
    shape: Shape,
    constant: T,
    levels: Vec<T>,
}

impl<T: Float> Tensor<T> {
    /// Zero.
    ///
    /// # Errors
    /// If the memory cannot be had.
    pub fn zero(shape: &Shape) -> Result<Self, Error> {
        Self::from_levels(shape, T::ZERO, &[])
    }

    /// The constant and the coefficients of the words in order; those not given are zero.
    ///
    /// # Errors
    /// If more coefficients are given than there are words.
    pub fn from_levels(shape: &Shape, constant: T, coefficients: &[T]) -> Result<Self, Error> {
        if coefficients.len() > shape.len() {
            let (operation, what) = ("tensor from its levels", "the list of coefficients".into());
            return Err(Error::Size { operation, what, seen: coefficients.len(), wanted: shape.len() });
        }
        let mut levels = shape.zeros(1, shape.len(), "a tensor")?;
        levels[..coefficients.len()].copy_from_slice(coefficients);
        Ok(Self { shape: shape.clone(), constant, levels })
    }

    /// Its dimensions.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The coefficient of the empty word.
    pub fn constant(&self) -> T {
        self.constant
    }

    /// The coefficients of all other words, in order.
    pub fn levels(&self) -> &[T] {
        &self.levels
    }

    /// The coefficient of a word, the empty one included.
    ///
    /// # Errors
    /// If the word is too long or has a letter outside the alphabet.
    pub fn coefficient(&self, word: &[usize]) -> Result<T, Error> {
        if word.is_empty() {
            return Ok(self.constant);
        }
        Ok(self.levels[words::index(&self.shape, word)?])
    }

    /// `a self + b other`.
    ///
    /// # Errors
    /// If the shapes differ.
    pub fn combine(&self, a: T, b: T, other: &Self) -> Result<Self, Error> {
        self.same_shape("combination", other)?;
        Ok(Self {
            shape: self.shape.clone(),
            constant: a * self.constant + b * other.constant,
            levels: self.levels.iter().zip(&other.levels).map(|(&x, &y)| a * x + b * y).collect(),
        })
    }

    /// The tensor product `self other`.
    ///
    /// # Errors
    /// If the shapes differ or the memory cannot be had.
    pub fn product(&self, other: &Self) -> Result<Self, Error> {
        self.same_shape("product", other)?;
        let mut levels = self.shape.zeros(1, self.shape.len(), "a product")?;
        <T as Engine>::product(self, other, &mut levels);
        Ok(Self { shape: self.shape.clone(), constant: self.constant * other.constant, levels })
    }

    /// `[self, other] = self other - other self`.
    ///
    /// # Errors
    /// If the shapes differ or the memory cannot be had.
    pub fn bracket(&self, other: &Self) -> Result<Self, Error> {
        self.product(other)?.combine(T::ONE, -T::ONE, &other.product(self)?)
    }

    /// The inverse under the tensor product.
    ///
    /// # Errors
    /// If the constant is zero: then there is none.
    pub fn inverse(&self) -> Result<Self, Error> {
        let inverse = T::ONE / self.constant;
        if !inverse.is_finite() {
            let seen = self.constant.to_string();
            return Err(Error::BadParameter { what: "the constant of a tensor to invert", wanted: "other than zero", seen });
        }
        let mut result = self.scaled(inverse).series(Function::Inverse)?;
        result.constant = T::ONE;
        Ok(result.scaled(inverse))
    }

    /// The exponential of an element without constant.
    ///
    /// # Errors
    /// If the constant is not 0 or the memory cannot be had.
    pub fn exp(&self) -> Result<Self, Error> {
        self.want_constant("the constant of a tensor to exponentiate", "0", T::ZERO)?;
        Ok(Self { constant: T::ONE, ..self.series(Function::Exp)? })
    }

    /// The logarithm of an element with constant 1.
    ///
    /// # Errors
    /// If the constant is not 1 or the memory cannot be had.
    pub fn log(&self) -> Result<Self, Error> {
        self.want_constant("the constant of a tensor to take the logarithm of", "1", T::ONE)?;
        Ok(Self { constant: T::ZERO, ..self.series(Function::Log)? })
    }

    /// `<functional, self>`: the sum over words (the empty one included) of products of coefficients.
    ///
    /// # Errors
    /// If the shapes differ.
    pub fn pair(&self, functional: &Self) -> Result<T, Error> {
        self.same_shape("pairing", functional)?;
        let sum: T = self.levels.iter().zip(&functional.levels).map(|(&x, &y)| x * y).sum();
        Ok(self.constant * functional.constant + sum)
    }

    /// The shuffle product, as functionals: `<self, x> <other, x> = <self ⧢ other, x>` for group-like `x`. Words longer than the
    /// depth are dropped. Cost grows with the number of non-zero coefficients on each side, and with interleavings.
    ///
    /// # Errors
    /// If the shapes differ or the memory cannot be had.
    pub fn shuffle(&self, other: &Self) -> Result<Self, Error> {
        self.same_shape("shuffle", other)?;
        let mut result = Self::zero(&self.shape)?;
        result.constant = self.constant * other.constant;
        for (u, x) in self.words() {
            for (v, y) in other.words().filter(|(v, _)| u.len() + v.len() <= self.shape.depth()) {
                for (word, count) in words::shuffle(&u, &v) {
                    if !word.is_empty() {
                        result.levels[words::index(&self.shape, &word)?] += x * y * T::from_f64(count as f64);
                    }
                }
            }
        }
        Ok(result)
    }

    /// The non-zero coefficients with their words.
    fn words(&self) -> impl Iterator<Item = (words::Word, T)> + '_ {
        let empty = std::iter::once((Vec::new(), self.constant));
        empty.chain(words::all(&self.shape).zip(self.levels.iter().copied())).filter(|&(_, x)| x != T::ZERO)
    }

    fn scaled(&self, a: T) -> Self {
        Self { shape: self.shape.clone(), constant: a * self.constant, levels: self.levels.iter().map(|&x| a * x).collect() }
    }

    fn series(&self, series: Function) -> Result<Self, Error> {
        let mut result = Self::zero(&self.shape)?;
        let mut stages = self.shape.zeros(1, series::scratch(&self.shape), "scratch for a power series")?;
        T::series(&self.shape, series, &self.levels, &mut stages, &mut result.levels);
        Ok(result)
    }

    fn want_constant(&self, what: &'static str, wanted: &'static str, value: T) -> Result<(), Error> {
        if self.constant == value {
            return Ok(());
        }
        Err(Error::BadParameter { what, wanted, seen: self.constant.to_string() })
    }

    fn same_shape(&self, operation: &'static str, other: &Self) -> Result<(), Error> {
        if self.shape == other.shape {
            return Ok(());
        }
        Err(Error::Size { operation, what: "the other tensor".into(), seen: other.shape.len(), wanted: self.shape.len() })
    }
}

kernel! {
    /// Behind [`Tensor::product`].
    pub(crate) dispatch fn product<'a, S: Simd, T: Float>(simd: S, a: &'a Tensor<T>, b: &'a Tensor<T>, out: &'a mut [T]) {
        multiply(simd, &a.shape, (a.constant, &a.levels), (b.constant, &b.levels), out);
    }
}
