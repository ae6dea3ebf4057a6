//! The alternating group `A5`: the even permutations of five things, in lexicographic order of `(p(0), ..., p(4))`.
//!
//! ```text
//! (p q)(i) = p(q(i))
//! ```
//!
//! It is the smallest group that is not solvable, and its word problem is complete for NC^1 (Barrington 1989).

use std::sync::LazyLock;

/// The number of an element: its place in the order; 0 is the identity.
pub type Element = u8;

/// The group, by its table.
#[derive(Debug, Clone)]
pub struct Group {
    elements: Vec<[u8; 5]>,
    table: Vec<Element>,
}

impl Group {
    /// How many elements there are.
    pub const ORDER: usize = 60;

    /// `A5`.
    ///
    /// ```
    /// use ncde_experiment::token::Group;
    /// let group = Group::a5();
    /// assert_eq!(group.elements()[..3], [[0, 1, 2, 3, 4], [0, 1, 3, 4, 2], [0, 1, 4, 2, 3]]);
    /// // These two turn three things forwards and back.
    /// assert_eq!(group.product(1, 2), 0);
    /// ```
    pub fn a5() -> &'static Self {
        static A5: LazyLock<Group> = LazyLock::new(Group::alternating);
        &A5
    }

    fn alternating() -> Self {
        let mut elements = Vec::with_capacity(Self::ORDER);
        // By `p` as digits to the base 5.
        let mut numbers = vec![0; 5_usize.pow(5)];
        for place in 0..5_usize.pow(5) {
            let p = [625, 125, 25, 5, 1].map(|power| (place / power % 5) as u8);
            let inversions = (0..5).flat_map(|i| (0..i).map(move |j| (j, i))).filter(|&(j, i)| p[j] > p[i]).count();
            let distinct = (0..5).all(|i| (0..i).all(|j| p[j] != p[i]));
            if distinct && inversions % 2 == 0 {
                numbers[place] = elements.len() as Element;
                elements.push(p);
            }
        }
        let product = |p: &[u8; 5], q: &[u8; 5]| q.map(|i| p[usize::from(i)]);
        let number = |p: [u8; 5]| numbers[p.iter().fold(0, |place, &i| 5 * place + usize::from(i))];
        let table = elements.iter().flat_map(|p| elements.iter().map(move |q| number(product(p, q)))).collect();
        Self { elements, table }
    }

    /// The permutations in order.
    pub fn elements(&self) -> &[[u8; 5]] {
        &self.elements
    }

    /// `p q`.
    pub fn product(&self, p: Element, q: Element) -> Element {
        self.table[usize::from(p) * Self::ORDER + usize::from(q)]
    }

    /// `x_1`, `x_1 x_2`, `x_1 x_2 x_3`, ...
    pub fn prefixes(&self, word: &[Element]) -> Vec<Element> {
        let product = |so_far: &mut Element, &x: &Element| {
            *so_far = self.product(*so_far, x);
            Some(*so_far)
        };
        word.iter().scan(0, product).collect()
    }
}
